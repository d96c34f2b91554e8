"""Hosts one of whose clocks is set wrong and drifts: what is told of two clocks is no error of theirs, and the rest is
right."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.host_machines import TWO, machines
from lab.wrong_clock import WrongClock

from sixbench.report.hosts import drift_ppm
from sixbench.store import read_run

EXPERIMENT = """
experiment: clocks
{hosts}
topology:
  nodes: {{client: {{kind: host, on: lab1}}, server: {{kind: host, on: lab2}}}}
  links: [{{endpoints: [client, server], over: [left, left]}}]
paths: {{ipv4: native4, ipv6: native6}}
workloads:
  - ping: {{count: 100, interval: 2ms}}
  - udp-stream: {{packet-rate: 1000pps, datagram: 500B, duration: 2s, direction: [forward, reverse, both]}}
  - voip: {{codec: g711, duration: 2s}}
  - tcp-rr: {{message: 1B, duration: 300ms}}
blocks: 1
repeats: 0
"""
AHEAD_S, FAST_PPM = 5, 200
DAY_S = 86_400
OF_ONE_CLOCK = ("one_way_delay", "mouth_to_ear", "r_factor", "mos_cqe", "pdv", "playout_loss")
SECOND_NS = 10**9


@pytest.fixture(scope="module")
def clock() -> WrongClock:
    return WrongClock(ahead_ns=AHEAD_S * SECOND_NS, fast_ppm=FAST_PPM, since_ns=time.time_ns(), up_s=DAY_S)


@pytest.fixture(scope="module", params=TWO)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, clock: WrongClock) -> Iterator[Path]:
    """A run in which one host has the wrong clock: the one of the client, then that of the server."""
    if os.geteuid() != 0:
        pytest.skip("a machine with an sshd of its own takes root")
    with machines(tmp_path_factory.mktemp("clocks"), clocks={request.param: clock}) as hosts:
        path, out = hosts.scratch / "clocks.yaml", hosts.scratch / request.param
        path.write_text(EXPERIMENT.format(hosts=hosts.hosts()))
        done = hosts.run("run", path, "--out", out, "--quiet")
        assert done.returncode == 0, done.stderr
        yield out


@pytest.fixture(scope="module")
def trials(run: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(run.glob("trials/*/trial.json"))]


def test_no_trial_takes_it_for_a_step_of_the_clock(trials: list[dict[str, Any]]) -> None:
    assert len(trials) == 2 * 6
    spoilt = {reason["kind"] for trial in trials for reason in trial["reasons"]}
    assert spoilt <= {"late-timers", "tester-limited"}  # what a busy machine does


def test_what_needs_one_clock_is_told_with_its_uncertainty_or_not_at_all(trials: list[dict[str, Any]]) -> None:
    for trial in trials:
        metrics = [name for name in trial["metrics"] if name.startswith(OF_ONE_CLOCK)]
        assert set(metrics) == set(trial.get("uncertainty", {})), trial["key"]
        if trial["workload"] in ("udp-stream", "voip"):
            assert metrics or "so short" in str(trial["notes"]), trial["key"]
        for name in metrics:
            assert trial["metrics"][name] < SECOND_NS, (trial["key"], name)
            if name.startswith("one_way_delay"):
                assert trial["metrics"][name] > trial["uncertainty"][name], (trial["key"], name)


def test_what_one_machine_has_timed_is_right(trials: list[dict[str, Any]]) -> None:
    """An error of 5 s is far from all of these."""
    for trial in trials:
        metrics = trial["metrics"]
        assert all(0 < metrics[name] < SECOND_NS for name in metrics if name.startswith("rtt_")), trial["key"]
        # Of neighbours in a flow of 1000 datagrams/s, the clock adds 200 ns to the difference.
        assert all(metrics[name] < SECOND_NS for name in metrics if name.startswith(("ipdv", "jitter"))), trial["key"]
        if trial["workload"] == "udp-stream":
            assert metrics["goodput_bps"] == pytest.approx(1000 * 500 * 8, rel=0.05), trial["key"]
            assert metrics["jitter_rfc3550_ns"] > 0


def test_the_report_tells_how_wrong_the_clock_is(run: Path, clock: WrongClock) -> None:
    hosts = read_run(run).manifest.environment.hosts
    wrong, right = hosts[run.name], hosts[next(name for name in TWO if name != run.name)]
    drifts_ns = FAST_PPM * SECOND_NS // 10**6  # in a reading, which takes no second
    for reading in wrong.clock:
        assert reading.low_ns - drifts_ns <= clock.error_ns(reading.realtime_ns) <= reading.high_ns + drifts_ns
    low_ppm, high_ppm = drift_ppm(wrong.clock[0], wrong.clock[-1])
    assert low_ppm <= FAST_PPM <= high_ppm
    assert high_ppm - low_ppm < FAST_PPM
    assert all(reading.low_ns <= 0 <= reading.high_ns for reading in right.clock)
