"""Options of `sixbench translate nat64` and `464xlat` for a translator with state, and for a CLAT."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from ...mechanisms import embedding
from ...model.errors import UsageError
from ...model.quoting import shown
from ..option import Given, Option, choice, ipv4_net, ipv6_prefix, number
from .translating import siit_line

_MAX_TIMEOUT_S = 30 * 24 * 3600
_MAX_PORT = 65_535
_POOL = "IPV4/N[:FIRST-LAST], such as 192.0.2.0/28:1024-65535"
_BINDING = "tcp|udp|icmp,IPV4:PORT,[IPV6]:PORT, such as udp,192.0.2.1:53,[2001:db8::1]:53"
TIMEOUTS = ("udp", "tcp-established", "tcp-transitory", "icmp")
"""Kinds of sessions, each with an option."""
CLAT_NETWORK = "192.0.0.0/29"
"""The IPv4 service continuity prefix (RFC 7335)."""
DUMMY4 = "192.0.0.8"
"""The source of errors of a translator that has no address of its own (RFC 7600)."""
ZERO_CHECKSUM = Option(
    name="zero-checksum",
    read=choice("drop", "compute", "forward"),
    help="Treatment of UDP without a checksum; default: compute, for which fragments are put together (RFC 6146 "
    "section 3.4). A CLAT, which has no state, drops it (RFC 7915 section 4.5).",
)
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


def _timeout(name: str, of: str, default: str) -> Option:
    return Option(
        name=f"{name}-timeout",
        metavar="SECONDS",
        read=number(1, _MAX_TIMEOUT_S),
        help=f"Lifetime of a session of {of} after a packet; default: {default} (RFC 6146 section 4).",
    )


_STATE_OPTIONS = (
    Option(
        name="pool",
        metavar="IPV4/N[:FIRST-LAST]",
        read=_pool,
        is_repeated=True,
        help="IPv4 addresses that IPv6 hosts get, and the ports that each has for them, such as "
        "192.0.2.0/28:1024-65535; may be repeated. Default of the ports: 1024-65535.",
    ),
    Option(
        name="static",
        metavar="PROTOCOL,IPV4:PORT,[IPV6]:PORT",
        read=_binding,
        is_repeated=True,
        help="A binding that is always there, such as udp,192.0.2.1:53,[2001:db8::1]:53; icmp has identifiers of "
        "echoes as ports. May be repeated.",
    ),
    Option(
        name="filtering",
        read=choice("endpoint-independent", "address-dependent"),
        help="Sources that may send from IPv4 to a binding: anybody, which is the default, or addresses that were "
        "sent to.",
    ),
    _timeout("udp", "UDP", "300"),
    _timeout("tcp-established", "TCP that is established", "7440"),
    _timeout("tcp-transitory", "TCP that begins or ends", "240"),
    _timeout("icmp", "echoes", "60"),
    Option(name="max-sessions", read=number(1, 2**24), help="Largest number of sessions at a time; default: 1048576."),
    Option(
        name="seed",
        read=number(0, 2**64 - 1),
        help="Decides which addresses, ports and identifications are drawn; default: an IPv6 host's own port if it is "
        "free, or else the next one that is.",
    ),
)
NAT64_OPTIONS = (*_STATE_OPTIONS, ZERO_CHECKSUM)
XLAT_OPTIONS = (
    Option(
        name="role",
        read=choice("clat", "plat"),
        is_required=True,
        help="The CLAT, or the PLAT. --prefix is the PLAT's for both.",
    ),
    Option(
        name="clat-prefix",
        read=ipv6_prefix,
        help="The CLAT: the prefix in which its clients' addresses are embedded (RFC 6052). --eam maps them otherwise.",
    ),
    Option(
        name="inside",
        read=ipv4_net,
        is_repeated=True,
        help=f"The CLAT: its clients' addresses; may be repeated. Default: {CLAT_NETWORK} (RFC 7335).",
    ),
    *_STATE_OPTIONS,
    ZERO_CHECKSUM,
)
_STATEFUL = {option.name for option in _STATE_OPTIONS}


def nat64_line(given: Given) -> dict[str, Any]:
    """The first line for a NAT64. Raises `UsageError` where an option is lacking."""
    for name in ("prefix", "pool"):
        if name not in given:
            raise UsageError(f"a NAT64 needs --{name}: see --help")
    translation = {name: value for name, value in given.items() if name not in _STATEFUL}
    if "seed" in given:
        translation.setdefault("identification-seed", given["seed"])
    state = {"pool": given["pool"], "bindings": given.get("static", []), "timeouts_s": _timeouts(given)}
    others = {name.replace("-", "_"): given[name] for name in ("filtering", "max-sessions", "seed") if name in given}
    return siit_line(translation) | {"mechanism": "nat64", "nat64": state | others}


def _timeouts(given: Given) -> dict[str, int]:
    return {name.replace("-", "_"): given[f"{name}-timeout"] for name in TIMEOUTS if f"{name}-timeout" in given}


def xlat_line(given: Given) -> dict[str, Any]:
    """The first line for a CLAT or PLAT. Raises `UsageError` where options do not fit it."""
    is_clat = given["role"] == "clat"
    not_its = _STATEFUL if is_clat else {"clat-prefix", "inside", "eam"}
    wrong = next((name for name in given if name in not_its), None)
    if wrong is not None:
        raise UsageError(f"--{wrong} is not for a {given['role'].upper()}: see --help")
    others = {name: value for name, value in given.items() if name not in ("role", "clat-prefix", "inside")}
    if not is_clat:
        return nat64_line(others)
    if "prefix" not in given or ("clat-prefix" not in given and "eam" not in given):
        raise UsageError("a CLAT needs --prefix, the PLAT's, and --clat-prefix or --eam: see --help")
    rows = list(given.get("eam", []))
    if "clat-prefix" in given:
        prefix = IPv6Network(given["clat-prefix"])
        wrong = embedding.check_prefix(prefix)
        if wrong is not None:
            raise UsageError(wrong)
        inside = [IPv4Network(text) for text in given.get("inside", [CLAT_NETWORK])]
        rows += [[str(network), str(embedding.embed_network(prefix, network))] for network in inside]
        # The PLAT drops packets with a source in its own prefix (RFC 6146 section 3.5).
        own4 = IPv4Address(others.get("own4", DUMMY4))
        others.setdefault("own6", str(embedding.embed(prefix, own4)))
    return siit_line(others | {"eam": rows})
