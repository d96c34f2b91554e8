"""Flows of every traffic model over both families: what is sent is the same, and all of it is proved."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lab.experiments import TESTERS, read, run, wrong

from sixbench.agent import AgentHub
from sixbench.model.trial import TrialRecord

NETWORK = """
experiment: models
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1]}
    - {endpoints: [r1, h2], rate: 100Mbit}
paths: {ipv4: native4, ipv6: native6}
blocks: 1
workloads:
"""
MODELS = [
    "{gaps: {distribution: uniform, min: 1ms, max: 3ms}, sizes: {distribution: uniform, min: 32B, max: 1400B}}",
    "{gaps: exponential, packet-rate: 500pps, sizes: exponential, datagram: 300B}",
    "{gaps: {distribution: pareto, shape: 1.5}, rate: 2Mbit, sizes: {distribution: pareto, shape: 2}, datagram: 500B}",
    "{gaps: {distribution: normal, mean: 2ms, stdev: 300us}, sizes: {distribution: normal, mean: 700B, stdev: 90B}}",
    "{gaps: {distribution: gamma, shape: 0.5}, rate: 2Mbit, sizes: {distribution: gamma, mean: 400B, shape: 3}}",
    "{datagram: 172B, packet-rate: 500pps, on-off: {active: 30ms, silent: 20ms, distribution: exponential}}",
]


def trials(hub: AgentHub, directory: Path, workloads: list[str]) -> dict[str, dict[str, TrialRecord]]:
    """Trials by combination and path."""
    text = NETWORK + "".join(f"  - {workload}\n" for workload in workloads)
    done = run(hub, text, directory / "run")
    assert wrong(done.trials) == []
    trials: dict[str, dict[str, TrialRecord]] = {}
    for trial in done.trials:
        trials.setdefault(trial.combination, {})[trial.path] = trial
    return trials


def test_every_model_sends_the_same_over_both_families(hub: AgentHub, tmp_path: Path) -> None:
    given = [f"udp-stream: {model[:-1]}, count: 150, seed: {7 + index}}}" for index, model in enumerate(MODELS)]
    actual_trials = trials(hub, tmp_path, given)
    assert len(actual_trials) == len(MODELS)
    for pair in actual_trials.values():
        four, six = pair["ipv4"], pair["ipv6"]
        assert four.client["sent"] == six.client["sent"] == 150
        assert four.client["sent_bytes"] == six.client["sent_bytes"] > 0
        assert four.client["scheduled_ns"] == six.client["scheduled_ns"] > 0
        for trial in (four, six):
            assert (trial.server["unique"], trial.server["unique_bytes"]) == (150, trial.client["sent_bytes"])


def test_a_seed_is_the_blocks_unless_given(hub: AgentHub, tmp_path: Path) -> None:
    text = NETWORK.replace("blocks: 1", "blocks: 2\nseed: 40")
    text += "  - udp-stream: {datagram: 100B, packet-rate: 500pps, gaps: exponential, count: 60}\n"
    done = run(hub, text, tmp_path / "run")
    assert wrong(done.trials) == []
    seeds = {(trial.block, trial.path): trial.params["seed"] for trial in done.trials}
    assert seeds == {(1, "ipv4"): 41, (1, "ipv6"): 41, (2, "ipv4"): 42, (2, "ipv6"): 42}
    assert len({trial.client["scheduled_ns"] for trial in done.trials}) == 2


def test_a_capture_is_sent_again(hub: AgentHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packets = [(gap_ns, struct.pack("!BBH", 0x45, 0, 28 + size) + bytes(16)) for gap_ns, size in ((0, 99), (4, 700))]
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for gap_ms, data in packets:
        content += struct.pack("<IIII", 5, gap_ms * 1000, len(data), len(data)) + data
    (tmp_path / "calls.pcap").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    text = NETWORK + "  - udp-stream: {trace: calls.pcap, count: 21}\n"
    experiment = read(hub, text)
    assert (experiment.traces["calls.pcap"].packets, experiment.traces["calls.pcap"].duration_ns) == (2, 4_000_000)
    done = run(hub, text, tmp_path / "run")
    assert wrong(done.trials) == []
    for trial in done.trials:
        # The capture is as long as its mean gap, after which it begins again.
        assert (trial.client["sent_bytes"], trial.client["scheduled_ns"]) == (11 * 99 + 10 * 700, 20 * 4_000_000)


def test_a_call_has_a_quality(hub: AgentHub, tmp_path: Path) -> None:
    actual_trials = trials(hub, tmp_path, ["voip: {codec: [g711, g729], count: 20}", "voip: {vad: true, count: 20}"])
    assert len(actual_trials) == 3
    for pair in actual_trials.values():
        for trial in pair.values():
            if not any(reason.kind in TESTERS for reason in trial.reasons):
                assert 1 <= trial.metrics["mos_cqe"] <= 4.41
                assert trial.metrics["playout_loss_ratio"] >= trial.metrics["loss_ratio"]


def test_a_packet_log_says_what_became_of_each_datagram(hub: AgentHub, tmp_path: Path) -> None:
    text = NETWORK + "  - udp-stream: {datagram: 300B, rate: 1Mbit, sizes: exponential, count: 90, packet-log: true}\n"
    done = run(hub, text, tmp_path / "run")
    assert wrong(done.trials) == []
    for trial in done.trials:
        assert "packet_log" not in trial.client.keys() | trial.server.keys()
        rows = pq.read_table(done.directory / "trials" / trial.key / "packets.parquet").to_pylist()
        assert [row["sequence"] for row in rows] == list(range(90))
        assert sum(row["payload_bytes"] for row in rows) == trial.client["sent_bytes"]
        lost = [row["sequence"] for row in rows if row["status"] == "lost"]
        assert len(lost) == trial.server["lost_middle"] + trial.server["lost_tail"]
        delays_ns = [row["received_realtime_ns"] - row["sent_realtime_ns"] for row in rows if row["status"] != "lost"]
        assert min(delays_ns) == pytest.approx(trial.metrics["one_way_delay_min_ns"], rel=0.01)
