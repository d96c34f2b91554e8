"""NAT64: a translator with state."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from ...engines import EBPF
from ...mechanisms import nat64
from ...mechanisms.nat64 import NAT64_ZERO_CHECKSUM
from ...model.capture_file import addresses_of
from ...model.errors import UsageError
from ...model.parameter import Parameter
from ...model.quoting import shown
from ..kind import DeviceRequest, FirstLine, PacketMechanism
from ..option import Given, PacketOption
from ..passing.network import PassingNetwork
from ..passing.translators import nat64_network
from ..readers import choice, ipv4_net, number
from .translating import refuse_no_program, translator_line, without, zero_checksum

_MAX_TIMEOUT_S = 30 * 24 * 3600
_MAX_PORT = 65_535
_POOL = "IPV4/N[:FIRST-LAST], such as 192.0.2.0/28:1024-65535"
_BINDING = "tcp|udp|icmp,IPV4:PORT,[IPV6]:PORT, such as udp,192.0.2.1:53,[2001:db8::1]:53"
_SESSION_KINDS = ("udp", "tcp-established", "tcp-transitory", "icmp")
"""Kinds of sessions, each with an option for its lifetime."""
_NOT_OF_LINUX = ("static", "filtering", "seed", "max-sessions", *(f"{kind}-timeout" for kind in _SESSION_KINDS))
"""Options that connection tracking lacks, or has with another meaning."""
_ICMPV6, _FIRST_INFORMATIONAL = 58, 128
"""RFC 4443 section 2.1."""
_MAX_HOSTS = 1024
"""Largest number of rows in the table of a translator's programs."""
_port = number(0, _MAX_PORT)


def _pool(text: str) -> dict[str, Any]:
    """A part of the pool. Raises `ValueError`."""
    net, colon, ports = text.partition(":")
    first, dash, last = ports.partition("-")
    if bool(colon) != bool(dash):
        raise ValueError(f"{shown(text)} is not {_POOL}")
    texts = {"net": str(IPv4Network(ipv4_net(net)))}
    return texts | ({"first": _port(first), "last": _port(last)} if dash else {"first": 1024, "last": _MAX_PORT})


def _binding(text: str) -> dict[str, Any]:
    """A static binding. Raises `ValueError`."""
    try:
        protocol, outside, inside = text.split(",")
        ipv4, ipv4_port = outside.rsplit(":", 1)
        ipv6, ipv6_port = inside.rsplit(":", 1)
        if not (ipv6.startswith("[") and ipv6.endswith("]") and "%" not in ipv6):
            raise ValueError
        return {
            "protocol": choice("tcp", "udp", "icmp")(protocol),
            "ipv4": [str(IPv4Address(ipv4)), _port(ipv4_port)],
            "ipv6": [str(IPv6Address(ipv6[1:-1])), _port(ipv6_port)],
        }
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not {_BINDING}") from error


def _timeout(name: str, of: str, default: str) -> PacketOption:
    return PacketOption(
        name=f"{name}-timeout",
        metavar="SECONDS",
        read=number(1, _MAX_TIMEOUT_S),
        help=f"Lifetime of a session of {of} after a packet; default: {default} (RFC 6146 section 4).",
    )


STATE_OPTIONS = (
    PacketOption(
        name="pool",
        metavar="IPV4/N[:FIRST-LAST]",
        read=_pool,
        is_repeated=True,
        help="IPv4 addresses that IPv6 hosts get, and the ports that each has for them, such as "
        "192.0.2.0/28:1024-65535; may be repeated. Default of the ports: 1024-65535.",
    ),
    PacketOption(
        name="static",
        metavar="PROTOCOL,IPV4:PORT,[IPV6]:PORT",
        read=_binding,
        is_repeated=True,
        help="A binding that is always there, such as udp,192.0.2.1:53,[2001:db8::1]:53; icmp has identifiers of "
        "echoes as ports. May be repeated.",
    ),
    PacketOption(
        name="filtering",
        read=choice("endpoint-independent", "address-dependent"),
        help="Sources that may send from IPv4 to a binding: anybody, which is the default, or addresses that were "
        "sent to.",
    ),
    _timeout("udp", "UDP", "300"),
    _timeout("tcp-established", "TCP that is established", "7440"),
    _timeout("tcp-transitory", "TCP that begins or ends", "240"),
    _timeout("icmp", "echoes", "60"),
    PacketOption(
        name="max-sessions", read=number(1, 2**24), help="Largest number of sessions at a time; default: 1048576."
    ),
    PacketOption(
        name="seed",
        read=number(0, 2**64 - 1),
        help="Decides which addresses, ports and identifications are drawn; default: an IPv6 host's own port if it is "
        "free, or else the next one that is.",
    ),
)
STATEFUL = frozenset(option.name for option in STATE_OPTIONS)


