"""The log of a run's events: each line has the form that is documented, and no failure of the file hurts a run."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from recorded_events import tell_all

from sixbench.analysis.stopping import rules_met
from sixbench.cli.event_logs import event_log
from sixbench.model.errors import UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.observer import Arrived, Observer, Observers
from sixbench.model.run_events import RUN_EVENTS, check_event
from sixbench.store import EventLog

pytestmark = pytest.mark.computes

PAGE = Path(__file__).parents[2] / "docs/run-events.md"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_event_has_its_form(tmp_path: Path) -> None:
    run = synthetic.small()
    with EventLog(tmp_path / "events") as log:
        tell_all(Observers(log), run)
    written = lines(tmp_path / "events")
    assert [check_event(event) for event in written] == written
    assert {event["event"] for event in written} == {
        run_event.model_fields["event"].annotation.__args__[0] for run_event in RUN_EVENTS
    }  # type: ignore[union-attr]
    [invalid] = [event for event in written if event.get("status") == "invalid"]
    assert invalid["reasons"][0]["text"].startswith("the machine's CPU was busy")
    [failed] = [event for event in written if event.get("status") == "failed"]
    assert "value" not in failed


def test_the_page_names_every_event_and_field() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \|(.*)\|$", PAGE.read_text(), re.MULTILINE))
    forms = {run_event.model_fields["event"].annotation.__args__[0]: run_event for run_event in RUN_EVENTS}  # type: ignore[union-attr]
    assert rows.keys() == forms.keys()
    for name, form in forms.items():
        fields = {field.alias or key for key, field in form.model_fields.items()} - {"event", "at_realtime_ns"}
        assert [field for field in fields if f"`{field}`" not in rows[name]] == []


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"event": "built"}, "at_realtime_ns is missing"),
        ({"event": "ended", "at_realtime_ns": 1, "state": "won", "trials": 1}, "won"),
        ({"event": "unheard-of"}, "event"),
        ([], "list"),
    ],
)
def test_what_is_no_event_is_told(event: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_event(event)


def test_a_full_disk_ends_the_log_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = synthetic.small()
    with event_log(tmp_path / "events") as log:
        assert log is not None
        log.planned(run.manifest.experiment, "runs/small", 0)
        with monkeypatch.context() as patch:
            patch.setattr("sixbench.store.event_log.os.write", full)
            tell_all(log, run)
        log.block_ended(2)
    assert [event["event"] for event in lines(tmp_path / "events")] == ["planned"]
    output = capsys.readouterr().err
    assert output.count("No space left on device") == 1


def test_a_log_goes_on_after_a_line_that_a_killed_run_left(tmp_path: Path) -> None:
    file = tmp_path / "events"
    file.write_text('{"event": "bui')
    with EventLog(file) as log:
        log.block_ended(1)
    assert json.loads(file.read_text().splitlines()[1])["event"] == "block-done"


def test_a_file_of_the_users_that_is_no_log_is_not_to_be_removed(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    (tmp_path / "linked").hardlink_to(tmp_path / "other")
    for file in (Path("/dev/null"), tmp_path / "linked"):
        with pytest.raises(UsageError, match=r"; name a file that can be appended to$") as caught:
            EventLog(file)
        assert "remove" not in str(caught.value)


def test_only_regular_files_are_logs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name, words in (("fifo", "not a regular file|No such device"), ("", "Is a directory"), ("no/such", "No such")):
        with pytest.raises(UsageError, match=words):
            EventLog(tmp_path / name)


def test_only_those_who_want_values_are_told(read: Callable[[str], Experiment], small: str) -> None:
    class Keeping(Observer):
        def __init__(self) -> None:
            self.seen: list[Arrived] = []

        def arrived(self, seen: Arrived) -> None:
            self.seen.append(seen)

    keeping, other = Keeping(), Keeping()
    other.wants_values = True
    both = Observers(keeping, other)
    assert both.wants_values
    both.arrived(Arrived(key="k", flow="", direction="forward", from_ns=0, to_ns=1, received_bytes=1))
    assert (len(keeping.seen), len(other.seen)) == (0, 1)


def test_the_rules_that_end_a_combination_are_named() -> None:
    run = synthetic.small(blocks=3)
    [combination, *_] = run.manifest.experiment.combinations
    assert rules_met(run.manifest.experiment, combination, run.trials) == ("blocks",)
    assert rules_met(run.manifest.experiment, combination, run.trials[:3]) == ()
