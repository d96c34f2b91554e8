"""tayga in the place of our translator: the same networks, the same evidence, the same path MTUs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from lab.experiments import run, wrong

from sixbench.agent import AgentHub

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2], mtu: {mtu}}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths:
  six: {{siit: {{nodes: [r1], engine: {engine}}}}}
  four: {{siit: {{nodes: [r2], client: ipv4, engine: {engine}}}}}
  over-six: {{siit: {{nodes: [r1, r2], client: ipv4, prefix: "2001:db8:100::/40", engine: {engine}}}}}
  over-four: {{siit: {{nodes: [r1, r2], engine: {engine}}}}}
workloads: {workloads}
blocks: 1
"""
WORKLOADS = """
  - ping: {count: 10, interval: 2ms}
  - udp-rr: {message: 200B, duration: 100ms, warmup: 0s}
  - tcp-rr: {duration: 100ms, warmup: 0s}
  - tcp-stream: {duration: 200ms, warmup: 50ms}
"""


@pytest.fixture(autouse=True)
def _tayga() -> None:
    if shutil.which("tayga", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        if os.environ.get("SIXBENCH_EXPECT_PEERS") == "1":
            pytest.fail("tayga is not installed")
        pytest.skip("tayga is not installed")


def test_every_workload_goes_through_tayga_with_evidence(hub: AgentHub, tmp_path: Path) -> None:
    text = EXPERIMENT.format(mtu=1500, engine="tayga", workloads=WORKLOADS)
    finished = run(hub, text, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert {(trial.path, trial.engine) for trial in finished.trials} == {
        (path, "tayga") for path in ("six", "four", "over-six", "over-four")
    }
    for trial in finished.trials:
        for segment in trial.evidence.segments or ():
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)


def test_tayga_and_ours_tell_the_same_path_mtus(hub: AgentHub, tmp_path: Path) -> None:
    found = {}
    for engine in ("tayga", "user"):
        text = EXPERIMENT.format(mtu=1300, engine=engine, workloads="[pmtu]")
        finished = run(hub, text, tmp_path / engine)
        assert wrong(finished.trials) == []
        for trial in finished.trials:
            record = json.loads((finished.directory / "trials" / trial.key / "trial.json").read_text())
            sides = (record["client"]["forward"], record["server"]["reverse"])
            told = [(side["kernel_bytes"], side["probed_bytes"]) for side in sides]
            found.setdefault(trial.path, {})[engine] = told
    for path, by_engine in found.items():
        assert by_engine["tayga"] == by_engine["user"], path
