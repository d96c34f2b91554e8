"""The carriers of packets for `sixbench translate`: the core alone, or an engine's device in a throw-away network."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Any, Protocol

from ..mechanisms.binding import PortSet
from ..model.capture_file import addresses_of
from ..model.errors import CapabilityError, UsageError
from ..model.quoting import shown
from .mechanisms.nat64 import TIMEOUTS
from .option import Given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.topology import Family
    from .mechanisms import PacketKind
    from .passing.network import PassingNetwork, Row
    from .process import PacketDecision

USER = "user"
EBPF = "ebpf"
TAYGA = "tayga"
ENGINES = (USER, EBPF, TAYGA)

_REFUSED = {
    "hop": "--no-hop: a node takes one from the hop limit of whatever it forwards",
    "tos": "--tos: its programs take the octet from the IPv6 packet",
    "traffic-class": "--traffic-class: its programs take the octet from the IPv4 packet",
}
"""Options that translators of `ebpf` lack."""
_STATE_OF_LINUX = ("static", "filtering", "seed", "max-sessions", *(f"{kind}-timeout" for kind in TIMEOUTS))
"""Options that connection tracking lacks, or has with another meaning."""
_ICMPV6, _FIRST_INFORMATIONAL = 58, 128
"""RFC 4443 section 2.1."""
_MAX_HOSTS = 1024
"""Largest number of rows in the table of a translator's programs."""
_MAX_EDGES = 64
"""Largest number of customer edges of a border relay: each has a tunnel, which takes some 50 ms to make."""
_OF_TAYGA = frozenset({"prefix", "eam", "role", "mtu4", "mtu6"})
"""Options with a word in tayga.conf(5), and those about its node's links."""


class Carrying(Protocol):
    """A function that takes packets."""

    def carry(self, packets: Sequence[tuple[int, bytes]]) -> list[PacketDecision]:
        """A function from packets to their outcome, each with its time in nanoseconds."""

    def finish(self) -> int:
        """Number of fragments that waited in vain."""


@contextmanager
def carrying(
    kind: PacketKind,
    given: Given,
    engine: str,
    arguments: list[str],
    packets: Callable[[], Iterable[bytes]] = tuple,
) -> Iterator[Carrying]:
    """The function that takes packets through a mechanism by an engine. Raises `UsageError` where it cannot as it is
    told, and `CapabilityError`, `LabError` and `AgentError`.

    Args:
        arguments: of the command, which may have to begin anew in a user namespace.
        packets: all that are to come. They are asked for where the network depends on who sends.
    """
    from ..agent import AgentHub, find_agent
    from .process import MechanismProcess

    line = kind.first_line(given)
    network = None if engine == USER else _network(kind, given, line, engine, ())
    with MechanismProcess(find_agent(), line) as mechanism:
        if network is None:
            yield mechanism
            return
        mechanism.finish()  # the core refuses settings that no device can have
    from ..lab.privileges import enter_namespace_if_needed
    from .passing.passage import DevicePassage

    enter_namespace_if_needed(arguments)
    if line["mechanism"] == "nat64":
        network = _network(kind, given, line, engine, packets())
    with AgentHub(find_agent()) as hub, DevicePassage(hub, network, engine) as passage:
        yield passage


def _network(
    kind: PacketKind, given: Given, line: Mapping[str, Any], engine: str, packets: Iterable[bytes]
) -> PassingNetwork:
    """The network around the device. Raises `UsageError` and `CapabilityError`."""
    if engine not in ENGINES:
        raise UsageError(f"--engine {shown(engine)}: it is one of {', '.join(ENGINES)}")
    try:
        return _of_tayga(kind, given, line) if engine == TAYGA else _of_programs(kind, given, line, packets)
    except UsageError as error:
        raise UsageError(f"--engine {engine}: {error}; --engine {USER} does it") from error


def _of_programs(kind: PacketKind, given: Given, line: Mapping[str, Any], packets: Iterable[bytes]) -> PassingNetwork:
    from .passing.network import translator_network, tunnel_network

    if line["mechanism"] == "tunnel":
        if given.get("role") == "aftr":
            return _of_softwires(given, line, _rows_of_table(given))
        if kind.name == "map-e" and "ce" not in given:
            return _of_softwires(given, line, _rows_of_rules(given))
        if line["tunnel"]["mapping"]["kind"] == "map":
            return _of_napt(given, line)
        return tunnel_network(line["tunnel"], line["node"])
    refused = next((why for option, why in _REFUSED.items() if option in given), None)
    if refused is not None:
        raise UsageError(refused)
    if line["mechanism"] == "nat64":
        return _of_nat64(kind, given, line, packets)
    hosts_are: Family = 4 if given.get("role") in ("clat", "er") or "ce" in given else 6
    return translator_network(kind.name, line["siit"], hosts_are=hosts_are)


