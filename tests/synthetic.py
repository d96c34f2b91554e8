"""Runs that never took place, for tests: plausible numbers from a seed, as records, manifests and run directories.

The values follow simple models (header overhead on a link, a time per round trip and byte) with a drift that trials of
one block share and a little noise of their own. They are rounded, so that they are the same on every machine.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Interface, IPv6Interface
from pathlib import Path
from typing import Any

from sixbench.model.experiment import Blocks, Combination, Experiment, PlannedTrial, Statistics
from sixbench.model.path import Path as NetworkPath
from sixbench.model.topology import Interface, Link, Node, Topology
from sixbench.model.trial import Status, TrialRecord
from sixbench.model.workload import Scalar, Workload
from sixbench.store import Environment, Manifest, Run, create_run, read_run

STARTED_NS = 1_760_000_000_000_000_000
SECOND_NS = 10**9
Series = dict[str, dict[str, list[float]]]

TEXT = """\
experiment: synthetic
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: 100Mbit}
    - {endpoints: [r1, r2], rate: 100Mbit}
    - {endpoints: [r2, h2], rate: 100Mbit}
between: [h1, h2]
paths: {ipv4: native4, ipv4-again: native4, ipv6: native6}
"""

NATIVE = (
    NetworkPath(name="ipv4", mechanism="native4", family=4),
    NetworkPath(name="ipv4-again", mechanism="native4", family=4, aa_of="ipv4"),
    NetworkPath(name="ipv6", mechanism="native6", family=6),
)
TRANSITION = (
    *NATIVE,
    NetworkPath(name="router-to-router", mechanism="6in4", family=6, nodes=("r1", "r2"), engine="kernel"),
    NetworkPath(name="host-to-host", mechanism="6over4", family=6, nodes=("h1", "h2"), engine="ebpf"),
)

_HEADERS_BYTES = {"native4": 20, "native6": 40, "6in4": 60, "6over4": 60}
_FRAME_BYTES = 38  # preamble 8, Ethernet 14, FCS 4, gap 12
_TCP_BYTES = 32  # with timestamps
_HOP_NS = {"native4": 0, "native6": 900, "6in4": 4_200, "6over4": 5_100}


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """A run that can be written, or used without ever being on a disk (then without its series)."""

    manifest: Manifest
    trials: list[TrialRecord]
    series: dict[str, Series] = field(default_factory=dict)

    def in_memory(self) -> Run:
        """The run, with a directory that does not exist."""
        return Run(directory=Path("runs") / self.manifest.run, manifest=self.manifest, trials=self.trials)

    def write(self, directory: Path) -> Run:
        """Writes the run directory and reads it back."""
        writer = create_run(directory, self.manifest)
        for trial in self.trials:
            writer.add_trial(trial, self.series.get(trial.key, {}))
        return read_run(directory)


def standard(blocks: int = 6) -> Synthetic:
    """IPv4 (twice: an A/A path) and IPv6 at 100 Mbit/s: all workloads, some trials invalid or failed."""
    sizes = [64, 256, 1024, 8192, 65536]
    workloads: list[tuple[str, dict[str, list[Scalar]]]] = [
        ("tcp-stream", {"message_bytes": [*sizes]}),
        ("tcp-rr", {"message_bytes": [*sizes]}),
        ("tcp-connect", {}),
        ("tcp-crr", {}),
        ("udp-stream", {"datagram_bytes": [1200]}),
        ("ping", {}),
    ]
    run = _build(experiment(NATIVE, workloads, blocks=blocks), blocks)
    spoilt: dict[str, tuple[Status, str]] = {
        "b002-c0001-ipv6": ("invalid", "the machine's CPU was busy for 97 % of the trial: the tester was the limit"),
        "b003-c0002-ipv6": ("invalid", "the machine's CPU was busy for 97 % of the trial: the tester was the limit"),
        "b004-c0011-ipv4": ("invalid", "wrong packets on r1-r2: 214 of 214 packets were IPv6"),
        "b005-c0013-ipv6": ("failed", "agent h2: peer-lost: the peer fell silent for 5 s"),
    }
    return spoil(run, spoilt)


def one_block() -> Synthetic:
    """One block only: estimates, but no interval anywhere."""
    return replace_run(standard(blocks=1), run="one-block")


def no_valid_trial() -> Synthetic:
    """Every trial is invalid or failed."""
    run = standard(blocks=2)
    reasons: dict[str, tuple[Status, str]] = {
        trial.key: ("failed", "agent h2 died: exit code 137")
        if index % 3
        else ("invalid", "the clock was stepped by 2 s")
        for index, trial in enumerate(run.trials)
    }
    return replace_run(spoil(run, reasons), run="no-valid-trial", state="partial")


def no_trials() -> Synthetic:
    """Interrupted before the first trial was over."""
    run = standard(blocks=1)
    return replace(replace_run(run, run="no-trials", state="interrupted"), trials=[], series={})


def many_levels(blocks: int = 4) -> Synthetic:
    """Four link rates, two MTUs, six message sizes, five paths (two of them tunnels): several hundred findings."""
    sizes: list[Scalar] = [64, 256, 1024, 4096, 16384, 65536]
    workloads: list[tuple[str, dict[str, list[Scalar]]]] = [
        ("tcp-stream", {"message_bytes": sizes}),
        ("tcp-rr", {"message_bytes": sizes}),
        ("tcp-connect", {}),
    ]
    links: list[dict[str, Scalar]] = [
        {"link_rate_bps": rate_mbps * 10**6, "link_mtu_bytes": mtu_bytes}
        for rate_mbps in (10, 100, 1000, 10000)
        for mtu_bytes in (1500, 9000)
    ]
    chosen = experiment(TRANSITION, workloads, links=links, blocks=blocks, name="many-levels")
    return replace_run(_build(chosen, blocks), run="many-levels")


def transition(blocks: int = 12) -> Synthetic:
    """A paper's experiment: two tunnels against native IPv6."""
    workloads: list[tuple[str, dict[str, list[Scalar]]]] = [
        ("tcp-stream", {"message_bytes": [64, 1024, 8192, 65536]}),
        ("tcp-connect", {}),
    ]
    chosen = experiment(TRANSITION, workloads, blocks=blocks, name="router-to-router-or-host-to-host", baseline="ipv6")
    paths = tuple(path for path in chosen.paths if path.name != "ipv4-again")
    run = _build(replace(chosen, paths=paths), blocks)
    return replace_run(run, run="transition", paper="raicu-zeadally-transition")


