"""The path of a packet through each mechanism, step by step, as a teacher would show it. Nothing is built or sent."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

from ..mechanisms import MECHANISMS
from ..model.experiment import Experiment
from ..model.headers import HEADERS, IPV4, IPV6, UDP
from ..model.leg import Crossing
from ..model.network import Network
from ..plan.loading import load_experiment
from ..theory import NotPredicted, predict
from .runs import network_of, topology

EXPERIMENT = "what-each-costs"
"""The shipped experiment with every mechanism over one small network."""

MOST_PACKET_BYTES = 9000
LEAST_PACKET_BYTES = IPV6.size_bytes + UDP.size_bytes


@cache
def _experiment() -> Experiment:
    return load_experiment(EXPERIMENT)


def lessons() -> dict[str, Any]:
    """The network of all lessons, and the paths through it."""
    experiment = _experiment()
    return {
        "topology": topology(experiment),
        "paths": [
            {"name": path.name, "mechanism": path.mechanism, "summary": MECHANISMS[path.mechanism].doc}
            for path in experiment.paths
            if path.aa_of is None
        ],
    }


def lesson(name: str, packet_bytes: int) -> dict[str, Any]:
    """The path of a UDP packet that leaves the client with that size. Raises `KeyError` where there is no such path,
    `ValueError` where the size is not allowed."""
    if not LEAST_PACKET_BYTES <= packet_bytes <= MOST_PACKET_BYTES:
        raise ValueError(f"a packet of the lessons has {LEAST_PACKET_BYTES} to {MOST_PACKET_BYTES} bytes")
    path = next((path for path in _experiment().paths if path.name == name), None)
    network = None if path is None else network_of(_experiment(), path)
    if path is None or network is None:
        raise KeyError(name)
    header = IPV4 if network.family == 4 else IPV6
    payload_bytes = packet_bytes - header.size_bytes - UDP.size_bytes
    steps = [_step(crossing, payload_bytes) for crossing in network.crossings]
    for before, step in pairwise(steps):
        step["nat44"] = _nat44(network, before, step)
    return {
        "name": path.name,
        "mechanism": path.mechanism,
        "summary": MECHANISMS[path.mechanism].doc,
        "packet_bytes": packet_bytes,
        "payload_bytes": payload_bytes,
        "steps": steps,
        **_fate(network, payload_bytes, path.engine),
    }


def _step(crossing: Crossing, payload_bytes: int) -> dict[str, Any]:
    addresses = iter(crossing.ip)
    headers = []
    for name in crossing.headers:
        header = {"name": HEADERS[name].name, "bytes": HEADERS[name].size_bytes, "reference": HEADERS[name].reference}
        if name in ("ipv4", "ipv6"):
            ip = next(addresses)
            header |= {"source": str(ip.source), "destination": str(ip.destination), "hop_limit": ip.hop_limit}
        headers.append(header)
    headers.append({"name": UDP.name, "bytes": UDP.size_bytes, "reference": UDP.reference})
    total_bytes = sum(HEADERS[name].size_bytes for name in crossing.headers) + UDP.size_bytes + payload_bytes
    return {
        "link": crossing.link.name,
        "near": crossing.near,
        "far": crossing.far,
        "mtu_bytes": crossing.link.mtu_bytes,
        "headers": headers,
        "payload_bytes": payload_bytes,
        "total_bytes": total_bytes,
        "fits": total_bytes <= crossing.link.mtu_bytes,
    }


def _nat44(network: Network, before: dict[str, Any], step: dict[str, Any]) -> dict[str, Any] | None:
    """The source that the NAT44 of the node between two steps gives the packet; None where it has none.

    `is_first`: the packet arrives as plain IPv4, so the NAT44 acts before a translator or a tunnel.
    """
    nat44 = next((stage[step["near"]].nat44 for stage in network.stages if step["near"] in stage), None)
    if nat44 is None:
        return None
    outside = nat44.outside or next(h["source"] for h in reversed(step["headers"]) if h["name"] == IPV4.name)
    is_first = [header["name"] for header in before["headers"] if "source" in header] == [IPV4.name]
    return {"outside": str(outside), "ports": list(nat44.ports), "is_first": is_first}


def _fate(network: Network, payload_bytes: int, engine: str | None) -> dict[str, Any]:
    """The fate of the packets by theory: their sizes on each link once the path MTU is known, and the losses before."""
    try:
        prediction = predict(network, payload_bytes, "kernel", engine)
    except (NotPredicted, ValueError) as error:
        return {"not_predicted": str(error)}
    return {
        "outcome": prediction.settled.outcome,
        "lost_first": prediction.lost_first,
        "reasons": list(dict.fromkeys((*prediction.first.reasons, *prediction.settled.reasons))),
        "sizes_bytes": [list(load.sizes_bytes) for load in prediction.settled.loads],
    }
