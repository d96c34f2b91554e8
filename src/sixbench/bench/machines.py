"""Two machines without a lab: an agent here, the one that serves there, and their addresses."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

from ..agent import Agent, AgentHub
from ..model.errors import CapabilityError, UsageError
from ..model.quoting import listed, printable
from ..model.topology import Family
from ..plan.measure_experiment import LOCAL
from ..plan.measure_options import without_mapping

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
class MeasuredAddresses:
    """The addresses between which a family is measured.

    Attributes:
        zone: the interface of this machine on which link-local addresses mean these machines (RFC 4007). None: they
            are not link-local.
    """

    family: Family
    client: str
    server: str
    zone: str | None = None

    def with_zone(self, address: str) -> str:
        """One of them as commands take it, such as `fe80::1%eth0`."""
        return address if self.zone is None else f"{address}%{self.zone}"


def find_addresses(target: Target, families: tuple[Family, ...]) -> list[list[MeasuredAddresses]]:
    """The ways to the host, the best first: each has the addresses of all families that are asked for.

    Where none is asked for, each way is of one family that has a route, in the order that the system prefers (RFC
    6724). Raises `CapabilityError` where there is no way, `UsageError` where a local address is wrong.
    """
    pairs = _look_up(target)
    binds = _binds(target)
    if families:
        return [[_between(target, family, pairs, binds) for family in families]]
    ways: list[list[MeasuredAddresses]] = []
    unreachable: CapabilityError | None = None
    for family in [family for family in pairs if family in binds] or pairs:
        try:
            ways.append([_between(target, family, pairs, binds)])
        except CapabilityError as error:
            unreachable = unreachable or error
    if not ways:
        raise unreachable or CapabilityError(f"{printable(target.host)} has no address")
    return ways


class Machines:
    """The agents of both machines, connected. Use as a context manager.

    When it is entered, raises `CapabilityError` or `UsageError` where the other machine cannot be used over any way.

    Attributes:
        addresses: those of the way that is used, by family.
        passed_over: why ways before it are not used.
    """

    def __init__(self, hub: AgentHub, target: Target, ways: list[list[MeasuredAddresses]]) -> None:
        self.target = target
        self.addresses: dict[Family, MeasuredAddresses] = {}
        self.passed_over: list[str] = []
        self.client: Agent
        self.server: Agent
        self._hub = hub
        self._ways = ways

    def __enter__(self) -> Machines:
        self.server = self._connect()
        self.client = self._hub.start_here(LOCAL)
        return self

    def __exit__(self, *_: object) -> None:
        self._hub.stop([self.client, self.server])

    def _connect(self) -> Agent:
        """Connects over the first way that leads there. Raises `CapabilityError` with what went wrong over each."""
        for candidate in self._ways:
            try:
                server = self._hub.connect(self.target.host, self._arguments(candidate[0]))
            except CapabilityError as error:
                self.passed_over.append(str(error))
            else:
                self.addresses = {item.family: item for item in candidate}
                return server
        first, *others = self.passed_over
        raise CapabilityError("; ".join([first, *(f"and {other.partition('; ')[0]}" for other in others)]))

    def _arguments(self, first: MeasuredAddresses) -> list[str]:
        """The arguments of the agent's `connect`: the first family's addresses, so that control and data take the same
        route."""
        arguments = [first.with_zone(first.server), str(self.target.port), f"-{first.family}"]
        if self.target.bind is not None:
            arguments += ["--bind", first.with_zone(first.client)]
        if self.target.key is not None:
            arguments += ["--key", str(self.target.key)]
        return arguments


_Resolved = dict[Family, tuple[str, int]]
"""Addresses by family, each with the index of its interface: 0 unless the address is link-local."""


def _look_up(target: Target) -> _Resolved:
    pairs: _Resolved = {}
    for name in target.host.split(","):
        try:
            answers = socket.getaddrinfo(name, target.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise CapabilityError(f"looking up {printable(name)}: {why}; give another name, or an address") from error
        for family, _, _, _, address in answers:
            if family in (socket.AF_INET, socket.AF_INET6):
                plain = without_mapping(ipaddress.ip_address(str(address[0]).partition("%")[0]))
                scope_id = int(address[3]) if len(address) == 4 else 0
                pairs.setdefault(4 if plain.version == 4 else 6, (str(plain), scope_id))
    return pairs


def _binds(target: Target) -> dict[Family, str]:
    binds: dict[Family, str] = {}
    for text in target.bind.split(",") if target.bind is not None else ():
        try:
            address = without_mapping(ipaddress.ip_address(text))
        except ValueError as error:
            raise UsageError(f"-B {printable(text)}: this is no IP address") from error
        binds[4 if address.version == 4 else 6] = str(address)
    return binds


def _between(target: Target, family: Family, pairs: _Resolved, binds: dict[Family, str]) -> MeasuredAddresses:
    """The server's address, and the local one that the route to it has."""
    if family not in pairs:
        raise CapabilityError(
            f"{printable(target.host)} has no IPv{family} address; leave -{family} out, "
            "or give an address of each family with a comma between them"
        )
    server, scope_id = pairs[family]
    bound, _, zone = binds.get(family, "").partition("%")
    bound_on = _interface(bound, zone)
    if family == 6 and ipaddress.ip_address(server).is_link_local:
        scope_id = scope_id or bound_on
        if not scope_id:
            words = "add the interface of this machine, such as"
            raise UsageError(f"{server} is a link-local address; {words} {server}%{socket.if_nameindex()[-1][1]}")
    else:
        scope_id = 0
    if binds and family not in binds:
        raise UsageError(
            f"-B {printable(target.bind or '')}: IPv{family} is measured too; give an address of it as well"
        )
    with socket.socket(_SOCKET_FAMILIES[family], socket.SOCK_DGRAM) as probe:
        try:
            if family in binds:
                probe.bind((bound, 0) if family == 4 else (bound, 0, 0, bound_on or scope_id))
        except OSError as error:
            raise UsageError(f"-B {binds[family]}: this machine has no such address ({error.strerror})") from error
        try:
            probe.connect((server, target.port) if family == 4 else (server, target.port, 0, scope_id))
        except OSError as error:
            raise CapabilityError(
                f"there is no route from here to {server} over IPv{family}: {error.strerror}"
            ) from error
        client = str(probe.getsockname()[0]).partition("%")[0]
        interface = socket.if_indextoname(scope_id) if scope_id else None
        return MeasuredAddresses(family=family, client=client, server=server, zone=interface)


def _interface(bound: str, zone: str) -> int:
    """The index of an interface by its name or its index; 0 without one. Raises `UsageError` where there is none."""
    if not zone:
        return 0
    names = {str(index): name for index, name in socket.if_nameindex()}
    name = names.get(zone, zone)
    if name not in names.values():
        there = f"it has {listed(names.values())}"
        raise UsageError(f"-B {bound}%{printable(zone)}: this machine has no interface {printable(zone)}; {there}")
    return socket.if_nametoindex(name)
