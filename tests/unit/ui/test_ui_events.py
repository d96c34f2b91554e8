"""The events of a log as the page gets them: values that nobody would see are skipped, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import synthetic
from recorded_events import tell_all, tell_within

from sixbench.model.experiment import PlannedTrial
from sixbench.model.files import open_regular
from sixbench.model.trial import TrialRecord
from sixbench.store import EventLog
from sixbench.ui import events
from sixbench.ui.events import LogReader, without_old_values

VALUES = ("values", "sender-values")
Numbered = list[tuple[int, dict[str, Any]]]


@pytest.fixture(params=[2**20, 700, 64], ids=["one-part", "many-parts", "parts-of-a-line"])
def _parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of the parts in which a log is read."""
    monkeypatch.setattr(events, "CHUNK_BYTES", request.param)


@pytest.fixture
def readers() -> Iterator[list[LogReader]]:
    readers: list[LogReader] = []
    yield readers
    for reader in readers:
        reader.close()


def opened(file: Path, readers: list[LogReader]) -> LogReader:
    readers.append(LogReader(open_regular(file)))
    return readers[-1]


def rest(reader: LogReader) -> Numbered:
    """The events that a reader has not given yet."""
    more = reader.more()
    while reader.has_more:
        more += reader.more()
    return more


def written(file: Path) -> Numbered:
    """All events of a log with the numbers of their lines."""
    return [(number, json.loads(line)) for number, line in enumerate(file.read_text().splitlines(), start=1)]


def tell(file: Path, run: synthetic.Synthetic, trials: Sequence[TrialRecord], *, ended: int) -> None:
    """Trials that began one after the other with their values; so many of them have ended."""
    combinations = {combination.name: combination for combination in run.manifest.experiment.combinations}
    with EventLog(file) as log:
        log.planned(run.manifest.experiment, "runs/small", 0)
        for number, record in enumerate(trials):
            planned = PlannedTrial(block=record.block, combination=record.combination, path=record.path)
            log.trial_begins(run.manifest.experiment, combinations[record.combination], planned)
            tell_within(log, record)
            if number < ended:
                log.trial_ended(record)


def values_of(result: Numbered) -> list[str]:
    return [event["key"] for _, event in result if event["event"] in VALUES]


@pytest.mark.usefixtures("_parts")
def test_values_of_the_trial_under_way_are_all_there_and_of_earlier_ones_none(
    tmp_path: Path, readers: list[LogReader]
) -> None:
    run = synthetic.small()
    tell(tmp_path / "log", run, run.trials[:5], ended=4)
    remaining_events = rest(opened(tmp_path / "log", readers))
    last = run.trials[4].key
    assert remaining_events == [
        (number, event)
        for number, event in written(tmp_path / "log")
        if event["event"] not in VALUES or event["key"] == last
    ]
    assert len(values_of(remaining_events)) == 24


@pytest.mark.usefixtures("_parts")
def test_every_other_event_is_there_with_the_number_of_its_line(tmp_path: Path, readers: list[LogReader]) -> None:
    with EventLog(tmp_path / "log") as log:
        tell_all(log, synthetic.small())
    with (tmp_path / "log").open("ab") as file:
        file.write(b'nonsense\n{"event": "values"}\n\xff\n' + b"[" * 5000 + b"\n")
    with EventLog(tmp_path / "log") as log:
        log.block_ended(2)
    reader = opened(tmp_path / "log", readers)
    lines = (tmp_path / "log").read_bytes().splitlines()
    remaining_events = rest(reader)
    assert remaining_events == [(number, json.loads(lines[number - 1])) for number, _ in remaining_events]
    assert [number for number, _ in remaining_events] == [*range(1, len(lines) - 4), len(lines)]
    assert reader.number == len(lines)