def experiment(
    paths: tuple[NetworkPath, ...],
    workloads: list[tuple[str, dict[str, list[Scalar]]]],
    *,
    links: list[dict[str, Scalar]] | None = None,
    blocks: int = 6,
    name: str = "synthetic",
    baseline: str = "ipv4",
) -> Experiment:
    """An experiment on h1 - r1 - r2 - h2: workloads with the levels they sweep, and levels of the links."""
    link_levels: list[dict[str, Scalar]] = links or [{}]
    combinations: list[Combination] = []
    for kind, swept in workloads:
        for index, link in enumerate(link_levels):
            for levels in _product(swept):
                combinations.append(
                    Combination(
                        name=f"c{len(combinations) + 1:04d}",
                        workload=Workload(
                            kind=kind, params={"duration_ns": 5 * SECOND_NS, "warmup_ns": 5 * 10**8} | levels
                        ),
                        levels=levels | link,
                        topology=index,
                    )
                )
    return Experiment(
        name=name,
        title="IPv4 and IPv6 through two routers",
        description="What a native IPv6 path costs against IPv4 where both cross the same two routers.",
        file=f"{name}.yaml",
        text=TEXT,
        topologies=tuple(chain(**_link_settings(link)) for link in link_levels),
        between=("h1", "h2"),
        paths=paths,
        baseline=baseline,
        combinations=tuple(combinations),
        blocks=Blocks(minimum=blocks, maximum=blocks, precision=0.02),
        statistics=Statistics(),
        seed=1,
    )


def chain(
    rate_bps: int | None = 100_000_000, mtu_bytes: int = 1500, names: tuple[str, ...] = ("h1", "r1", "r2", "h2")
) -> Topology:
    """Nodes in a row, the first and the last being hosts."""
    ends = {names[0], names[-1]}
    return Topology(
        nodes={name: Node(name=name, kind="host" if name in ends else "router") for name in names},
        links=tuple(
            link(a, b, index, rate_bps, mtu_bytes) for index, (a, b) in enumerate(zip(names, names[1:], strict=False))
        ),
    )


