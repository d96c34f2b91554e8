"""Null comparisons and changed ones on real networks: how many differences there are is not asserted, for that depends
on the machine."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from lab.conftest import SixbenchCommand

from sixbench.agent import AgentHub, find_agent
from sixbench.bench.environment import gather
from sixbench.calibration.null.design import PlannedComparison, plan_comparisons
from sixbench.calibration.null.judge import judge
from sixbench.calibration.null.measure import measure
from sixbench.model.errors import Interrupted
from sixbench.model.observer import Observer
from sixbench.model.trial import TrialRecord
from sixbench.store import Environment, Run


class Watching(Observer):
    """Notes what is told, and stops a run after so many trials."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.trials: list[TrialRecord] = []
        self.progress_calls: list[tuple[int, int]] = []
        self._stop_after = stop_after

    def progress(self, done: int, expected: int, remaining_ns: int, decided: int | None = None) -> None:
        self.progress_calls.append((done, expected))

    def trial_begins(self, *trial: object) -> None:
        pass

    def trial_ended(self, record: TrialRecord) -> None:
        self.trials.append(record)
        if len(self.trials) == self._stop_after:
            raise KeyboardInterrupt


@pytest.fixture
def environment() -> Environment:
    return gather(find_agent(), {}, in_user_namespace=False)


def _planned() -> list[PlannedComparison]:
    """Without repeats, so that it is known how many trials there are."""
    wanted = ("tcp-rr", "ipv4", False), ("udp-flood", "ipv6", True)
    return [
        replace(plan_comparison, experiment=replace(plan_comparison.experiment, repeats=0))
        for plan_comparison in plan_comparisons(8, 4)
        if (plan_comparison.kind.workload, plan_comparison.kind.between, plan_comparison.kind.is_changed) in wanted
    ]


def test_comparisons_that_were_interrupted_go_on_where_they_were(
    tmp_path: Path, hub: AgentHub, environment: Environment
) -> None:
    planned = _planned()
    first, second, third = Watching(stop_after=13), Watching(), Watching()
    with pytest.raises(Interrupted, match="stopped after 1 of 2 comparisons"):
        measure(planned, tmp_path, hub, environment, first, [])
    runs = measure(planned, tmp_path, hub, environment, second, [])
    assert [len(run.trials) for run in runs] == [10, 10]
    assert len(second.trials) == 7
    assert first.progress_calls[0] == (0, 20)
    assert second.progress_calls[-1] == (19, 20)
    assert {trial.started_realtime_ns for run in runs for trial in run.trials} == {
        trial.started_realtime_ns for trial in [*first.trials, *second.trials]
    }
    again = measure(planned, tmp_path, hub, environment, third, [])
    assert not third.trials
    assert [run.trials for run in again] == [run.trials for run in runs]
    _see_that_only_the_changed_path_is_slower(planned, runs)


def _see_that_only_the_changed_path_is_slower(planned: list[PlannedComparison], runs: list[Run]) -> None:
    result = judge(planned, runs)
    assert result.trials == 20
    assert len(result.changed) == 1
    by_path = {
        trial.path: trial.theory["goodput_bps"]
        for planned_pair, run in zip(planned, runs, strict=True)
        if planned_pair.kind.is_changed
        for trial in run.trials
    }
    assert by_path["ipv6-slower"] == pytest.approx(0.97 * by_path["ipv6"])
    assert all(
        run.manifest.bypass
        for planned_pair, run in zip(planned, runs, strict=True)
        if planned_pair.kind.workload == "tcp-rr"
    )


def test_the_command_prints_and_keeps_what_was_found(tmp_path: Path, sixbench: SixbenchCommand) -> None:
    fields = {"env": os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}}
    done = sixbench(
        "calibrate", "--null", "--comparisons", "1", "--out", str(tmp_path / "null"), "--json", "-q", **fields
    )
    assert done.returncode in (0, 1), done.stderr
    printed = json.loads(done.stdout)
    assert printed == json.loads((tmp_path / "null" / "null.json").read_text())
    assert {comparison["name"] for comparison in printed["comparisons"]} == {
        "null-0001-tcp-stream-ipv4",
        "changed-0001-tcp-stream-ipv4",
    }
    assert "<svg" in (tmp_path / "null" / "report.html").read_text() or not printed["false_differences"]["of"]
    [kept] = (tmp_path / "state" / "sixbench").iterdir()
    assert json.loads(kept.read_text())["false_alarms"]["comparisons"] == printed["false_differences"]["of"]
    other = sixbench("calibrate", "--null", "--out", str(tmp_path / "null" / "null-0001-tcp-stream-ipv4"))
    assert other.returncode == 2
    assert "holds another run" in other.stderr
