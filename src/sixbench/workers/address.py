"""The address of a scheduler, as people write it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address

from ..model.addresses import why_no_host
from ..model.errors import UsageError
from ..model.quoting import printable

DEFAULT_PORT = 8786
"""The port of a Dask scheduler, by its own documents."""

_ADDRESS = re.compile(
    r"(?P<scheme>[a-z]+://)?(?:\[(?P<ipv6>[^\]]+)\]|(?P<host>[^\s\[\]:/]+))(?::(?P<port>[0-9]{1,5}))?"
)


@dataclass(frozen=True, kw_only=True)
class Address:
    """A scheduler's host, which may be an address or a name, and port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def uri(self) -> str:
        """As Dask has it."""
        return f"tls://{self}"


def read_address(text: str) -> Address:
    """An address such as `lab1:8786`, `192.0.2.1` or `[2001:db8::1]:8786`. Raises `UsageError`."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise UsageError(f"{printable(text)} is no address of a scheduler: write it as HOST:PORT or [IPV6]:PORT")
    if match["scheme"] not in (None, "tls://"):
        raise UsageError(f"{printable(text)}: a scheduler of workers is reached over TLS only; write it as HOST:PORT")
    port = int(match["port"] or DEFAULT_PORT)
    if not 0 < port < 2**16:
        raise UsageError(f"{printable(text)}: there is no port {port}")
    if match["ipv6"] is not None:
        try:
            return Address(host=str(IPv6Address(match["ipv6"])), port=port)
        except ValueError as error:
            raise UsageError(f"{printable(text)}: {error}") from None
    wrong = why_no_host(match["host"])
    if wrong is not None:
        raise UsageError(f"reaching a scheduler: {wrong}; write it as HOST:PORT or [IPV6]:PORT")
    return Address(host=match["host"], port=port)