def link(a: str, b: str, index: int, rate_bps: int | None = 100_000_000, mtu_bytes: int = 1500) -> Link:
    """A link between two nodes with the `index`-th of the benchmarking prefixes."""

    def end(node: str, host: int) -> Interface:
        return Interface(
            node=node,
            name=f"eth-{index}",
            ipv4=IPv4Interface(f"198.18.{index}.{host}/24"),
            ipv6=IPv6Interface(f"2001:2:0:{index:x}::{host}/64"),
        )

    return Link(
        name=f"{a}-{b}",
        ends=(end(a, 1), end(b, 2)),
        mtu_bytes=mtu_bytes,
        rate_bps=rate_bps,
        queue_bytes=None,
        queue_ns=None,
        burst_bytes=None,
        delay_ns=0,
        jitter_ns=0,
        loss_ratio=0.0,
        offload=None,
    )


def environment() -> Environment:
    """A machine."""
    return Environment(
        kernel="6.18.0",
        machine="x86_64",
        cpu="Example CPU at 2.50GHz",
        distribution="Debian GNU/Linux 13 (trixie)",
        cores=2,
        memory_bytes=8 * 2**30,
        versions={"sixbench": "0.1.0", "agent": "0.1.0", "python": "3.11.9", "iproute2": "6.15.0", "numpy": "2.1.0"},
        sysctls={"net.ipv4.tcp_congestion_control": "bbr", "net.ipv4.tcp_rmem": "4096\t131072\t6291456"},
    )


def spoil(run: Synthetic, reasons: dict[str, tuple[Status, str]]) -> Synthetic:
    """The run with some trials, by key, made invalid or failed."""
    trials = []
    for trial in run.trials:
        if trial.key in reasons:
            status, reason = reasons[trial.key]
            kept = trial.metrics if status == "invalid" else {}
            trial = replace(trial, status=status, reasons=[reason], metrics=kept, histograms={})
        trials.append(trial)
    return replace(run, trials=trials)


def replace_run(run: Synthetic, /, **changes: Any) -> Synthetic:
    """The run with some fields of its manifest changed."""
    return replace(run, manifest=replace(run.manifest, **changes))


def _link_settings(levels: dict[str, Scalar]) -> dict[str, int]:
    names = {"link_rate_bps": "rate_bps", "link_mtu_bytes": "mtu_bytes"}
    return {names[column]: int(value) for column, value in levels.items()}


def _product(swept: dict[str, list[Scalar]]) -> list[dict[str, Scalar]]:
    combinations: list[dict[str, Scalar]] = [{}]
    for column, values in swept.items():
        combinations = [levels | {column: value} for levels in combinations for value in values]
    return combinations


def _build(chosen: Experiment, blocks: int) -> Synthetic:
    trials: list[TrialRecord] = []
    series: dict[str, Series] = {}
    for block in range(1, blocks + 1):
        for combination in chosen.combinations:
            drift = random.Random(f"{chosen.seed}/{block}/{combination.name}").gauss(0, 0.004)
            for path in chosen.paths:
                planned = PlannedTrial(block=block, combination=combination.name, path=path.name)
                dice = random.Random(f"{chosen.seed}/{planned.key}")
                trial, of_trial = _trial(chosen, combination, path, planned, len(trials) + 1, _Noise(dice, drift))
                trials.append(trial)
                if of_trial:
                    series[trial.key] = of_trial
    manifest = Manifest(
        run="synthetic",
        experiment=chosen,
        environment=environment(),
        state="complete",
        started_realtime_ns=STARTED_NS,
        ended_realtime_ns=STARTED_NS + 6 * SECOND_NS * len(trials),
        command=["sixbench", "run", chosen.file, "--seed", "1", "--out", "runs/a run"],
        lab_build_ns=[180_000_000],
    )
    return Synthetic(manifest=manifest, trials=trials, series=series)


