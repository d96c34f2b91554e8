"""The names by which the page is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

_USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where the page is.

    Attributes:
        names: host names and addresses by which browsers may ask, the one that is printed first.
        is_tls: whether it is served over TLS.
    """

    names: tuple[str, ...]
    port: int
    is_tls: bool = False

    @property
    def scheme(self) -> str:
        """`http` or `https`."""
        return "https" if self.is_tls else "http"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What the header `Host` may be (RFC 9110 section 7.2): a browser leaves the scheme's usual port out."""
        port = "" if self.port == _USUAL_PORTS[self.scheme] else f":{self.port}"
        return tuple(f"{in_address(name)}{port}" for name in self.names)

    @property
    def address(self) -> str:
        """Of the page, without the token."""
        return f"{self.scheme}://{self.hosts[0]}/"


def in_address(name: str) -> str:
    """A name as an address has it: as browsers write it, with IPv6 addresses in brackets (RFC 3986 section 3.2.2)."""
    try:
        found = ip_address(name)
    except ValueError:
        return name.lower()
    return f"[{found}]" if found.version == 6 else str(found)
