"""A monitor: why an occurrence is not complete, and that each series is one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic

from sixbench.analysis.monitoring import follow
from sixbench.cli.repeating import Repeating
from sixbench.lab import own_process
from sixbench.model.monitoring import FalseAlarms, FollowedSeries, Monitor, Occurrence, SeriesValue, Settings
from sixbench.report.monitoring import render
from sixbench.report.series_words import about, path_text
from sixbench.store import MonitorWriter, read_monitor

pytestmark = pytest.mark.computes

RUN = synthetic.small(blocks=3)
SETTINGS = Settings(
    command=("run", "small"),
    baseline=3,
    false_alarms=FalseAlarms(per_look=0.05),
    keep_bytes=2**30,
    created_realtime_ns=10**18,
)
HOUR_NS = 3600 * 10**9


def warned(words: list[str], quiet: bool) -> tuple[int, str]:
    """Stands for a command that ends in part, and whose last message is a mere warning."""
    RUN.write(Path(words[words.index("--out") + 1]))
    return 4, "another run of sixbench goes on beside this one"


def test_the_reason_of_an_occurrence_in_part_is_that_of_its_trials(tmp_path: Path) -> None:
    with MonitorWriter.open(tmp_path / "m") as writer:
        done = Repeating(writer, SETTINGS, quiet=True, call=warned).begin_and_occur()
    failed = [trial for trial in RUN.trials if trial.status == "failed"]
    assert done.state == "partly"
    assert (
        done.reason
        == f"{len(failed)} of {len(RUN.trials)} trials failed: agent h2: peer-lost: the peer fell silent for 5 s"
    )


def test_the_reason_of_an_occurrence_without_a_valid_trial_is_that_of_most_trials(tmp_path: Path) -> None:
    spoilt = synthetic.no_valid_trial()

    def call(words: list[str], quiet: bool) -> tuple[int, str]:
        spoilt.write(Path(words[words.index("--out") + 1]))
        return 4, "a warning"

    with MonitorWriter.open(tmp_path / "m") as writer:
        done = Repeating(writer, SETTINGS, quiet=True, call=call).begin_and_occur()
    total = len(spoilt.trials)
    assert done.state == "failed"
    assert done.reason is not None
    assert done.reason.startswith(f"{total} of {total} trials failed or were invalid: agent h2 died: exit code 137")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "import sys; print('sixbench: a warning', file=sys.stderr); "
            "sys.exit(print('x.yaml:2: a: unknown\\nx.yaml:3: b: unknown', file=sys.stderr) or 2)",
            (2, "x.yaml:2: a: unknown\nx.yaml:3: b: unknown"),
        ),
        (
            "import sys; sys.stderr.write('sixbench: a warning\\nb001: failed\\nsixbench: no room\\n  on it\\n'); "
            "sys.exit(3)",
            (3, "no room\n  on it"),
        ),
        (
            "import os, sys; print('sixbench: a warning', file=sys.stderr, flush=True); os.kill(os.getpid(), 9)",
            (-9, "signal 9 ended it (Killed)"),
        ),
    ],
)
def test_the_message_of_a_command_is_the_error_that_it_ended_with(
    program: str, message: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_process, "own_command", lambda *_: [sys.executable, "-c", program])
    assert own_process.call([], True) == message


def test_a_value_of_zero_makes_no_second_series_of_a_comparison(tmp_path: Path) -> None:
    """The analysis compares by difference where a trial has the value 0, so a comparison was a series of each kind. Its
    row was there twice, and one of both never had a whole baseline."""
    zero = {trial.key for trial in RUN.trials if trial.path == "ipv6" and trial.block == 1}
    trials = [
        replace(trial, metrics=dict.fromkeys(trial.metrics, 0.0)) if trial.key in zero else trial
        for trial in RUN.trials
    ]
    ends = iter([RUN, RUN, replace(RUN, trials=trials), RUN, RUN])

    def call(words: list[str], quiet: bool) -> tuple[int, str]:
        next(ends).write(Path(words[words.index("--out") + 1]))
        return 0, ""

    with MonitorWriter.open(tmp_path / "m") as writer:
        repeating = Repeating(writer, SETTINGS, quiet=True, call=call)
        for _ in range(5):
            repeating.begin_and_occur()
    monitor = read_monitor(tmp_path / "m")
    followed = follow(monitor.occurrences, monitor.settings)
    rows = [
        (about(followed_series), followed_series.series.metric, path_text(followed_series))
        for followed_series in followed
    ]
    assert len(rows) == len(set(rows))
    assert {len(followed_series.points) for followed_series in followed} == {5}
    assert all(followed_series.band is not None for followed_series in followed)


def series_of(metric: str, path: str, combination: str = "c0001") -> FollowedSeries:
    return FollowedSeries(
        workload="ping", metric=metric, unit="ns", scale="difference", combination=combination, path=path
    )


def occurrence_of(number: int, *series: FollowedSeries) -> Occurrence:
    return Occurrence(
        number=number,
        state="complete",
        started_realtime_ns=number * HOUR_NS,
        ended_realtime_ns=number * HOUR_NS,
        values=tuple(SeriesValue(series=values, value=100.0 + number % 2, n=1) for values in series),
    )


def test_a_series_goes_on_where_an_edited_experiment_has_another_name_for_its_combination() -> None:
    before, after = series_of("rtt_p50", "ipv4"), series_of("rtt_p50", "ipv4", "c0002")
    followed = follow([occurrence_of(1, before), occurrence_of(2, after)], SETTINGS)
    assert [len(followed_series.points) for followed_series in followed] == [2]


def test_all_sentences_count_the_same_series() -> None:
    known, late = series_of("rtt_p50", "ipv4"), series_of("rtt_p50", "ipv6")
    occurrences = [occurrence_of(number, known, *([late] if number > 3 else [])) for number in range(1, 6)]
    text = render("m", Monitor(settings=SETTINGS, occurrences=tuple(occurrences)), follow(occurrences, SETTINGS))
    assert "in all 2 series together" in text
    assert "No change found in 2 series. 1 of them has no complete baseline yet." in text