@dataclass
class _Noise:
    dice: random.Random
    drift: float

    def __call__(self, value: float, share: float = 0.003) -> float:
        """The value with the block's drift and noise of that share, in six significant digits."""
        return float(f"{value * (1 + self.drift * share / 0.003 + self.dice.gauss(0, share)):.6g}")


def _trial(
    chosen: Experiment, combination: Combination, path: NetworkPath, planned: PlannedTrial, sequence: int, noise: _Noise
) -> tuple[TrialRecord, Series]:
    link_used = chosen.topologies[combination.topology].links[1]
    measured = _measure(combination, path, link_used, noise)
    record = TrialRecord(
        key=planned.key,
        sequence=sequence,
        block=planned.block,
        combination=combination.name,
        path=path.name,
        mechanism=path.mechanism,
        engine=path.engine or "native",
        workload=combination.workload.kind,
        params=combination.workload.params,
        levels=combination.levels,
        status="ok",
        started_realtime_ns=STARTED_NS + 6 * SECOND_NS * sequence,
        elapsed_ns=5_600_000_000,
        metrics=measured.metrics,
        theory=measured.theory,
        limited_by="path",
        histograms=measured.histograms,
        evidence=evidence(path, link_used),
    )
    return record, measured.series


@dataclass
class _Measured:
    metrics: dict[str, float] = field(default_factory=dict)
    theory: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, dict[str, Any]] = field(default_factory=dict)
    series: Series = field(default_factory=dict)


def _measure(combination: Combination, path: NetworkPath, link_used: Link, noise: _Noise) -> _Measured:
    rate_bps = float(link_used.rate_bps or 10**10)
    overhead_bytes = _HEADERS_BYTES[path.mechanism]
    size_bytes = float(combination.levels.get("message_bytes", 64))
    payload_bytes = link_used.mtu_bytes - overhead_bytes - _TCP_BYTES
    limit_bps = rate_bps * payload_bytes / (link_used.mtu_bytes + _FRAME_BYTES)
    rtt_ns = 52_000 + _HOP_NS[path.mechanism] + 16e9 * (size_bytes + overhead_bytes) / rate_bps
    measured = _Measured()
    metrics = measured.metrics
    metrics["cpu_busy_cores"] = noise(0.21 + _HOP_NS[path.mechanism] / 60_000, 0.03)
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


def _latency(measured: _Measured, name: str, p50_ns: float, sigma: float, statistics: tuple[str, ...]) -> None:
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


def _receiver(goodput_bps: float, noise: _Noise) -> dict[str, list[float]]:
    interval_ns = 250_000_000
    times_ns = [float(interval_ns * (index + 1)) for index in range(20)]
    ramp = [0.55, 0.9] + [1.0] * 18
    return {
        "t_ns": times_ns,
        "bytes": [float(round(noise(goodput_bps * share, 0.01) / 8 * interval_ns / 1e9)) for share in ramp],
    }


def evidence(path: NetworkPath, link_used: Link) -> dict[str, Any]:
    """What the run layer keeps of the packets on the middle link."""
    payload_bytes = link_used.mtu_bytes - _HEADERS_BYTES[path.mechanism] - _TCP_BYTES
    layers: list[dict[str, Any]] = [{"kind": "ethernet", "bytes": 14}]
    if path.mechanism != "native6":
        layers.append({"kind": "ipv4", "bytes": 20, "source": "198.18.1.1", "destination": "198.18.1.2"})
    if path.mechanism != "native4":
        layers.append(
            {"kind": "ipv6", "bytes": 40, "source": "2001:2::1", "destination": "2001:2:0:2::2", "hop_limit": 63}
        )
    layers.append(
        {"kind": "tcp", "bytes": 32, "source_port": 40000, "destination_port": 5001, "payload_bytes": payload_bytes}
    )
    ipv4_on_wire = path.mechanism != "native6"
    return {
        "link": link_used.name,
        "families": {"ipv4": 214 if ipv4_on_wire else 0, "ipv6": 0 if ipv4_on_wire else 214},
        "max_ip_bytes": link_used.mtu_bytes,
        "interfaces": {"r1.eth1": {"tx_packets": 41_000, "tx_bytes": 61_500_000}},
        "packets": [layers],
    }
