"""caddy as a server of TLS, and of objects by HTTP/1.1, 2 and 3."""

from __future__ import annotations

from ..parameter import Params
from . import http_objects
from .end import Command, Recipe

_CONFIGURATION = """\
{
  admin off
  auto_https off
  default_bind {address}
  servers {
    protocols PROTOCOLS
  }
}
SCHEME://{name}:{port} {
SECURED  ANSWERS
}
"""
_SECURED = "  tls {certificate} {key}\n"
_PROTOCOLS = {"1.1": "h1", "2": "h1 h2", "3": "h1 h2 h3"}


def _command(protocols: str, answers: str, files: dict[str, str] | None = None, *, is_secured: bool = True) -> Command:
    """caddy with these protocols and this answer."""
    text = _CONFIGURATION.replace("PROTOCOLS", protocols).replace("ANSWERS", answers)
    text = text.replace("SCHEME", "https" if is_secured else "http").replace("SECURED", _SECURED if is_secured else "")
    return Command(
        argv=("caddy", "run", "--config", "{dir}/Caddyfile", "--adapter", "caddyfile"),
        files={"Caddyfile": text, **(files or {})},
    )


def _tls(params: Params) -> Command:
    return _command("h1", "respond 204")


def _http(params: Params) -> Command:
    is_secured = http_objects.is_secured(params)
    protocols = "h1 h2c" if not is_secured else _PROTOCOLS[http_objects.version(params)]
    answers = f"@object path /{http_objects.object_bytes(params)}\n  root * {{dir}}\n  file_server @object"
    return _command(protocols, answers, http_objects.object_file(params), is_secured=is_secured)


def _unfit(params: Params) -> tuple[str, str] | None:
    return http_objects.unfit_server(params, ("1.1", "2", "3"), "caddy")


RECIPE = Recipe(
    name="caddy",
    program="caddy",
    package="caddy",
    side="server",
    doc="caddy, without its administration and without certificates of its own",
    version=("caddy", "version"),
    command={"tls": _tls, "http": _http},
    unfit={"http": _unfit},
)