def stateful_zero_checksum(parameter: Parameter) -> PacketOption:
    """The option for the treatment of UDP without a checksum by a translator that may keep fragments."""
    return zero_checksum(parameter, "A translator that computes it puts fragments together.")


def nat64_line(given: Given) -> FirstLine:
    """The first line for a NAT64. Raises `UsageError` where an option is lacking."""
    for name in ("prefix", "pool"):
        if name not in given:
            raise UsageError(f"a NAT64 needs --{name}: see --help")
    translation = {name: value for name, value in given.items() if name not in STATEFUL}
    if "seed" in given:
        translation.setdefault("identification-seed", given["seed"])
    state = {"pool": given["pool"], "bindings": given.get("static", []), "timeouts_s": _timeouts(given)}
    others = {name.replace("-", "_"): given[name] for name in ("filtering", "max-sessions", "seed") if name in given}
    return translator_line(translation) | {"mechanism": "nat64", "nat64": state | others}


def _timeouts(given: Given) -> dict[str, int]:
    return {name.replace("-", "_"): given[f"{name}-timeout"] for name in _SESSION_KINDS if f"{name}-timeout" in given}


def nat64_device(request: DeviceRequest) -> PassingNetwork:
    """The network around a NAT64: programs in the kernel, and Linux's connection tracking. Raises `UsageError` where
    these have no such setting, or there are too many hosts."""
    given = request.given
    refuse_no_program(given)
    other = next((name for name in _NOT_OF_LINUX if name in given), None)
    if other is not None:
        raise UsageError(f"its sessions are those of Linux's connection tracking, which has no --{other}")
    if len(given["pool"]) != 1:
        raise UsageError(f"its NAT44 has one --pool, and these are {len(given['pool'])}")
    [pool] = given["pool"]
    prefixes = [IPv6Network(prefix) for prefix in given["prefix"]]
    hosts = [host for host in hosts_of(request.packets()) if not any(host in prefix for prefix in prefixes)]
    if len(hosts) > _MAX_HOSTS:
        raise UsageError(f"its programs know {_MAX_HOSTS} IPv6 hosts, and the capture has packets of {len(hosts)}")
    ports = f"{pool['first']}-{pool['last']}"
    return nat64_network(request.mechanism, request.line["siit"], hosts, IPv4Network(pool["net"]), ports)


def hosts_of(packets: Iterable[bytes]) -> list[IPv6Address]:
    """The sources of IPv6 packets, each once, without those of ICMPv6 errors, which are of any router."""
    sources: dict[IPv6Address, None] = {}
    for packet in packets:
        ends = addresses_of(packet)
        is_error = packet[6:7] == bytes([_ICMPV6]) and packet[40:41] < bytes([_FIRST_INFORMATIONAL])
        if ends is not None and isinstance(ends[0], IPv6Address) and not is_error:
            sources[ends[0]] = None
    return list(sources)


NAT64 = PacketMechanism(
    mechanism=nat64.NAT64,
    doc="A stateful translator for IPv6 clients of IPv4 servers (RFC 6146).",
    options=(
        *STATE_OPTIONS,
        stateful_zero_checksum(NAT64_ZERO_CHECKSUM),
        *without("eam", "overlapping", "hairpin", "zero-checksum"),
    ),
    first_line=nat64_line,
    networks={EBPF.name: nat64_device},
)
