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
    # The customer edge's prefix of IPv6 is routed into the device as well.
    made = softwires(path, topology, between, routed=6)
    rule = rule_of(path, made.topology)
    customers = customer_edges(rule, edges)
    pairs = list(zip(customers, made.subscribers, strict=True))
    tunnels = [tunnel for one, subscriber in pairs for tunnel in _ends(one, subscriber, made.tunnels)]
    # All other nodes send answers to the border relay. It knows by their ports whose they are.
    at_relay = next(tunnel for tunnel in tunnels if tunnel.node == relay)
    tunnels = [replace(one, prefixes=(rule.ipv4,)) if one is at_relay else one for one in tunnels]
    stages = {one.node: napt_stage(one, subscriber.device) for one, subscriber in pairs}
    stages[relay] = Stage(
        ip=tuple(line for subscriber in made.subscribers for line in policy(subscriber)),
        nft=binding_table("sixbench_map_relay", rule.ipv4, [_binding(one, subscriber) for one, subscriber in pairs]),
        tracks=frozenset({4}),
    )
    network = finish(path, made.topology, between, tunnels, 4, stages=(stages,), translating=set(edges))
    inside, *outside = network.legs
    public = next(one.ipv4 for one in customers if one.node == inside.far)
    return replace(network, legs=(inside, *(replace(leg, source=public) for leg in outside)))


def _ends(one: CustomerEdge, subscriber: Subscriber, tunnels: Sequence[Tunnel]) -> list[Tunnel]:
    """Both ends of a softwire. The customer edge's has its MAP IPv6 address (RFC 7597 section 6)."""
    return [
        replace(tunnel, local=one.address, addresses=(one.address,), prefixes=(one.prefix,))
        if tunnel.node == one.node
        else replace(tunnel, mapping={"kind": "fixed", "remote": str(one.address)})
        for tunnel in tunnels
        if tunnel.device == subscriber.device
    ]


def _binding(one: CustomerEdge, subscriber: Subscriber) -> Binding:
    """The rule's values for a customer edge."""
    ports = PortSet.of(one.rule.psid_bits, one.psid, one.rule.psid_offset)
    return Binding(subscriber=subscriber, address=one.ipv4, ports=ports)


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
