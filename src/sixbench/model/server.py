"""Servers of others as the far ends of an experiment, and what a workload does towards them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from .parameter import Scalar

SERVER_COLUMN = "server"
"""The column of the level that names the server of a combination."""
DEFAULT_PORT = 443
"""The port of TLS, HTTP and QUIC (RFC 9110 section 4.2.2)."""


@dataclass(frozen=True, kw_only=True)
class ServerUse:
    """What a workload takes towards a server that sixbench does not run.

    Attributes:
        parameters: the names of those that it has there.
        defaults: by column, the values of those that are not given.
        connects: whether each of its attempts opens a connection, of which a server of others gets one a second.
        needs_name: whether the server must have a name.
    """

    parameters: tuple[str, ...]
    defaults: Mapping[str, Scalar] = field(default_factory=dict)
    connects: bool = True
    needs_name: bool = False


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that an experiment measures to.

    Attributes:
        name: a host's name, or an address.
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
    def is_address(self) -> bool:
        """True if there is no name to look up."""
        try:
            ip_address(self.name.partition("%")[0])
        except ValueError:
            return False
        return True

    def takes(self, workload: str) -> bool:
        """True if a workload of that name goes to it."""
        return not self.workloads or workload in self.workloads
