"""Small run directories, one for each kind of evidence and manifest. They are what `tampered_runs` changes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import path_mtu_results
import synthetic
from synthetic import Synthetic

from endurance.monitor_stock import monitor
from sixbench.analysis import analyse
from sixbench.mechanisms import MECHANISMS
from sixbench.model.bypass import Bypass
from sixbench.model.calibration import Calibrated, Calibration, ComparisonErrors
from sixbench.model.evidence import Evidence, evidence_from_json
from sixbench.model.experiment import Experiment, PlannedTrial
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.trial import TrialRecord
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.loading import load_paper
from sixbench.plan.yaml_source import parse_yaml
from sixbench.report import FORMATS
from sixbench.rfc.design import design
from sixbench.store import EmulatedMachine, create_run, read_run, write_derived
from sixbench.store.packet_log import PACKETS, packet_log_parquet

EMULATED = """
experiment: emulated
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], delay: 5ms, jitter: 1ms, loss: 1%}
    - {endpoints: [r1, h2]}
paths: {ipv4: native4, ipv6: native6}
workloads: [{udp-stream: {datagram: 200B, rate: 1Mbit, packet-log: true}}]
"""
FRAGMENTED = """
experiment: fragmented
topology: {chain: 3, mtu: [1500, 1300]}
paths: {ipv4: native4, ipv6: native6}
workloads: [{udp-stream: {datagram: 1470B, df: [clear], count: 10}}]
"""
PATH_MTU = """
experiment: path-mtu
topology: {chain: 3, mtu: 1400}
paths: {ipv4: native4, ipv6: native6}
workloads: [pmtu]
"""
EYEBALLS = """
experiment: eyeballs
topology: {chain: 3}
paths: {both: dual-stack, ipv4: native4}
workloads: [tcp-connect]
"""
OPTIONS = """
experiment: options
topology: {chain: 4}
paths:
  native: native6
  configured: {6in4: {nodes: [r1, r2], ttl: 63, tos: 4, mtu: 1400, ecn: false, pmtu: dynamic, engine: ebpf}}
  rapid: {6rd: {nodes: [r1, r2], prefix: "2001:db8::/32", ipv4-mask: 8, engine: user}}
  automatic: {6to4: {nodes: [r1], relay: r2}}
  network: {vxlan: {nodes: [r1, r2], key: 7, inner: ipv6, outer: ipv4}}
workloads: [tcp-connect]
"""
EVENTS = """
experiment: events
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {name: core, endpoints: [h1, r1], rate: 10Mbit}
    - {endpoints: [r1, h2], rate: 10Mbit}
paths: {ipv4: native4, ipv6: native6}
workloads: [{tcp-stream: {duration: 4s, warmup: 1s, interval: 500ms}}]
events: [{at: 2s, link: core, rate: 5Mbit}]
"""
DEVICE = """
experiment: device
topology: {chain: 3, rate: 10Mbit}
paths: {ipv4: native4}
workloads: [ping]
"""


def stock(place: Path) -> dict[str, Path]:
    """Makes all of them in a directory. Returns them by name."""
    collected = {}
    for name, make in RUNS.items():
        run, files = make()
        collected[name] = written(run, files, place / name)
    slower = _short()
    trials = [
        replace(trial, metrics={name: 0.5 * value for name, value in trial.metrics.items()}) for trial in slower.trials
    ]
    changed = written(replace(slower, trials=trials), {}, place / "changed")
    # Two are the baseline, and the last one is a change.
    collected["monitor"] = monitor(place / "monitor", *[written(_short(), {}, place / OCCURRENCE)] * 3, changed)
    shutil.rmtree(changed)
    return collected


OCCURRENCE = "occurrence"
"""The run, beside the others, that a monitor repeats."""


def _short(blocks: int = 1, *, aa: bool = False) -> Synthetic:
    """IPv4 and IPv6 at one message size, and echoes in the first block.

    Args:
        aa: with an A/A path.
    """
    run = synthetic.small(blocks=blocks)
    chosen = run.manifest.experiment
    paths = tuple(path for path in chosen.paths if aa or path.aa_of is None)
    combinations = tuple(combination for combination in chosen.combinations if combination.name != "c0002")
    names = {path.name for path in paths}
    kept = [
        trial
        for trial in run.trials
        if trial.path in names
        and (
            trial.combination == "c0001" or (trial.block == 1 and trial.combination == "c0003" and trial.path == "ipv6")
        )
    ]
    experiment = replace(chosen, paths=paths, combinations=combinations)
    return replace(synthetic.replace_run(run, experiment=experiment), trials=kept)


Files = Mapping[str, Mapping[str, bytes]]
"""More files of trials, by the trial's key and the file's name."""


def written(run: Synthetic, files: Files, directory: Path) -> Path:
    """Makes the run's directory, and half of the time its findings as well."""
    writer = create_run(directory, run.manifest)
    for trial in run.trials:
        writer.add_trial(trial, run.series.get(trial.key, {}), files.get(trial.key))
    if run.manifest.state != "running":
        writer.set_state(run.manifest.state, run.manifest.ended_realtime_ns or synthetic.STARTED_NS)
    writer.close()
    read = read_run(directory)
    findings = FORMATS["json"].render(read, analyse(read, load_paper(read.manifest.paper)))
    if len(read.trials) % 2:
        write_derived(read, {"findings.json": findings})
    return directory


