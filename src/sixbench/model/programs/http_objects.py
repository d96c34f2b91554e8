"""Objects of `http` at other people's servers, and as their clients ask for them: `/10240` has 10240 bytes."""

from __future__ import annotations

from ..command_text import MAX_FILES_CHARACTERS
from ..parameter import Params

_DEFAULT_BYTES = 10240


def object_bytes(params: Params) -> int:
    """The length of each object of a page, which is also its name."""
    return int(params.get("object_bytes", _DEFAULT_BYTES))


def objects(params: Params) -> int:
    """The objects of a page."""
    return int(params.get("objects", 1))


def object_file(params: Params) -> dict[str, str]:
    """The file with that content, by its name."""
    return {str(object_bytes(params)): "6" * object_bytes(params)}


def is_secured(params: Params) -> bool:
    """True if the objects go over TLS or QUIC."""
    return params.get("tls", "1.3") != "none"


def version(params: Params) -> str:
    """The version of HTTP."""
    return str(params.get("version", "1.1"))


def url(params: Params) -> str:
    """The address of an object at the trial's server."""
    return f"{'https' if is_secured(params) else 'http'}://{{name}}:{{port}}/{object_bytes(params)}"


def unfit(params: Params, versions: tuple[str, ...], program: str) -> tuple[str, str] | None:
    """The parameter that an end which is a program cannot have, and why; None: it can have all.

    Args:
        versions: those that the program speaks.
    """
    if version(params) not in versions:
        return "version", f"{program} speaks HTTP {', '.join(versions)} here, not {version(params)}"
    if "page" in params:
        return "page", f"{program} has objects of one length at one host: give object and objects instead of page"
    return None


def unfit_server(params: Params, versions: tuple[str, ...], program: str) -> tuple[str, str] | None:
    """As `unfit`, of a server."""
    if object_bytes(params) > MAX_FILES_CHARACTERS // 2:
        return "object", f"{program} has its object in a file here: at most {MAX_FILES_CHARACTERS // 2}B"
    return unfit(params, versions, program)
