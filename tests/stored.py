"""Files that tests of the run directory write: an experiment, the manifest of its run, and the record of a trial."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sixbench.model.evidence import Evidence
from sixbench.model.evidence.packets import Segment
from sixbench.model.experiment import Experiment
from sixbench.model.trial import TrialRecord
from sixbench.store import Environment, Manifest

EXPERIMENT = """
experiment: store
factors: {sack: [true, false], lost: [0, 0.5%]}
topology:
  nodes: {h1: {kind: host, sysctl: {net.ipv4.tcp_sack: 1}}, h2: host}
  links: [{endpoints: [h1, h2], rate: [1Mbit, 10Mbit], loss: $lost, queue: 20ms}]
paths: {ipv4: native4, ipv6: native6}
aa: true
workloads: [{tcp-rr: {message: [64B, 1KiB], nodelay: $sack}}]
notes: [a note]
"""


def manifest_of(experiment: Experiment) -> Manifest:
    """That of a run of an experiment which has only begun."""
    return Manifest(
        run="r",
        experiment=experiment,
        environment=Environment(
            kernel="6.1", machine="x86_64", cpu="a CPU", distribution="an OS", cores=2, memory_bytes=2**33, versions={}
        ),
        state="running",
        started_realtime_ns=1_760_000_000_000_000_001,
        command=["sixbench", "run", "é"],
    )


def bare_record(workload: str, **fields: Any) -> TrialRecord:
    """The record of a good trial that has nothing but these fields."""
    base = TrialRecord(
        key="b001-c0001-ipv4",
        sequence=1,
        block=1,
        combination="c0001",
        path="ipv4",
        mechanism="native4",
        engine="kernel",
        workload=workload,
        params={},
        levels={},
        status="ok",
        started_realtime_ns=0,
        elapsed_ns=0,
    )
    return replace(base, **fields)


def record(key: str = "b001-c0001-ipv4", **changes: Any) -> TrialRecord:
    """The record of a trial that was good, with some of its fields changed."""
    base = bare_record(
        "tcp-rr",
        key=key,
        params={"message_bytes": 64, "nodelay": True, "congestion": "cubic"},
        levels={"link_loss_ratio": 0.005, "nodelay": True},
        started_realtime_ns=1_760_000_000_000_000_001,
        elapsed_ns=10**18 + 1,
        metrics={"rtt_p50_ns": 0.1 + 0.2},
        histograms={"rtt": {"buckets": [[1, 2]], "unit": "ns"}},
        evidence=Evidence(segments=(Segment(link="h1-h2"),)),
    )
    return replace(base, **changes)