def _native() -> tuple[Synthetic, Files]:
    run = _short(blocks=2, aa=True)
    calibration = Calibration(
        machine="0" * 16,
        kernel="6.18.0",
        realtime_ns=synthetic.STARTED_NS,
        quick=True,
        ranges=tuple(
            Calibrated(
                metric="tcp-goodput",
                label="goodput, TCP,",
                path=path,
                workload="tcp-stream",
                vouches=("goodput",),
                column="link_rate_bps",
                low=1e6,
                high=1e9,
                least=9e5,
                greatest=9e8,
                uncertainty=0.001,
                scale="relative",
            )
            for path in ("ipv4", "ipv6")
        ),
        false_alarms=ComparisonErrors(
            realtime_ns=synthetic.STARTED_NS, comparisons=20, false=1, changed=10, found=10, change=0.03
        ),
    )
    params = run.trials[0].params
    bypass = Bypass(
        workload="tcp-stream", params=params, family=4, mtu_bytes=1500, offload=False, metrics={"goodput_bps": 9e8}
    )
    changed = synthetic.replace_run(run, calibration=calibration, bypass=(bypass,), notes=["a note"])
    return changed, {}


def _tunnels() -> tuple[Synthetic, Files]:
    run = synthetic.transition(blocks=1)
    chosen = run.manifest.experiment
    experiment = replace(chosen, combinations=chosen.combinations[:1])
    kept = [trial for trial in run.trials if trial.combination == "c0001"]
    return replace(synthetic.replace_run(run, experiment=experiment), trials=kept), {}


def _running() -> tuple[Synthetic, Files]:
    return synthetic.replace_run(_short(), state="running", ended_realtime_ns=None), {}


def _guests() -> tuple[Synthetic, Files]:
    run = _short()
    guests = {
        name: replace(
            synthetic.environment(),
            kernel=f"{name[7:]}.0",
            clock="virtual",
            guest=EmulatedMachine(kernel=name, emulator="QEMU 10.0.2", accelerator="tcg", instruction_ns=1, seed=7),
            nodes={"h1": {"net.ipv4.tcp_congestion_control": ["cubic"]}},
        )
        for name in ("debian-5.10", "debian-6.12")
    }
    return synthetic.replace_run(run, environment=guests["debian-5.10"], guests=guests), {}


def _old() -> tuple[Synthetic, Files]:
    """Evidence of one link at the top level, as the first version kept it, and a reason of another kind."""
    run = _short()
    path, topology = run.manifest.experiment.paths[0], run.manifest.experiment.topologies[0]
    trials = [replace(trial, evidence=_first_evidence(path, topology)) for trial in run.trials]
    trials[-1] = replace(trials[-1], status="invalid", reasons=[Reason(kind=ReasonKind.UNTYPED, text="why 5 s")])
    return replace(run, trials=trials), {}


def _first_evidence(path: Any, topology: Any) -> Evidence:
    from synthetic_values import old_evidence

    return old_evidence(path, topology.links[1])


