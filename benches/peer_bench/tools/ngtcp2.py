"""The client and the server of ngtcp2 (https://github.com/ngtcp2/ngtcp2) with GnuTLS: one object sent by HTTP/3."""

from __future__ import annotations

from sixbench.model.programs.end import ProgramEnd

from ..contender import Tool
from .ends import CHAIN_BYTES, of_commands, reads_nothing

_START = """\
file=$(mktemp) && exec 9<>"$file" && rm "$file" && truncate --size=64G /proc/self/fd/9 &&
exec gtlsclient --quiet --data=/proc/self/fd/9 --http-method=POST {peer} {port} https://localhost:{port}/
"""
"""The object is longer than anything it sends in the time. It has no blocks, and goes with the client."""


def _client(seconds: int) -> ProgramEnd:
    """It is ended when the time is over and that of starting it: it would go on to the object's end."""
    return ProgramEnd(
        name="gtlsclient", argv=("sh", "{dir}/start"), files={"start": _START}, limit_ns=(seconds + 1) * 10**9
    )


TOOL = Tool(
    name="ngtcp2",
    programs=("gtlsclient", "gtlsserver"),
    # Neither says its own version.
    version=(("dpkg-query", "--show", "ngtcp2-client"), r"\t(\S+)"),
    contenders=(
        of_commands(
            "quic-stream",
            "ngtcp2",
            server=ProgramEnd(
                name="gtlsserver",
                argv=("gtlsserver", "--quiet", "--htdocs={dir}", "{address}", "{port}", "{key}", "{certificate}"),
                listens="udp",
                chain_bytes=CHAIN_BYTES,
            ),
            client=_client,
            read=reads_nothing,
        ),
    ),
)
