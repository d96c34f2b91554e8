"""Measured values of synthetic trials: simple models of a path, with noise. Used by `synthetic` only."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

from sixbench.mechanisms import install
from sixbench.model.evidence import Evidence, evidence_from_json
from sixbench.model.experiment import Combination
from sixbench.model.headers import HEADERS, stack_name
from sixbench.model.network import Network
from sixbench.model.path import Path as NetworkPath
from sixbench.model.topology import Family, Link, Topology

Series = dict[str, dict[str, list[float]]]

_HEADERS_BYTES = {"native4": 20, "native6": 40, "6in4": 60, "6over4": 60}
_FRAME_BYTES = 38  # preamble 8, Ethernet 14, FCS 4, gap 12
_TCP_BYTES = 32  # with timestamps
_HOP_NS = {"native4": 0, "native6": 900, "6in4": 4_200, "6over4": 5_100}


@dataclass
class Noise:
    """Draws values around an expected one."""

    dice: random.Random
    drift: float

    def __call__(self, value: float, share: float = 0.003) -> float:
        """The value with the block's drift and noise of that share, in six significant digits."""
        return float(f"{value * (1 + self.drift * share / 0.003 + self.dice.gauss(0, share)):.6g}")


@dataclass
class Measured:
    """A trial's results, as a record keeps them."""

    metrics: dict[str, float] = field(default_factory=dict)
    theory: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, dict[str, Any]] = field(default_factory=dict)
    series: Series = field(default_factory=dict)


def measure(combination: Combination, path: NetworkPath, link_used: Link, noise: Noise) -> Measured:
    """Values of a trial of that workload on that path."""
    rate_bps = float(link_used.directions[0].rate_bps or 10**10)
    overhead_bytes = _HEADERS_BYTES[path.mechanism]
    size_bytes = float(combination.levels.get("message_bytes", 64))
    payload_bytes = link_used.mtu_bytes - overhead_bytes - _TCP_BYTES
    limit_bps = rate_bps * payload_bytes / (link_used.mtu_bytes + _FRAME_BYTES)
    rtt_ns = 52_000 + _HOP_NS[path.mechanism] + 16e9 * (size_bytes + overhead_bytes) / rate_bps
    measured = Measured()
    metrics = measured.metrics
    metrics["cpu_busy_cores"] = noise(0.21 + _HOP_NS[path.mechanism] / 60_000, 0.03)
    if path.engine == "ebpf":
        metrics["bpf_encapsulate_ns"] = noise(410, 0.02)
        metrics["bpf_decapsulate_ns"] = noise(290, 0.02)
    match combination.workload.kind:
        case "tcp-stream":
            goodput_bps = limit_bps * (1 - 0.6 / size_bytes)
            metrics["goodput_bps"] = noise(goodput_bps, 0.0006)
            metrics["tcp_rtt_mean_ns"] = noise(8e12 / rate_bps * 60, 0.02)
            metrics["cpu_per_byte_ns"] = noise(8 + 900 / size_bytes + overhead_bytes / 50, 0.03)
            metrics["retransmits_ratio"] = 0.0
            measured.theory["goodput_bps"] = limit_bps
            measured.series["forward_receiver"] = _receiver(goodput_bps, noise)
        case "tcp-rr":
            _latency(measured, "rtt", noise(rtt_ns), 0.16, ("mean", "p50", "p99"))
            metrics["transactions_rate_per_s"] = noise(1e9 / rtt_ns)
        case "tcp-connect":
            _latency(measured, "connect", noise(rtt_ns + 21_000), 0.2, ("mean", "p50", "p99"))
            metrics["transactions_rate_per_s"] = noise(1e9 / (rtt_ns + 30_000))
        case "tcp-crr":
            _latency(measured, "connect", noise(rtt_ns + 21_000), 0.2, ("p50", "p99"))
            _latency(measured, "transaction", noise(2 * rtt_ns + 60_000), 0.2, ("mean", "p50", "p99"))
            metrics["transactions_rate_per_s"] = noise(1e9 / (2 * rtt_ns + 66_000))
        case "udp-stream":
            metrics["goodput_bps"] = noise(0.5 * limit_bps, 0.0001)
            metrics["packets_rate_pps"] = metrics["goodput_bps"] / 8 / float(combination.levels["datagram_bytes"])
            metrics["loss_ratio"] = round(abs(noise.dice.gauss(0.0002, 0.0001)), 6)
            metrics["jitter_rfc3550_ns"] = noise(4_100 + _HOP_NS[path.mechanism] / 10, 0.05)
            metrics["cpu_per_packet_ns"] = noise(5_400 + _HOP_NS[path.mechanism] / 4, 0.03)
            _latency(measured, "one_way_delay", noise(rtt_ns * 0.6), 0.25, ("p50", "p99"))
        case "ping":
            _latency(measured, "rtt", noise(rtt_ns * 0.8), 0.22, ("mean", "p50", "p99"))
            metrics["loss_ratio"] = 0.0
    return measured