@pytest.mark.usefixtures("_parts")
def test_what_is_appended_later_is_told_and_ends_values_of_the_trial_before(
    tmp_path: Path, readers: list[LogReader]
) -> None:
    run = synthetic.small()
    tell(tmp_path / "log", run, run.trials[:1], ended=0)
    reader = opened(tmp_path / "log", readers)
    assert set(values_of(rest(reader))) == {run.trials[0].key}
    with (tmp_path / "log").open("a") as log:
        log.write('{"event": "block-do')
    assert rest(reader) == []
    with (tmp_path / "log").open("a") as log:
        log.write('ne", "at_realtime_ns": 5, "block": 1}\n')
    assert [event["event"] for _, event in rest(reader)] == ["block-done"]
    with EventLog(tmp_path / "log") as more:
        tell_within(more, run.trials[0])
    before = written(tmp_path / "log")
    tell(tmp_path / "log", run, run.trials[1:2], ended=0)
    assert set(values_of(without_old_values(rest(reader)))) >= {run.trials[1].key}
    assert reader.number == len(before) + 1 + 1 + 24


def test_of_a_trial_that_has_lasted_long_the_newest_values_are_told(
    tmp_path: Path, readers: list[LogReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = synthetic.small()
    tell(tmp_path / "log", run, run.trials[:2], ended=1)
    with EventLog(tmp_path / "log") as log:
        for _ in range(5):
            tell_within(log, run.trials[1])
    monkeypatch.setattr(events, "RECENT_BYTES", 1000)
    remaining_events = rest(opened(tmp_path / "log", readers))
    whole = written(tmp_path / "log")
    lines = (tmp_path / "log").read_bytes().splitlines(keepends=True)
    recent = [
        number
        for number in range(1, len(lines) + 1)
        if sum(map(len, lines[number - 1 :])) - 1000 < len(lines[number - 1])
    ]
    assert 3 < len(recent) < 24
    assert remaining_events == [item for item in whole if item[1]["event"] not in VALUES or item[0] in recent]


def test_old_values_are_skipped_in_whatever_order_a_line_has_its_keys(tmp_path: Path, readers: list[LogReader]) -> None:
    run = synthetic.small()
    tell(tmp_path / "log", run, run.trials[:2], ended=1)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    turned = [json.dumps(dict(reversed(line.items())), separators=(",", ":")) for line in lines]
    (tmp_path / "turned").write_text("".join(f"{line}\n" for line in turned))
    assert rest(opened(tmp_path / "turned", readers)) == rest(opened(tmp_path / "log", readers))


@pytest.mark.usefixtures("_parts")
@pytest.mark.parametrize("place", [0, 17, 50, 99])
def test_an_event_among_many_old_values_is_there_with_its_number(
    tmp_path: Path, readers: list[LogReader], place: int
) -> None:
    """A line that begins like values, and one with its keys in another order, are no such event."""
    run = synthetic.small()
    tell(tmp_path / "log", run, run.trials[:1], ended=0)
    lines = [line for line in (tmp_path / "log").read_text().splitlines() if json.loads(line)["event"] in VALUES]
    many = [lines[number % len(lines)] for number in range(100)]
    other = json.dumps({"event": "block-done", "at_realtime_ns": 5, "block": 1})
    many[(place + 50) % 100] = json.dumps(dict(reversed(json.loads(lines[0]).items())))
    many.insert(place, other)
    last = json.dumps({"event": "trial-started", "at_realtime_ns": 6})  # without its key, so no event
    (tmp_path / "old").write_text("".join(f"{line}\n" for line in [*many, last]))
    reader = opened(tmp_path / "old", readers)
    assert rest(reader) == [(place + 1, json.loads(other))]
    assert reader.number == 102


def test_a_text_that_looks_like_an_event_hides_no_values(tmp_path: Path, readers: list[LogReader]) -> None:
    run = synthetic.small()
    tell(tmp_path / "log", run, run.trials[:1], ended=0)
    with EventLog(tmp_path / "log") as log:
        log.report_written('{"event": "trial-started", "key": "x"}')
    assert len(values_of(rest(opened(tmp_path / "log", readers)))) == 24


def test_a_log_without_events_in_many_parts_is_read_on(
    tmp_path: Path, readers: list[LogReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client hears of the server meanwhile, and of the event behind them."""
    monkeypatch.setattr(events, "CHUNK_BYTES", 64)
    (tmp_path / "log").write_text("nonsense\n" * 1000 + '{"event": "block-done", "at_realtime_ns": 5, "block": 1}\n')
    reader = opened(tmp_path / "log", readers)
    assert reader.more() == []
    assert reader.has_more
    assert [number for number, _ in rest(reader)] == [1001]
