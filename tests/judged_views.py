"""Networks in a line, packets and counters on their links, and what the proof of a path says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from observed import by_node, captured

from sixbench.bench.proof.packets import Judgement, judge
from sixbench.bench.proof.viewpoints import Viewpoint, viewpoints
from sixbench.mechanisms import install
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.workload import Traffic

Read = Callable[[str], Experiment]
Counters = dict[str, Any]
Packet = dict[str, Any]

TRAFFIC = Traffic(forward_payload_bytes=1000, reverse_payload_bytes=500, forward_datagrams=10)
SLOW = "rate: 1Gbit"


def line(read: Read, kinds: str, path: str = "native4", link: str = "mtu: 1500") -> Network:
    """Nodes in a line, from a word such as `hrrh`, with a path installed; links are named by their number."""
    names = [f"{kind}{index}" for index, kind in enumerate(kinds)]
    nodes = ", ".join(f"{name}: {'host' if name[0] == 'h' else 'router'}" for name in names)
    links = ", ".join(f"{{endpoints: [{a}, {b}], name: l{i}, {link}}}" for i, (a, b) in enumerate(pairwise(names)))
    text = f"topology: {{nodes: {{{nodes}}}, links: [{links}]}}\npaths: {{a: {path}}}\nworkloads: [ping]\n"
    experiment = read(text)
    return install(experiment.paths[0], experiment.topologies[0], experiment.between)


def views_of(network: Network) -> list[Viewpoint]:
    return viewpoints(network)


def packet(*kinds: str, wire_bytes: int = 100, total_bytes: int | None = None, **last: Any) -> Packet:
    layers: list[dict[str, Any]] = [{"kind": "ethernet", "bytes": 14}]
    for kind in kinds:
        layers.append({"kind": kind, "bytes": 20, "total_bytes": total_bytes or wire_bytes - 14})
    layers[-1] |= last
    return {"realtime_ns": 1_760_000_000_123_456_789, "wire_bytes": wire_bytes, "layers": layers, "data": "00" * 14}


def towards_server(view: Viewpoint, there: Packet) -> Packet:
    """The same packet with the addresses that the path claims."""
    for layer, ip in zip(
        [layer for layer in there["layers"] if layer["kind"].startswith("ip")], view.crossing.ip, strict=True
    ):
        layer |= {"source": str(ip.source), "destination": str(ip.destination)}
    return there


def counters(view: Viewpoint, packets: int, octets: int, ip: int = 0, ip6: int = 0) -> Counters:
    counted = {
        f"{direction}_{what}": n for direction in ("rx", "tx") for what, n in (("packets", packets), ("bytes", octets))
    }
    return {
        "interfaces": {view.end.name: counted, "lo": dict.fromkeys(counted, 0)},
        "snmp": {"Ip": {"InReceives": ip}, "Ip6": {"InReceives": ip6}},
    }


def judged(
    view: Viewpoint, packets: Sequence[Packet], after: Counters | None = None, traffic: Traffic = TRAFFIC
) -> Judgement:
    """Judgement on one link; unless the test gives others, its counters fit the claim."""
    node = view.end.node
    if after is None:
        fields = {"ip": 100} if "ipv4" in view.crossing.headers else {}
        after = counters(view, 105, 10_500, **fields)
    return judge(
        [view],
        [captured(packets)],
        by_node({node: counters(view, 5, 500)}),
        by_node({node: after}),
        traffic,
    )
