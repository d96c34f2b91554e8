"""MAP-E: the border relay of a domain, or a customer edge."""

from __future__ import annotations

from ...engines import EBPF
from ...mechanisms import mape
from ...mechanisms.binding import PortSet
from ...model.errors import UsageError
from ..kind import DeviceRequest, FirstLine, PacketMechanism
from ..option import Given, PacketOption
from ..passing.network import PassingNetwork
from ..passing.tunnels import SoftwireRow
from ..readers import ipv6
from .mapdomain import CUSTOMER_EDGE, DOMAIN_OPTIONS, MESH, edge_of, map_node, rules_of
from .softwires import ROUTER_OPTIONS, edge_network, refuse_router, router_network, with_router
from .tunnels import IPV4_TUNNEL, OWN4, tunnel_line

_MAX_EDGES = 64
"""Largest number of customer edges of a border relay: each has a tunnel, which takes some 50 ms to make."""
_BORDER_RELAY = PacketOption(
    name="br",
    read=ipv6,
    is_required=True,
    help="The border relay's address: customer edges send packets to it, and accept packets only from it.",
)


def _first_line(given: Given) -> FirstLine:
    node, relay = map_node(given), given[_BORDER_RELAY.name]
    mapping = {"kind": "map", **node.domain}
    if node.address is None:
        line = tunnel_line({**given, "local": relay}, "map-e", "ipv6", "ipv4", mapping)
        return with_router(line, given)
    refuse_router(given, "a customer edge")
    mapping["border_relay"] = relay
    return tunnel_line({**given, "local": str(node.address)}, "map-e", "ipv6", "ipv4", mapping)


def _network(request: DeviceRequest) -> PassingNetwork:
    """Raises `UsageError` where a device cannot be such a node."""
    given = request.given
    if CUSTOMER_EDGE.name not in given:
        return router_network(request, _rows(given), ROUTER_OPTIONS)
    if given.get(MESH.name):
        raise UsageError("its customer edges have a tunnel to the border relay alone, and --mesh asks for more")
    return edge_network(request, *edge_of(given))


def _rows(given: Given) -> list[SoftwireRow]:
    """All customer edges of the domain. Raises `UsageError` where there are too many."""
    rules = rules_of(given)
    edges = sum(1 << rule.ea_bits for rule in rules)
    if edges > _MAX_EDGES:
        raise UsageError(
            f"a border relay has a tunnel for each customer edge, and these are {edges}, over {_MAX_EDGES}"
        )
    if any(rule.spare_bits for rule in rules):
        raise UsageError("its border relay has customer edges with an address each, and none with an IPv4 prefix")
    return [
        SoftwireRow(
            address=str(address),
            ports=PortSet.of(rule.psid_bits, psid, rule.psid_offset),
            softwire=str(rule.address(address, psid)),
            relay=given[_BORDER_RELAY.name],
        )
        for rule in rules
        for address in rule.ipv4
        for psid in range(1 << rule.psid_bits)
    ]


MAP_E = PacketMechanism(
    mechanism=mape.MAP_E,
    doc="The border relay of a MAP-E domain, or a customer edge (RFC 7597).",
    options=(*DOMAIN_OPTIONS, _BORDER_RELAY, *ROUTER_OPTIONS, *IPV4_TUNNEL, OWN4),
    first_line=_first_line,
    networks={EBPF.name: _network},
)