def _latency(measured: Measured, name: str, p50_ns: float, sigma: float, statistics: tuple[str, ...]) -> None:
    steps = [-3 + 0.15 * index for index in range(48)]
    buckets = [
        [float(f"{p50_ns * math.exp(sigma * z):.3g}"), max(1, round(1000 * math.exp(-z * z / 2)))] for z in steps
    ]
    values = {
        "mean": float(f"{p50_ns * math.exp(sigma * sigma / 2):.4g}"),
        "p50": float(f"{p50_ns:.4g}"),
        "p99": float(f"{p50_ns * math.exp(sigma * 2.326):.4g}"),
    }
    count = int(sum(bucket[1] for bucket in buckets))
    measured.histograms[name] = {
        "unit": "ns",
        "count": count,
        "min": buckets[0][0],
        "max": buckets[-1][0],
        **values,
        "buckets": buckets,
    }
    for statistic in statistics:
        measured.metrics[f"{name}_{statistic}_ns"] = values[statistic]


def _receiver(goodput_bps: float, noise: Noise) -> dict[str, list[float]]:
    interval_ns = 250_000_000
    times_ns = [float(interval_ns * (index + 1)) for index in range(20)]
    ramp = [0.55, 0.9] + [1.0] * 18
    return {
        "t_ns": times_ns,
        "bytes": [float(round(noise(goodput_bps * share, 0.01) / 8 * interval_ns / 1e9)) for share in ramp],
    }


def evidence(path: NetworkPath, topology: Topology, between: tuple[str, str]) -> Evidence:
    """Evidence as the run layer keeps it: the packets on every link of the way, and the counts of the tunnels' ends."""
    network = install(path, topology, between)
    crossed = network.crossings
    rooms = [crossing.inner_mtu_bytes for crossing in crossed if crossing.inner_mtu_bytes is not None]
    segments = [
        _segment(
            crossing.link, crossing.near, crossing.far, crossing.headers, min(rooms, default=crossing.link.mtu_bytes)
        )
        for crossing in crossed
    ]
    most = max(len(segment["claimed"]) for segment in segments)
    middle = min(
        (index for index, segment in enumerate(segments) if len(segment["claimed"]) == most),
        key=lambda index: abs(index - (len(segments) - 1) / 2),
    )
    inner = f"ipv{path.family}"
    kept = {
        "segments": segments,
        "middle": middle,
        "families": {kind: 64 if kind == inner else 0 for kind in ("ipv4", "ipv6")},
        "payload_bytes": {"forward": 5_000_000, "reverse": 0},
        "counters": {segments[middle]["node"]: {"snmp": {"Ip": {"ForwDatagrams": 41_000}}}},
        "tunnels": _tunnels(network, path.engine or "kernel"),
    }
    return evidence_from_json(kept)


def old_evidence(path: NetworkPath, link_used: Link) -> Evidence:
    """The same as version 0.1 kept it: of one link only, of native paths."""
    segment = _segment(link_used, "r1", "r2", (f"ipv{path.family}",), 1500)
    kept = {key: value for key, value in segment.items() if key not in ("outer", "errors")}
    return evidence_from_json(kept | {"families": segment["stacks"], "counters": {"r1": {"Ip.ForwDatagrams": 41_000}}})


def _segment(link: Link, near: str, far: str, headers: tuple[str, ...], inner_bytes: int) -> dict[str, Any]:
    ip_bytes = inner_bytes + sum(HEADERS[name].size_bytes for name in headers[:-1])
    layers: list[dict[str, Any]] = [{"kind": "ethernet", "bytes": 14}]
    layers += [{"kind": name, "bytes": HEADERS[name].size_bytes} for name in headers]
    layers.append({"kind": "tcp", "bytes": 32, "source_port": 40000, "destination_port": 5001})
    payload_bytes = ip_bytes + 14 - sum(layer["bytes"] for layer in layers)
    layers[-1]["payload_bytes"] = payload_bytes
    family: Family = 4 if headers[0] == "ipv4" else 6
    ends = [str(link.end_of(node).address(family)).partition("/")[0] for node in (near, far)]
    claimed = stack_name(headers)
    return {
        "link": link.name,
        "node": far,
        "interface": link.end_of(far).name,
        "claimed": claimed,
        "stacks": {claimed: 64},
        "outer": {f"{ends[0]} > {ends[1]}": 44, f"{ends[1]} > {ends[0]}": 20},
        "errors": {},
        "captured_packets": 64,
        "capture_dropped": 0,
        "max_ip_bytes": ip_bytes,
        "packets": [{"wire_bytes": ip_bytes + 14, "layers": layers}],
    }


def _tunnels(network: Network, engine: str) -> dict[str, Any]:
    """Some packets of each trial are dropped, and of the engines that have a slow path it carries a few."""
    tunnels: dict[str, Any] = {}
    for tunnel in network.tunnels:
        counted: dict[str, Any] = {
            "encapsulated": {"packets": 41_000, "bytes": 58_000_000},
            "decapsulated": {"packets": 20_500, "bytes": 1_476_000},
            "drops": {"rx_errors": {"packets": 1, "bytes": 0}},
        }
        if engine != "kernel":
            counted |= {
                "slow_encapsulated": {"packets": 3, "bytes": 216},
                "slow_decapsulated": {"packets": 0, "bytes": 0},
                "slow": {"neighbour-unresolved": {"packets": 3, "bytes": 216}},
                "drops": {"no-mapping": {"packets": 2, "bytes": 144}, "ecn-invalid": {"packets": 1, "bytes": 1480}},
            }
        tunnels.setdefault(tunnel.node, {})[tunnel.device] = counted
    return tunnels
