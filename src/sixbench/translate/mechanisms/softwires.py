"""Parts that lw4o6 and MAP-E share: the options of the router that an lwAFTR or a border relay is, and the networks
around it and around an lwB4 or a customer edge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address

from ...model.errors import UsageError
from ...model.map_rule import Rule
from ..kind import DeviceRequest, FirstLine
from ..option import Given, PacketOption
from ..passing.network import PassingNetwork
from ..passing.tunnels import SoftwireRow, napt_network, softwires_network
from ..readers import number

_MTU4 = PacketOption(
    name="mtu4",
    read=number(68, 65_535, "BYTES"),
    help="MTU of the router's IPv4 link, for packets that come out of the tunnel; default: they all fit.",
)
ROUTER_OPTIONS = (
    PacketOption(
        name="hop",
        turns_off=True,
        help="Leave the TTL of IPv4 packets as it is: the router takes one from it (RFC 1812 section 5.3.1).",
    ),
    _MTU4,
    PacketOption(
        name="reassemble",
        help="Put fragments together that come from the IPv4 side, and send one packet into the tunnel (RFC 7597 "
        "section 8.3.2); default: they go in as they came, by the ports of the first one.",
    ),
)


def with_router(line: FirstLine, given: Given) -> FirstLine:
    """The first line for a tunnel's end that is such a router."""
    answers = {"mtu4_bytes": given.get(_MTU4.name), "reassembles": given.get("reassemble", False)}
    return line | {"node": line["node"] | answers | {"takes_hop": given.get("hop", True)}}


def refuse_router(given: Given, what: str, options: Iterable[PacketOption] = ROUTER_OPTIONS) -> None:
    """Raises `UsageError` where options of such a router are given for something else."""
    for option in options:
        if option.name in given:
            raise UsageError(f"--{'no-' if option.turns_off else ''}{option.name} is not for {what}")


def router_network(
    request: DeviceRequest, rows: Sequence[SoftwireRow], options: Iterable[PacketOption]
) -> PassingNetwork:
    """The network around an lwAFTR or a border relay. Raises `UsageError` where its node has another way with packets
    than its ruleset and Linux have.

    Args:
        rows: the other ends of its tunnels.
        options: those of the router.
    """
    for option in options:
        if option.name in request.given and option is not _MTU4:
            raise UsageError(f"the node of its tunnels has no setting for --{option.name}")
    return softwires_network(rows, request.line["node"], request.line["tunnel"])


def edge_network(request: DeviceRequest, rule: Rule, ipv4: IPv4Address, psid: int) -> PassingNetwork:
    """The network around an lwB4 or a customer edge of MAP-E. Raises `UsageError` where it has an IPv4 prefix."""
    if rule.spare_bits:
        raise UsageError("its customer edges have an address each, and none has an IPv4 prefix")
    tunnel = request.line["tunnel"]
    ranges = [f"{ports[0]}-{ports[-1]}" for ports in rule.ports(psid)]
    return napt_network(tunnel, request.line["node"], tunnel["mapping"]["border_relay"], ipv4, ranges)
