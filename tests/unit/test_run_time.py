"""The time that a run has, and the blocks that fit into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sixbench.model.experiment import Blocks, Experiment
from sixbench.model.observer import Observer
from sixbench.model.trial import TrialRecord
from sixbench.run import runner, scheduler
from sixbench.run.record import Trial, blank_record
from sixbench.run.remaining import rest_of_run
from sixbench.run.scheduler import RunClock
from sixbench.run.trial import Outcome

TRIAL_NS = 10**9
TEXT = """\
experiment: timed
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
paths: {ipv4: native4, ipv6: native6}
workloads: [{tcp-stream: {message: [1KiB, 64KiB], duration: 960ms, warmup: 0s}}]
"""


class _Machine(Observer):
    """Trials that take a second each by a clock that nothing else moves."""

    def __init__(self, ratio: Callable[[str, int], float] = lambda combination, block: 1.0) -> None:
        self.now_ns = 0
        self.ratio = ratio
        self.told: list[tuple[int, int, int, int | None]] = []
        self.records: list[TrialRecord] = []

    def trial(self, trial: Trial, *_: Any, **__: Any) -> Outcome:
        self.now_ns += TRIAL_NS
        planned = trial.planned
        value = 1e8 * (self.ratio(planned.combination, planned.block) if planned.path == "ipv6" else 1.0)
        record = replace(blank_record(trial), status="ok", elapsed_ns=TRIAL_NS, metrics={"goodput_bps": value})
        return Outcome(record=record, series={})

    def progress(self, done: int, expected: int, remaining_ns: int, decided: int | None = None) -> None:
        self.told.append((done, expected, remaining_ns, decided))

    def trial_begins(self, *_: Any) -> None:
        pass

    def trial_ended(self, record: TrialRecord) -> None:
        self.records.append(record)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[TrialRecord]]:
    def _run(experiment: Experiment, machine: _Machine, done: list[TrialRecord] | None = None) -> list[TrialRecord]:
        monkeypatch.setattr(runner, "run_trial", machine.trial)
        monkeypatch.setattr(scheduler.time, "monotonic_ns", lambda: machine.now_ns)
        writer: Any = SimpleNamespace(
            manifest=SimpleNamespace(bypass=(), capture=False),
            add_trial=lambda *_: None,
            directory=".",
            identity=(0, 0),
        )
        laboratories: Any = SimpleNamespace(get=lambda *_: (None, None), build_ns=[])
        theory: Any = lambda *_: {}  # noqa: E731
        loop = scheduler._Loop(
            experiment,
            writer,
            done or [],
            laboratories,
            theory,
            machine,
            None,
            RunClock(done or [], lambda: machine.now_ns),
        )
        loop.run()
        return list(loop.by_key.values())

    return _run


Read = Callable[[str], Experiment]
Runner = Callable[..., list[TrialRecord]]


def _blocks(records: list[TrialRecord]) -> dict[str, int]:
    return {name: len({one.block for one in records if one.combination == name}) for name in ("c0001", "c0002")}


def test_no_block_begins_that_would_end_too_late(read: Read, run: Runner) -> None:
    machine = _Machine()
    records = run(read(TEXT + "blocks: {min: 2, max: 50, time: 21s}\n"), machine)
    assert machine.now_ns == 20 * TRIAL_NS
    assert _blocks(records) == {"c0001": 5, "c0002": 5}
    assert all(sum(o.block == one.block and o.combination == one.combination for o in records) == 2 for one in records)


def test_the_fewest_blocks_are_run_in_any_case(read: Read, run: Runner) -> None:
    assert _blocks(run(read(TEXT + "blocks: {min: 4, max: 50, time: 1s}\n"), _Machine())) == {"c0001": 4, "c0002": 4}


def test_the_time_goes_to_what_is_undecided(read: Read, run: Runner) -> None:
    def ratio(combination: str, block: int) -> float:
        return 0.5 + 0.0001 * (block % 3) if combination == "c0001" else 1.0 + 0.1 * (-1) ** (block // 2)

    machine = _Machine(ratio)
    records = run(read(TEXT + "blocks: {min: 5, max: 60, until: decided, time: 60s}\n"), machine)
    assert _blocks(records) == {"c0001": 5, "c0002": 25}
    assert machine.told[-1][3] == 1
    assert all(remaining_ns <= 61 * TRIAL_NS for _, _, remaining_ns, _ in machine.told)


def test_a_run_that_goes_on_counts_the_time_that_is_recorded(read: Read, run: Runner) -> None:
    experiment = read(TEXT + "blocks: {min: 2, max: 50, time: 21s}\n")
    whole = run(experiment, _Machine())
    again = run(experiment, _Machine(), whole[:13])
    assert {one.key for one in again} == {one.key for one in whole}


def test_what_is_expected_is_told(read: Read, run: Runner) -> None:
    machine = _Machine()
    run(read(TEXT + "blocks: {min: 2, max: 50, time: 40s}\n"), machine)
    assert machine.told[0][1:] == (40, 40 * TRIAL_NS, None)


@pytest.mark.parametrize(
    ("time_s", "until", "block", "trials"),
    [
        (None, None, 2, 3 + 20),  # all that are foreseen
        (10, None, 6, 10),  # as many as the time allows
        (100, None, 2, 100),  # the run goes on until its time is over
        (100, "decided", 2, 3 + 20),  # answers are there before
        (10, "decided", 6, 10),
        (2, None, 2, 3 + 3 * 4),  # the least number of blocks
        (2, None, 6, 3),  # what is left of the block
    ],
)
def test_what_is_left_of_a_run(time_s: int | None, until: Any, block: int, trials: int) -> None:
    blocks = Blocks(minimum=5, maximum=9, until=until, time_ns=None if time_s is None else time_s * 10**9)
    rest = rest_of_run(blocks, block, in_block=3, per_block=4, further=20, each_ns=1e9, elapsed_ns=0)
    assert rest.trials == trials
