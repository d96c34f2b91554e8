"""One-way delays between two hosts whose clocks are both set wrong and drift: the truth is within what is said."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from lab.host_machines import TWO, machines
from lab.wrong_clock import WrongClock

from sixbench.model.host import MOST_DRIFT_PPM
from sixbench.model.trial import TrialRecord
from sixbench.report.run_description import environment_properties
from sixbench.store import Run, read_run

EXPERIMENT = """
experiment: one-way
{hosts}
topology:
  nodes: {{client: {{kind: host, on: lab1}}, r: {{kind: router, on: lab2}}, server: {{kind: host, on: lab2}}}}
  links:
    - {{endpoints: [client, r], over: [left, left], rate: 20Mbit, reverse: {{rate: 2Mbit}}}}
    - {{endpoints: [r, server], delay: 10ms}}
paths: {{ipv4: native4, ipv6: native6}}
workloads:
  - udp-stream:
      {{packet-rate: 400pps, datagram: 500B, duration: 1s, direction: [forward, reverse, both], packet-log: true}}
  - voip: {{codec: g711, duration: 1s, packet-log: true}}
blocks: 1
repeats: 0
"""
EMULATED_NS = 10 * 10**6
DAY_S = 86_400
SECOND_NS = 10**9
SHARES = {"min": 0.0, "p50": 0.5, "p99": 0.99}


@pytest.fixture(scope="module")
def clocks() -> dict[str, WrongClock]:
    now_ns = time.time_ns()
    return {
        "lab1": WrongClock(ahead_ns=5 * SECOND_NS, fast_ppm=200, since_ns=now_ns, up_s=DAY_S),
        "lab2": WrongClock(ahead_ns=-3 * SECOND_NS, fast_ppm=-100, since_ns=now_ns, up_s=DAY_S),
    }


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, clocks: dict[str, WrongClock]) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("a machine with an sshd of its own takes root")
    with machines(tmp_path_factory.mktemp("one-way"), clocks=clocks) as hosts:
        path, out = hosts.scratch / "one-way.yaml", hosts.scratch / "out"
        path.write_text(EXPERIMENT.format(hosts=hosts.hosts()))
        done = hosts.run("run", path, "--out", out, "--quiet")
        assert done.returncode == 0, done.stderr
        yield out


@pytest.fixture(scope="module")
def run(out: Path) -> Run:
    return read_run(out)


def true_delays_ns(out: Path, trial: TrialRecord, clocks: dict[str, WrongClock]) -> np.ndarray:
    """All nodes are on one kernel, whose clock is known but for what the test has made of it."""
    is_reverse = trial.params.get("direction") == "reverse"
    name = "packets-reverse.parquet" if is_reverse else "packets.parquet"
    table = pq.read_table(out / "trials" / trial.key / name).to_pandas()
    table = table[table.status == "received"]
    sender, receiver = reversed(TWO) if is_reverse else TWO
    return right_ns(table.received_realtime_ns.to_numpy(), clocks[receiver]) - right_ns(
        table.sent_realtime_ns.to_numpy(), clocks[sender]
    )


def right_ns(shown_ns: np.ndarray, clock: WrongClock) -> np.ndarray:
    """Time by the kernel's clock, since the moment that the wrong clock has."""
    return (shown_ns - clock.since_ns - clock.ahead_ns) / (1 + clock.fast_ppm / 1e6)


def test_one_way_delays_are_told_and_the_truth_is_within_their_uncertainty(
    out: Path, run: Run, clocks: dict[str, WrongClock]
) -> None:
    assert len(run.trials) == 2 * 4
    for trial in run.trials:
        assert not any("whose clocks are not one" in note for note in trial.notes), trial.notes
        truth_ns = np.sort(true_delays_ns(out, trial, clocks))
        for name, share in SHARES.items():
            column = f"one_way_delay_{name}_ns"
            true_ns = truth_ns[max(0, int(np.ceil(share * len(truth_ns))) - 1)]
            assert abs(trial.metrics[column] - true_ns) <= trial.uncertainty[column], (trial.key, column)
        assert trial.metrics["one_way_delay_min_ns"] >= EMULATED_NS - trial.uncertainty["one_way_delay_min_ns"]
        # The delay that is emulated is beyond the cable, so it does not make the exchange wide.
        assert trial.uncertainty["one_way_delay_p50_ns"] < EMULATED_NS / 2


def test_the_exchange_holds_the_true_difference_and_drift(run: Run, clocks: dict[str, WrongClock]) -> None:
    for trial in run.trials:
        actual_clocks = trial.evidence.clocks
        assert actual_clocks is not None
        assert (actual_clocks.client, actual_clocks.server) == TWO
        for look in (actual_clocks.before, actual_clocks.after):
            now_ns = clocks["lab1"].since_ns + right_ns(np.array([look.client_ns]), clocks["lab1"])[0]
            ahead_ns = clocks["lab2"].error_ns(int(now_ns)) - clocks["lab1"].error_ns(int(now_ns))
            assert look.low_ns - 2 <= ahead_ns <= look.high_ns + 2
        true_ppm = 1e6 * ((1 - 100e-6) / (1 + 200e-6) - 1)
        assert actual_clocks.low_ppm <= true_ppm <= actual_clocks.high_ppm
        assert actual_clocks.high_ppm - actual_clocks.low_ppm < 2 * MOST_DRIFT_PPM


def test_calls_have_a_quality_and_how_uncertain_it_is(run: Run) -> None:
    [*calls] = [trial for trial in run.trials if trial.workload == "voip"]
    for trial in calls:
        assert 1 < trial.metrics["mos_cqe"] < 5
        assert 0 <= trial.uncertainty["mos_cqe"] < 0.1
        assert trial.metrics["mouth_to_ear_ns"] > 60e6 + EMULATED_NS - trial.uncertainty["mouth_to_ear_ns"]


def test_the_report_says_how_uncertain_they_are_and_that_the_sources_agree(run: Run) -> None:
    by_name = dict(environment_properties(run))
    assert by_name["One-way delays"].startswith("uncertain by ")
    assert "which agree" in by_name["Clocks of lab1 and lab2"]
    assert "by exchanges over the path of trials" in by_name["Clocks of lab1 and lab2"]