def _emulated() -> tuple[Synthetic, Files]:
    chosen = _read(EMULATED)
    trials = _trials(chosen, blocks=1, metrics={"goodput_bps": 1e6, "loss_ratio": 0.01})
    histogram = {"count": 3, "buckets": [[10, 1], [20, 2]], "min": 10, "max": 20, "mean": 16.0, "stdev": 5.0}
    histogram |= {"p50": 20, "p90": 20, "p99": 20, "p999": 20, "unit": "ns"}
    direction = {"packets": 100, "lost": 1, "delay": histogram, "lateness": histogram}
    located = {"where": "by r1, going to r1-h2", "node": "r1", "side": "egress", "reason": "QDISC_DROP"}
    located |= {"what": "the queue was full", "datagrams": 1, "sequences": [[3, 3]], "other_packets": 0}
    emulation = {"h1-r1": {"emulator": "user", "forward": direction, "reverse": direction}}
    losses = {
        "located": [located],
        "counters": [{"node": "r1", "counter": "eth1 tx_dropped", "packets": 1}],
        "lost": 2,
        "unlocated": 1,
        "unlocated_sequences": [[4, 4]],
        "refused": {"EMSGSIZE": 1},
    }
    sockets = {"socket": {"sndbuf_bytes": 4096, "rcvbuf_bytes": 4096, "congestion": "cubic", "nodelay": True}}
    ranges = {"ranges": [[3, 4]], "omitted": 0}
    changed = [
        replace(
            trial,
            evidence=evidence_from_json({"emulation": emulation, "losses": losses, "filters": {"r1": {"icmp": 3}}}),
            histograms={"one_way_delay": histogram},
            client=sockets | {"sent": 100},
            server=sockets | {"unique": 98, "sequences": dict.fromkeys(("lost", "duplicate", "reordered"), ranges)},
        )
        for trial in trials.trials
    ]
    sent = {"sent_realtime_ns": _column([1, 2, 3], "<u8"), "payload_bytes": _column([200] * 3, "<u2")}
    received = {"sequence": _column([0, 2], "<u4"), "received_realtime_ns": _column([5, 7], "<u8"), "omitted": 0}
    log = packet_log_parquet(sent, received)
    return replace(trials, trials=changed), {trial.key: {PACKETS: log} for trial in changed}


def _column(values: list[int], form: str) -> str:
    import base64

    return base64.b64encode(np.array(values, dtype=form).tobytes()).decode()


def _fragmented() -> tuple[Synthetic, Files]:
    run = _trials(_read(FRAGMENTED), blocks=1, metrics={"goodput_bps": 1e6, "loss_ratio": 0.0})
    links = [
        {
            "link": link.name,
            "packets": 2,
            "sizes_bytes": [1300, 218],
            "wire_bytes": 1594,
            "expected_packets": [20, 20],
            "expected_bytes": [15000, 15460],
            "counted_packets": 20 + index,
            "counted_bytes": 15460,
            "agrees": not index,
        }
        for index, link in enumerate(run.manifest.experiment.topologies[0].links)
    ]
    node = {"ipv4": {"cut": 10, "created": 20, "forwarded": 10}}
    fragments = {"nodes": {"n1": node}, "datagrams": 10, "delivered": 10, "known": False, "lost_first": 0}
    fragments |= {"links": links, "expected": {"n1": {"ipv4": {"cut": [10, 10]}}}, "agrees": False}
    evidence = evidence_from_json({"fragments": fragments})
    return replace(run, trials=[replace(trial, evidence=evidence) for trial in run.trials]), {}


def _path_mtu() -> tuple[Synthetic, Files]:
    run = _trials(_read(PATH_MTU), blocks=1, metrics={"pmtu_forward_bytes": 1400.0, "pmtu_reverse_bytes": 1400.0})
    ways = [path_mtu_results.REPORTED, path_mtu_results.HOLE]
    changed = [
        replace(trial, client={"forward": ways[index % 2]}, server={"reverse": ways[-index % 2]})
        for index, trial in enumerate(run.trials)
    ]
    return replace(run, trials=changed), {}


def _options() -> tuple[Synthetic, Files]:
    return _trials(_read(OPTIONS), 1, {"connect_p50_ns": 1e6}), {}


