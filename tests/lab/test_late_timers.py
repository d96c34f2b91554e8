"""Timers of links' rates that run late: what the kernel tells of them is what the goodput lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from sixbench.bench.witnesses import timers as timer_witness
from sixbench.cli import main
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.trial import TrialRecord
from sixbench.report import html
from sixbench.store import read_run

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links: [{{endpoints: [h1, r1], rate: 200Mbit}}, {{endpoints: [r1, h2], rate: 100Mbit{burst}}}]
paths: {{ipv4: native4}}
workloads: [{workload}]
statistics: {{margin: {margin}}}
blocks: 2
repeats: {repeats}
"""


STREAM = "tcp-stream: {duration: 300ms, warmup: 200ms}"
PING = "ping: {count: 3, interval: 1ms}"


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the figures out of reports: drawing them takes longer than the runs."""
    monkeypatch.setattr(html, "drawings", lambda run, analysis: [])


def trials(directory: Path, workload: str, burst: str = "", margin: str = "1%", repeats: int = 0) -> list[TrialRecord]:
    file = directory / "experiment.yaml"
    file.write_text(EXPERIMENT.format(workload=workload, burst=burst, margin=margin, repeats=repeats))
    main(["run", str(file), "--out", str(directory / "run"), "--quiet"])
    records = list(read_run(directory / "run").trials)
    assert records
    return records


def test_the_timers_of_the_link_that_is_the_limit_are_seen(tmp_path: Path) -> None:
    for trial in trials(tmp_path, STREAM):
        timers = trial.evidence.timers["r1-h2"]["r1"]
        # A packet of 1538 bytes on the wire each 123 us: most of those that the sender's processor let it send waited
        # for a timer.
        assert timers.expired > 100
        assert timers.worst_ns > 0


def test_a_trial_is_invalid_whose_bucket_has_no_room_for_what_its_timer_is_late_for(tmp_path: Path) -> None:
    # With room for one frame, nearly all lateness is lost.
    for trial in trials(tmp_path, STREAM, burst=", burst: 1538B", margin="0.01%"):
        timers = trial.evidence.timers["r1-h2"]["r1"]
        assert timers.slack_ns == 24 * 80
        assert timers.late > 0.1 * timers.expired
        assert timers.lost_ns > 0
        assert trial.status == "invalid"
        assert "late-timers" in [reason.kind for reason in trial.reasons]


def test_a_trial_whose_timers_ran_late_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    late = Reason(kind=ReasonKind.LATE_TIMERS, text="late timers kept r1 from sending")
    monkeypatch.setattr(timer_witness, "judge_timers", lambda *_: ([], [late]))
    actual_trials = trials(tmp_path, PING, repeats=1)
    assert [trial.key for trial in actual_trials] == [
        "b001-c0001-ipv4",
        "b001-c0001-ipv4+1",
        "b002-c0001-ipv4",
        "b002-c0001-ipv4+1",
    ]
    assert all(trial.is_disturbed for trial in actual_trials)
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "run")]) == 0
    assert main(["report", str(tmp_path / "run")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "2 trials were repeated within the block because the machine was disturbed (late-timers in 4)" in text
    assert "2 repeats gave 0 valid trials" in text
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert len(read_run(tmp_path / "run").trials) == 4


def test_a_repeat_that_was_not_disturbed_takes_the_place_of_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Reason(kind=ReasonKind.LATE_TIMERS, text="late timers kept r1 from sending")
    judged = iter([[late], [late], [], []])
    monkeypatch.setattr(timer_witness, "judge_timers", lambda *_: ([], next(judged)))
    actual_trials = trials(tmp_path, PING, repeats=2)
    assert [(trial.key, trial.status) for trial in actual_trials] == [
        ("b001-c0001-ipv4", "invalid"),
        ("b001-c0001-ipv4+1", "invalid"),
        ("b001-c0001-ipv4+2", "ok"),
        ("b002-c0001-ipv4", "ok"),
    ]
    assert actual_trials[2].metrics["rtt_p50_ns"] > 0
    files = [{file.name for file in (tmp_path / "run" / "trials" / trial.key).iterdir()} for trial in actual_trials]
    assert all(file == files[0] for file in files)
