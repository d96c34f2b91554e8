"""The names and the address of the page."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

_USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True)
class Site:
    """The address of the page.

    Attributes:
        names: host names and addresses that browsers may use. The first is printed.
        is_tls: whether the page is served over TLS.
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
        """The allowed values of the header `Host` (RFC 9110 section 7.2). Browsers omit the scheme's usual port."""
        port = "" if self.port == _USUAL_PORTS[self.scheme] else f":{self.port}"
        return tuple(f"{in_address(name)}{port}" for name in self.names)

    @property
    def address(self) -> str:
        """The address of the page, without the token."""
        return f"{self.scheme}://{self.hosts[0]}/"


def in_address(name: str) -> str:
    """A name in the form of a URL: in lower case, with IPv6 addresses in brackets (RFC 3986 section 3.2.2)."""
    try:
        parsed = ip_address(name)
    except ValueError:
        return name.lower()
    return f"[{parsed}]" if parsed.version == 6 else str(parsed)
