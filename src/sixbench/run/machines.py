"""Two machines without a lab: an agent here, the one that serves there, and their addresses."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

from ..agent import Agent, AgentHub
from ..model.errors import CapabilityError, UsageError
from ..model.quoting import printable
from ..model.topology import Family
from ..plan.measure_experiment import LOCAL

_SOCKET_FAMILIES: dict[Family, socket.AddressFamily] = {4: socket.AF_INET, 6: socket.AF_INET6}


@dataclass(frozen=True, kw_only=True)
class Target:
    """The other machine, as it was named.

    Attributes:
        host: a name or an address; or two with a comma between them, one for each family.
        bind: the local address; likewise. None: the one that the route has.
        key: the file that both machines have.
    """

    host: str
    port: int
    bind: str | None = None
    key: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """The addresses between which a family is measured."""

    family: Family
    client: str
    server: str


def find_addresses(target: Target, families: tuple[Family, ...]) -> list[Addresses]:
    """The addresses of each family; without families those of the one that the system prefers and has a route for (RFC
    6724). Raises `CapabilityError` where there is none, `UsageError` where a local address is wrong."""
    found = _look_up(target)
    binds = _binds(target)
    if families:
        return [_between(target, family, found, binds) for family in families]
    unreachable: CapabilityError | None = None
    for family in [family for family in found if family in binds] or found:
        try:
            return [_between(target, family, found, binds)]
        except CapabilityError as error:
            unreachable = unreachable or error
    raise unreachable or CapabilityError(f"{printable(target.host)} has no address")


class Machines:
    """The agents of both machines, connected. Use as a context manager.

    When it is entered, raises `CapabilityError` or `UsageError` where the other machine cannot be used.
    """

    def __init__(self, hub: AgentHub, target: Target, addresses: list[Addresses]) -> None:
        self.target = target
        self.addresses = {item.family: item for item in addresses}
        self.client: Agent
        self.server: Agent
        self._hub = hub

    def __enter__(self) -> Machines:
        self.client = self._hub.start_here(LOCAL)
        self.server = self._hub.connect(self.target.host, self._arguments())
        return self

    def __exit__(self, *_: object) -> None:
        self._hub.stop([self.client, self.server])

    def _arguments(self) -> list[str]:
        """The arguments of the agent's `connect`: the first family's addresses, so that control and data take the same
        route."""
        first = next(iter(self.addresses.values()))
        arguments = [first.server, str(self.target.port), f"-{first.family}"]
        if self.target.bind is not None:
            arguments += ["--bind", first.client]
        if self.target.key is not None:
            arguments += ["--key", str(self.target.key)]
        return arguments


def _look_up(target: Target) -> dict[Family, str]:
    found: dict[Family, str] = {}
    for name in target.host.split(","):
        try:
            answers = socket.getaddrinfo(name, target.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise CapabilityError(f"looking up {printable(name)}: {why}; give another name, or an address") from error
        for family, _, _, _, address in answers:
            if family == socket.AF_INET:
                found.setdefault(4, str(address[0]))
            elif family == socket.AF_INET6:
                found.setdefault(6, str(address[0]))
    return found


def _binds(target: Target) -> dict[Family, str]:
    binds: dict[Family, str] = {}
    for text in target.bind.split(",") if target.bind is not None else ():
        try:
            address = ipaddress.ip_address(text)
        except ValueError as error:
            raise UsageError(f"-B {printable(text)}: this is no IP address") from error
        binds[4 if address.version == 4 else 6] = str(address)
    return binds


def _between(target: Target, family: Family, found: dict[Family, str], binds: dict[Family, str]) -> Addresses:
    """The server's address, and the local one that the route to it has."""
    if family not in found:
        raise CapabilityError(
            f"{printable(target.host)} has no IPv{family} address; leave -{family} out, "
            "or give an address of each family with a comma between them"
        )
    server = found[family]
    if ipaddress.ip_address(server).is_link_local:
        raise CapabilityError(f"{server} is a link-local address, which cannot be measured; give a global one")
    if binds and family not in binds:
        raise UsageError(
            f"-B {printable(target.bind or '')}: IPv{family} is measured too; give an address of it as well"
        )
    with socket.socket(_SOCKET_FAMILIES[family], socket.SOCK_DGRAM) as probe:
        try:
            if family in binds:
                probe.bind((binds[family], 0))
        except OSError as error:
            raise UsageError(f"-B {binds[family]}: this machine has no such address ({error.strerror})") from error
        try:
            probe.connect((server, target.port))
        except OSError as error:
            raise CapabilityError(
                f"there is no route from here to {server} over IPv{family}: {error.strerror}"
            ) from error
        return Addresses(family=family, client=str(probe.getsockname()[0]), server=server)