def _of_nat64(kind: PacketKind, given: Given, line: Mapping[str, Any], packets: Iterable[bytes]) -> PassingNetwork:
    """Raises `UsageError` where Linux's connection tracking has no such setting, or there are too many hosts."""
    from .passing.network import nat64_network

    other = next((name for name in _STATE_OF_LINUX if name in given), None)
    if other is not None:
        raise UsageError(f"its sessions are those of Linux's connection tracking, which has no --{other}")
    if len(given["pool"]) != 1:
        raise UsageError(f"its NAT44 has one --pool, and these are {len(given['pool'])}")
    [pool] = given["pool"]
    prefixes = [IPv6Network(prefix) for prefix in given["prefix"]]
    hosts = [host for host in hosts_of(packets) if not any(host in prefix for prefix in prefixes)]
    if len(hosts) > _MAX_HOSTS:
        raise UsageError(f"its programs know {_MAX_HOSTS} IPv6 hosts, and the capture has packets of {len(hosts)}")
    return nat64_network(kind.name, line["siit"], hosts, IPv4Network(pool["net"]), f"{pool['first']}-{pool['last']}")


def hosts_of(packets: Iterable[bytes]) -> list[IPv6Address]:
    """The sources of IPv6 packets, each once, without those of ICMPv6 errors, which are of any router."""
    sources: dict[IPv6Address, None] = {}
    for packet in packets:
        ends = addresses_of(packet)
        is_error = packet[6:7] == bytes([_ICMPV6]) and packet[40:41] < bytes([_FIRST_INFORMATIONAL])
        if ends is not None and isinstance(ends[0], IPv6Address) and not is_error:
            sources[ends[0]] = None
    return list(sources)


def _of_napt(given: Given, line: Mapping[str, Any]) -> PassingNetwork:
    """An lwB4 or a customer edge of MAP-E. Raises `UsageError` where it cannot be."""
    from .mechanisms.lw4o6 import binding_rule
    from .mechanisms.mapdomain import edge_of
    from .passing.network import napt_network

    if given.get("mesh"):
        raise UsageError("its customer edges have a tunnel to the border relay alone, and --mesh asks for more")
    if "ce" in given:
        rule, ipv4, psid = edge_of(given)
    else:
        rule = binding_rule(given["binding"][0])
        ipv4, psid = rule.ipv4.network_address, rule.psid.value if rule.psid else 0
    if rule.spare_bits:
        raise UsageError("its customer edges have an address each, and none has an IPv4 prefix")
    ranges = [f"{ports[0]}-{ports[-1]}" for ports in rule.ports(psid)]
    return napt_network(line["tunnel"], line["node"], line["tunnel"]["mapping"]["border_relay"], ipv4, ranges)


def _of_softwires(given: Given, line: Mapping[str, Any], rows: Sequence[Row]) -> PassingNetwork:
    """Raises `UsageError` where its node has another way with packets than its ruleset and Linux have."""
    from .mechanisms.lw4o6 import LWAFTR_OPTIONS
    from .passing.network import softwires_network

    other = next((option.name for option in LWAFTR_OPTIONS if option.name in given and option.name != "mtu4"), None)
    if other is not None:
        raise UsageError(f"the node of its tunnels has no setting for --{other}")
    return softwires_network(rows, line["node"], line["tunnel"])


def _rows_of_table(given: Given) -> list[Row]:
    from .passing.network import Row

    rows = []
    for address, bits, psid, softwire, *more in given["binding"]:
        offset = more[0] if more else 0
        relay = more[1] if len(more) > 1 else given["br"]
        rows.append(Row(address=address, ports=PortSet.of(bits, psid, offset), softwire=softwire, relay=relay))
    return rows


def _rows_of_rules(given: Given) -> list[Row]:
    """All customer edges of a MAP-E domain. Raises `UsageError` where there are too many."""
    from .mechanisms.mapdomain import rules_of
    from .passing.network import Row

    rules = rules_of(given)
    edges = sum(1 << rule.ea_bits for rule in rules)
    if edges > _MAX_EDGES:
        raise UsageError(
            f"a border relay has a tunnel for each customer edge, and these are {edges}, over {_MAX_EDGES}"
        )
    if any(rule.spare_bits for rule in rules):
        raise UsageError("its border relay has customer edges with an address each, and none with an IPv4 prefix")
    return [
        Row(
            address=str(address),
            ports=PortSet.of(rule.psid_bits, psid, rule.psid_offset),
            softwire=str(rule.address(address, psid)),
            relay=given["br"],
        )
        for rule in rules
        for address in rule.ipv4
        for psid in range(1 << rule.psid_bits)
    ]


def _of_tayga(kind: PacketKind, given: Given, line: Mapping[str, Any]) -> PassingNetwork:
    from .passing.barrier import NODE
    from .passing.network import translator_network

    if kind.name not in ("siit", "siit-dc"):
        raise UsageError(f"tayga is a translator without state (siit, siit-dc), and no {kind.name}")
    other = next((name for name in given if name not in _OF_TAYGA), None)
    if other is not None:
        raise UsageError(f"tayga.conf has no setting for --{other}")
    if len(given.get("prefix", [])) != 1:
        raise UsageError("tayga has one --prefix")
    if shutil.which(TAYGA) is None:
        raise CapabilityError("--engine tayga: the program tayga is missing (Debian package tayga)")
    return translator_network(kind.name, line["siit"], hosts_are=6, own4=IPv4Address(NODE), knows_mtus=False)
