"""Trials of the scheduler's own loop, by a clock that nothing else moves, without any network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sixbench.bench import runner, scheduler
from sixbench.bench.open_run import OpenRun
from sixbench.bench.record import TrialTask, blank_record
from sixbench.bench.scheduler import MeasuredTime
from sixbench.bench.trial import Outcome
from sixbench.model.experiment import Experiment, PlannedTrial
from sixbench.model.observer import Observer
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.trial import TrialRecord
from sixbench.store import nowhere

TRIAL_NS = 10**9
TEXT = """\
experiment: timed
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
paths: {ipv4: native4, ipv6: native6}
workloads: [{tcp-stream: {message: [1KiB, 64KiB], duration: 960ms, warmup: 0s}}]
"""

Wrong = Callable[[PlannedTrial], list[ReasonKind]]


class Machine(Observer):
    """Trials that take a second each.

    Args:
        ratio: of the goodput over IPv6 to that over IPv4, by combination and block.
        wrong: the reasons against a trial.
        ends_before: the number of the trial before which whoever runs it presses Ctrl-C.
    """

    def __init__(
        self,
        ratio: Callable[[str, int], float] = lambda combination, block: 1.0,
        wrong: Wrong = lambda planned: [],
        ends_before: int | None = None,
    ) -> None:
        self.now_ns = 0
        self.ratio = ratio
        self.wrong = wrong
        self.ends_before = ends_before
        self.progress_calls: list[tuple[int, int, int, int | None]] = []
        self.began: list[str] = []
        self.records: list[TrialRecord] = []

    def trial(self, trial: TrialTask, *_: Any, **__: Any) -> Outcome:
        if len(self.records) + 1 == self.ends_before:
            raise KeyboardInterrupt
        self.now_ns += TRIAL_NS
        planned = trial.planned
        value = 1e8 * (self.ratio(planned.combination, planned.block) if planned.path == "ipv6" else 1.0)
        reasons = [Reason(kind=kind, text=kind.value) for kind in self.wrong(planned)]
        record = replace(
            blank_record(trial),
            status="invalid" if reasons else "ok",
            reasons=reasons,
            elapsed_ns=TRIAL_NS,
            metrics={"goodput_bps": value},
        )
        return Outcome(record=record, series={})

    def progress(self, done: int, expected: int, remaining_ns: int, decided: int | None = None) -> None:
        self.progress_calls.append((done, expected, remaining_ns, decided))

    def trial_begins(self, experiment: Experiment, combination: Any, planned: PlannedTrial) -> None:
        self.began.append(planned.key)

    def trial_ended(self, record: TrialRecord) -> None:
        self.records.append(record)


def run_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, experiment: Experiment, done: list[TrialRecord]
) -> list[TrialRecord]:
    """All trials of a run that goes on after those that are done."""
    monkeypatch.setattr(runner, "run_trial", machine.trial)
    monkeypatch.setattr(scheduler.time, "monotonic_ns", lambda: machine.now_ns)
    writer: Any = SimpleNamespace(
        manifest=SimpleNamespace(bypass=(), capture=False, environment=nowhere()),
        add_trial=lambda *_: None,
        directory=".",
        identity=(0, 0),
    )
    laboratories: Any = SimpleNamespace(hub=None, get=lambda *_: (None, None), build_ns=[])
    theory: Any = lambda *_: {}  # noqa: E731
    hub: Any = None
    run = OpenRun(experiment=experiment, writer=writer, done=done, hub=hub, theory=theory)
    loop = scheduler._Loop(run, laboratories, machine, MeasuredTime(done, lambda: machine.now_ns))
    loop.run()
    return list(loop.by_key.values())
