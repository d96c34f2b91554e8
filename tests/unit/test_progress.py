"""Progress of a run while it goes on: on a terminal, and as lines of a log."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from sixbench.bench.record import TrialTask, blank_record
from sixbench.cli.progress import ProgressDisplay
from sixbench.model.experiment import Experiment, PlannedTrial
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.trial import TrialRecord

pytestmark = pytest.mark.computes

TEXT = """\
experiment: small
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
paths: {ipv4: native4, ipv6: native6}
baseline: ipv4
aa: true
workloads: [{tcp-stream: {message: [1KiB, 64KiB]}}]
blocks: 5
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def experiment(read: Callable[[str], Experiment]) -> Experiment:
    return read(TEXT)


def planned(path: str, block: int = 1, combination: str = "c0001") -> PlannedTrial:
    return PlannedTrial(block=block, combination=combination, path=path)


def ended(experiment: Experiment, trial: PlannedTrial, goodput_bps: float | None) -> TrialRecord:
    combination = next(c for c in experiment.combinations if c.name == trial.combination)
    record = blank_record(TrialTask(experiment=experiment, combination=combination, planned=trial, sequence=1))
    if goodput_bps is None:
        return replace(
            record, status="invalid", reasons=[Reason(kind=ReasonKind.LINK_DOWN, text="a link lost its carrier")]
        )
    return replace(record, status="ok", metrics={"goodput_bps": goodput_bps})


def show_trial(
    progress: ProgressDisplay, experiment: Experiment, trial: PlannedTrial, goodput_bps: float | None
) -> None:
    combination = next(c for c in experiment.combinations if c.name == trial.combination)
    progress.progress(4, 30, 95 * 10**9)
    progress.trial_begins(experiment, combination, trial)
    progress.trial_ended(ended(experiment, trial, goodput_bps))


def test_a_log_has_the_trial_at_hand_the_last_value_and_how_many_were_not_valid(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    with ProgressDisplay(False, clock_s=clock) as progress:
        show_trial(progress, experiment, planned("ipv4"), 94.15e6)
        show_trial(progress, experiment, planned("ipv6"), None)
        clock.now_s += 20
        show_trial(progress, experiment, planned("ipv4-aa", combination="c0002"), 94.1e6)
    assert capsys.readouterr().err.splitlines() == [
        "4 of 30 trials, 1:35 left; now TCP bulk transfer, message 1 KiB, over ipv4, block 1 of 5",
        "TCP bulk transfer, message 1 KiB, over ipv6, block 1: invalid: a link lost its carrier",
        "4 of 30 trials, 1:35 left, 1 not valid so far; now TCP bulk transfer, message 64 KiB, over ipv4-aa (ipv4 once "
        "more), block 1 of 5; last goodput: 94.15 Mbit/s over ipv4",
    ]


def test_a_log_gets_few_lines(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with ProgressDisplay(False, clock_s=clock) as progress:
        for _ in range(3600):
            show_trial(progress, experiment, planned("ipv4"), 94.15e6)
            clock.now_s += 1
    lines = capsys.readouterr().err.splitlines()
    assert 60 < len(lines) < 80


def test_what_the_same_trial_gave_in_the_block_before(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = [ended(experiment, planned("ipv6", 1), 92.86e6), ended(experiment, planned("ipv4", 1), None)]
    with ProgressDisplay(False, earlier, clock_s=Clock()) as progress:
        show_trial(progress, experiment, planned("ipv6", 2), 92.9e6)
    [line] = capsys.readouterr().err.splitlines()
    assert "over ipv6, block 2 of 5; it was 92.86 Mbit/s in block 1;" in line
    assert "1 not valid so far" in line


def test_a_terminal_shows_the_same_below_a_bar(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with ProgressDisplay(False) as progress:
        show_trial(progress, experiment, planned("ipv4"), 94.15e6)
        show_trial(progress, experiment, planned("ipv6"), None)
        show_trial(progress, experiment, planned("ipv4", 2), 94.1e6)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "now TCP bulk transfer, message 1 KiB, over ipv4, block 2 of 5; it was 94.15 Mbit/s in block 1" in shown
    assert "last goodput: 94.15 Mbit/s over ipv4" in shown
    assert "4 of 30 trials, 1:35 left, 1 not valid so far" in shown
    assert "over ipv6, block 1: invalid: a link lost its carrier" in shown
    assert "c0001" not in shown


def test_nothing_is_shown_to_whom_wants_nothing(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay(True) as progress:
        show_trial(progress, experiment, planned("ipv6"), None)
    assert capsys.readouterr().err == ""


def test_in_an_emulated_machine_the_time_left_is_that_of_its_clock(
    experiment: Experiment, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIXBENCH_GUEST", "{}")
    with ProgressDisplay(quiet=False) as progress:
        progress.progress(4, 30, 95_000_000_000)
        progress.trial_begins(experiment, experiment.combinations[0], planned("ipv4"))
    assert "4 of 30 trials, 1:35 left by its clock; now" in capsys.readouterr().err
