"""Servers of others as the far ends of an experiment, and the use of workloads towards them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from .addresses import why_no_host, why_no_single_host
from .parameter import Scalar
from .quoting import visible

SERVER_COLUMN = "server"
"""The column of the level that names the server of a combination."""
VANTAGE_COLUMN = "vantage"
"""The column of the level that names the machine that a combination is measured from, where there are several."""
DEFAULT_PORT = 443
"""The port of TLS, HTTP and QUIC (RFC 9110 section 4.2.2)."""
TOO_MANY, UNAVAILABLE = 429, 503
"""The statuses by which a server asks to be left alone (RFC 6585 section 4, RFC 9110 section 15.6.4)."""


@dataclass(frozen=True, kw_only=True)
class ServerUse:
    """The use of a workload towards a server that sixbench does not run.

    Attributes:
        parameters: the names of those that it has there.
        defaults: by column, the values of those that are not given.
        needs_name: whether it is about the server's name, and not about its addresses.
        variant: the name of the parameter by whose values a server offers it or not, such as a version; None: there is
            none.
        first: its place among the workloads by which addresses are tried, the least demanding first.
        least_interval_ns: the shortest time between attempts towards a server of others, where `interval` sets it.
    """

    parameters: tuple[str, ...]
    defaults: Mapping[str, Scalar] = field(default_factory=dict)
    needs_name: bool = False
    variant: str | None = None
    first: int = 9
    least_interval_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that an experiment measures to.

    Attributes:
        name: a host's name; or an address, or two with a comma between them, one of each family.
        port: of TCP, TLS, HTTP and QUIC.
        mine: whether its owner lets more than one connection a second come.
        workloads: those of the experiment that go to it; empty: all.
    """

    name: str
    port: int = DEFAULT_PORT
    mine: bool = False
    workloads: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its name in levels and reports: with the port where it is another one than 443."""
        if self.port == DEFAULT_PORT:
            return self.name
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"

    @property
    def addresses(self) -> dict[int, str]:
        """The addresses that it was named by, by family; none: it has a name to look up."""
        return addresses_in(self.name)

    @property
    def is_address(self) -> bool:
        """True if there is no name to look up."""
        return bool(self.addresses)

    @property
    def host_name(self) -> str | None:
        """Its name, for TLS and look-ups; None: it has none."""
        return None if self.is_address else self.name

    def takes(self, workload: str) -> bool:
        """True if a workload of that name goes to it."""
        return not self.workloads or workload in self.workloads


def addresses_in(name: str) -> dict[int, str]:
    """The address in a text, or the two with a comma between them, by family; none where a part is no address."""
    by_family: dict[int, str] = {}
    for part in name.split(","):
        try:
            address = ip_address(part)
        except ValueError:
            return {}
        by_family[address.version] = part
    return by_family


def why_no_server(name: str) -> str | None:
    """The reason why a text names no server, in words; None: it does."""
    parts = name.split(",")
    wrong = next((why for part in parts if (why := _why_no_end(part)) is not None), None)
    if wrong is not None or len(parts) == 1:
        return wrong
    if len(parts) > 2 or len(addresses_in(name)) != 2:
        return f'"{visible(name)}" is not two addresses, one of each family'
    return None


def _why_no_end(part: str) -> str | None:
    wrong = why_no_host(part)
    if wrong is None and "%" in part:
        return f'"{visible(part)}" names an interface, by which no server is reached'
    return wrong or why_no_single_host(part)
