"""Trials in brief, as the list of trials and Live have them: those that the run recorded, each once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import synthetic

from sixbench.model.run_events import trial_ended_event
from sixbench.store import Folder, create_run, read_briefs, read_run
from sixbench.store.details import PARTS
from sixbench.ui import briefs
from sixbench.ui.briefs import Briefs


def keys(directory: Path) -> list[str]:
    return [one.key for one in read_briefs(read_run(directory, only=()))]


def all_of(found: Briefs) -> list[str]:
    """The keys of all trials that it has after reading on."""
    while found.read_more():
        pass
    return [event["key"] for event in found.events]


def rewrite(directory: Path, key: str, old: str, new: str) -> None:
    """Changes the record of a trial."""
    file = directory / "trials" / key / "trial.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_brief_is_the_record_without_its_large_parts(tmp_path: Path) -> None:
    run = synthetic.small().write(tmp_path / "run")
    found = {one.key: one.to_json() for one in read_briefs(run)}
    for record in run.trials:
        whole = record.to_json()
        assert {name: value for name, value in found[record.key].items() if name not in PARTS} == {
            name: value for name, value in whole.items() if name not in PARTS
        }
        assert all(not found[record.key].get(part) for part in PARTS)


def test_briefs_come_in_the_order_of_recording_without_those_that_are_known(tmp_path: Path) -> None:
    made = synthetic.small()
    made.write(tmp_path / "run")
    run = read_run(tmp_path / "run", only=())
    recorded = [one.key for one in made.trials]
    assert keys(tmp_path / "run") == recorded
    assert [one.key for one in read_briefs(run, recorded[:5])] == recorded[5:]


def test_a_run_without_trials_has_no_briefs(tmp_path: Path) -> None:
    synthetic.no_trials().write(tmp_path / "run")
    assert keys(tmp_path / "run") == []


def test_trials_of_a_tampered_directory_are_left_out(tmp_path: Path) -> None:
    """As `read_run` leaves them out: changed, damaged, copied, foreign, and behind a link."""
    made = synthetic.small()
    made.write(tmp_path / "run")
    trials = tmp_path / "run" / "trials"
    changed, damaged, deep, copied, linked, gone = (one.key for one in made.trials[:6])
    rewrite(tmp_path / "run", changed, '"elapsed_ns":', '"elapsed_ns":1')
    (trials / damaged / "trial.json").write_text("{")
    (trials / deep / "trial.json").write_text("[" * 100_000)
    shutil.copytree(trials / copied, trials / "b099-c0001-ipv4")
    shutil.move(trials / linked, tmp_path / "elsewhere")
    (trials / linked).symlink_to(tmp_path / "elsewhere")
    shutil.rmtree(trials / gone)
    left = [one.key for one in made.trials if one.key not in (changed, damaged, deep, linked, gone)]
    assert keys(tmp_path / "run") == left
    assert {one.key for one in read_run(tmp_path / "run").trials} == set(left)
    assert all_of(Briefs(Folder.open(tmp_path / "run"))) == left


def test_a_change_of_a_large_part_is_a_change(tmp_path: Path) -> None:
    made = synthetic.small()
    made.write(tmp_path / "run")
    rewrite(tmp_path / "run", made.trials[3].key, '"captured_packets":', '"captured_packets":1')
    assert made.trials[3].key not in keys(tmp_path / "run")


def test_a_last_trial_that_is_not_noted_yet_counts_while_the_run_goes_on_only(tmp_path: Path) -> None:
    """A crash may come between a trial and its line in the journal."""
    for state, count in (("running", 3), ("complete", 2)):
        made = synthetic.replace_run(synthetic.small(), state=state)
        directory = tmp_path / state
        with create_run(directory, made.manifest) as writer:
            for trial in made.trials[:3]:
                writer.add_trial(trial, {})
        journal = directory / "accepted.jsonl"
        journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:2]))
        assert len(keys(directory)) == count


@pytest.mark.parametrize("at_once", [200, 5, 1])
def test_events_of_a_run_that_goes_on_come_some_at_a_time_and_each_once(
    tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(briefs, "AT_ONCE", at_once)
    made = synthetic.replace_run(synthetic.small(), state="running")
    with create_run(tmp_path / "run", made.manifest) as writer:
        for trial in made.trials[:10]:
            writer.add_trial(trial, {})
        found = Briefs(Folder.open(tmp_path / "run"))
        found.read_more()
        assert len(found.events) == min(at_once, 10)
        assert all_of(found) == [one.key for one in made.trials[:10]]
        for trial in made.trials[10:]:
            writer.add_trial(trial, {})
        assert all_of(found) == [one.key for one in made.trials]
    assert json.loads(json.dumps(found.events)) == [
        trial_ended_event(one, one.started_realtime_ns + one.elapsed_ns) for one in made.trials
    ]


def test_a_run_that_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = synthetic.replace_run(synthetic.small(), state="running")
    with create_run(tmp_path / "run", made.manifest) as writer:
        for trial in made.trials[:-1]:
            writer.add_trial(trial, {})
        found = Briefs(Folder.open(tmp_path / "run"))
        all_of(found)
        with monkeypatch.context() as patch:
            patch.setattr(briefs, "read_run", lambda *_, **__: pytest.fail("the run was read again"))
            assert not found.read_more()
        writer.add_trial(made.trials[-1], {})
        assert all_of(found)[-1] == made.trials[-1].key
