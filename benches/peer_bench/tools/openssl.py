"""openssl s_time (https://www.openssl.org), which shakes hands with s_server, one connection at a time."""

from __future__ import annotations

from sixbench.model.programs.end import ProgramEnd

from ..contender import Tool, ToolReport
from .ends import CHAIN_BYTES, of_commands
from .reading import number

_START = """\
awk '/BEGIN CERTIFICATE/ { number++ } number > 1' {certificate} > {dir}/chain.pem &&
exec openssl s_server -accept {host}:{port} -tls1_3 -www -quiet -key {key} \\
    -cert {certificate} -cert_chain {dir}/chain.pem
"""
"""The chain's file must not have the server's own certificate, which would be sent twice. Without `-www` the server
would read its own input."""
_SERVER = ProgramEnd(
    name="s_server", argv=("sh", "{dir}/start"), files={"start": _START}, listens="tcp", chain_bytes=CHAIN_BYTES
)


def read(client: str) -> ToolReport:
    """Connections that it says it made. Its rate is none: it counts whole seconds, and may take one more."""
    return {"connections": number(r"(\d+) connections in \d+ real seconds", client, "number of connections")}


def _client(seconds: int) -> ProgramEnd:
    """s_time, which verifies as our client does."""
    command = ("openssl", "s_time", "-connect", "{peer-host}:{port}", "-new", "-tls1_3", "-time", str(seconds))
    return ProgramEnd(name="s_time", argv=(*command, "-CAfile", "{authority}"))


TOOL = Tool(
    name="openssl",
    programs=("openssl",),
    version=(("openssl", "version"), r"OpenSSL (\S+)"),
    contenders=(of_commands("tls", "openssl s_time", server=_SERVER, client=_client, read=read),),
)
