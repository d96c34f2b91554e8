"""MAP-E (RFC 7597): customer edges translate IPv4 addresses, each within its ports of a shared one, and send IPv4 in
IPv6 to a border relay. A mapping rule makes the addresses of both ends of each softwire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..engines import EBPF, KERNEL, USER
from ..model.device import Tunnel
from ..model.network import Network
from ..model.path import Path
from ..model.stage import Stage
from ..model.topology import Topology
from .binding import Binding, PortSet, binding_table
from .common import TUNNEL_OPTIONS, finish
from .dslite import HEADERS, Subscriber, policy, softwires
from .kind import Mechanism
from .mapdomain import MAX_CES, RULE_OPTIONS, CustomerEdge, check_nodes, customer_edges, napt_stage, rule_of


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    *edges, relay = path.nodes
    check_nodes(path, topology)
    # The IPv6 prefix of the customer edge is routed into the device as well.
    result = softwires(path, topology, between, routed=6)
    rule = rule_of(path, result.topology)
    customers = customer_edges(rule, edges)
    pairs = list(zip(customers, result.subscribers, strict=True))
    tunnels = [
        tunnel for customer_edge, subscriber in pairs for tunnel in _ends(customer_edge, subscriber, result.tunnels)
    ]
    # All other nodes send answers to the border relay, which finds the customer edge by the port.
    at_relay = next(tunnel for tunnel in tunnels if tunnel.node == relay)
    tunnels = [replace(tunnel, prefixes=(rule.ipv4,)) if tunnel is at_relay else tunnel for tunnel in tunnels]
    stages = {customer_edge.node: napt_stage(customer_edge, subscriber.device) for customer_edge, subscriber in pairs}
    stages[relay] = Stage(
        ip=tuple(line for subscriber in result.subscribers for line in policy(subscriber)),
        nft=binding_table(
            "sixbench_map_relay",
            rule.ipv4,
            [_binding(customer_edge, subscriber) for customer_edge, subscriber in pairs],
        ),
        tracks=frozenset({4}),
    )
    network = finish(path, result.topology, between, tunnels, 4, stages=(stages,), translating=set(edges))
    inside, *outside = network.legs
    public = next(customer.ipv4 for customer in customers if customer.node == inside.far)
    return replace(network, legs=(inside, *(replace(leg, source=public) for leg in outside)))


def _ends(customer_edge: CustomerEdge, subscriber: Subscriber, tunnels: Sequence[Tunnel]) -> list[Tunnel]:
    """Both ends of a softwire. The customer edge's has its MAP IPv6 address (RFC 7597 section 6)."""
    return [
        replace(
            tunnel, local=customer_edge.address, addresses=(customer_edge.address,), prefixes=(customer_edge.prefix,)
        )
        if tunnel.node == customer_edge.node
        else replace(tunnel, mapping={"kind": "fixed", "remote": str(customer_edge.address)})
        for tunnel in tunnels
        if tunnel.device == subscriber.device
    ]


def _binding(customer_edge: CustomerEdge, subscriber: Subscriber) -> Binding:
    """The rule's values for a customer edge."""
    ports = PortSet.of(customer_edge.rule.psid_bits, customer_edge.psid, customer_edge.rule.psid_offset)
    return Binding(subscriber=subscriber, address=customer_edge.ipv4, ports=ports)


MAP_E = Mechanism(
    name="map-e",
    doc="MAP-E (RFC 7597): CEs translate addresses, each within its ports; IPv4 in IPv6 to a border relay, by a rule.",
    family=lambda options: 4,
    install=_install,
    headers=HEADERS,
    node_count=(2, MAX_CES + 1),
    node_order="the CEs, then the border relay",
    executed_by=(KERNEL, EBPF, USER),
    options=(*TUNNEL_OPTIONS, *RULE_OPTIONS),
    sample=("r1", "r2"),
)