def _eyeballs() -> tuple[Synthetic, Files]:
    run = _trials(_read(EYEBALLS), blocks=2, metrics={"connect_p50_ns": 1e5, "transactions_rate_per_s": 1e3})
    evidence = {"silent": {"ipv4": ["n1-n2"]}, "families": {"ipv4": 3, "ipv6": 64}, "middle": 0, "segments": []}
    kept = evidence_from_json(evidence)
    return replace(run, trials=[replace(trial, evidence=kept) for trial in run.trials]), {}


def _events() -> tuple[Synthetic, Files]:
    run = _trials(_read(EVENTS), blocks=2, metrics={"goodput_bps": 9e6})
    event = {"link": "core", "forward": {"rate_bps": 5000000}, "due_ns": 2 * 10**9, "done_ns": 2 * 10**9 + 5}
    times = [float(500_000_000 * index) for index in range(1, 7)]
    series = {"forward_receiver": {"t_ns": times, "bytes": [5e5] * 6}}
    trials = [replace(trial, evidence=evidence_from_json({"events": [event]})) for trial in run.trials]
    return replace(run, trials=trials, series={trial.key: series for trial in trials}), {}


def _rfc() -> tuple[Synthetic, Files]:
    """A search for the throughput of one frame size, with a trial that the tester refused."""
    chosen, procedure = design(_read(DEVICE), "8219", ["throughput"], [512], quick=True)
    like = _trials(chosen, 3, {"packets_rate_pps": 1e4}).trials
    trials = []
    for index, item in enumerate(like):
        sent, arrived = {"sent": 1000}, {"unique": 1000 - index % 3}
        params = {**item.params, "rate_pps": 1000.0 * (1 + index), "duration_ns": 10**9}
        client = {"forward_sender": sent, "reverse_receiver": arrived}
        server = {"forward_receiver": arrived, "reverse_sender": sent}
        trials.append(replace(item, params=params, client=client, server=server))
    refused = Reason(kind=ReasonKind.TESTER_LIMITED, text="why")
    trials[-1] = replace(trials[-1], status="invalid", reasons=[refused])
    return replace(synthetic.replace_run(_trials(chosen, 1, {}), procedure=procedure), trials=trials), {}


def _measurement() -> tuple[Synthetic, Files]:
    run = _short()
    chosen = replace(run.manifest.experiment, topologies=())
    proof = Evidence(proved=False, client="192.0.2.1", server="192.0.2.2")
    trials = [replace(trial, evidence=proof, histograms={}) for trial in run.trials]
    return replace(synthetic.replace_run(run, experiment=chosen), trials=trials), {}


RUNS: Mapping[str, Callable[[], tuple[Synthetic, Files]]] = {
    "native": _native,
    "tunnels": _tunnels,
    "running": _running,
    "guests": _guests,
    "old": _old,
    "emulated": _emulated,
    "fragmented": _fragmented,
    "path-mtu": _path_mtu,
    "eyeballs": _eyeballs,
    "events": _events,
    "options": _options,
    "rfc": _rfc,
    "measurement": _measurement,
}


def _read(text: str) -> Experiment:
    return read_experiment(parse_yaml(text, "stock.yaml"), MECHANISMS)


def _trials(chosen: Experiment, blocks: int, metrics: Mapping[str, float]) -> Synthetic:
    """Trials of all combinations and paths, with these metrics."""
    trials = []
    for block in range(1, blocks + 1):
        for combination in chosen.combinations:
            for path in chosen.paths:
                planned = PlannedTrial(block=block, combination=combination.name, path=path.name)
                trials.append(
                    TrialRecord(
                        key=planned.key,
                        sequence=len(trials) + 1,
                        block=block,
                        combination=combination.name,
                        path=path.name,
                        mechanism=path.mechanism,
                        engine=path.engine or "kernel",
                        workload=combination.workload.kind,
                        params=dict(combination.workload.params),
                        levels=combination.levels,
                        status="ok",
                        started_realtime_ns=synthetic.STARTED_NS,
                        elapsed_ns=10**9,
                        metrics={name: value * (1 + 0.001 * len(trials)) for name, value in metrics.items()},
                        theory=dict(list(metrics.items())[:1]),
                    )
                )
    like = synthetic.small(blocks=1).manifest
    manifest = replace(like, experiment=chosen, run=chosen.name, install_ns={})
    return Synthetic(manifest=manifest, trials=trials)
