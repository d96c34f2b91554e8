"""Trials in brief, as the list of trials and Live have them: those that the run recorded, each once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import synthetic

from sixbench.model.record_json import record_to_json
from sixbench.model.run_events import trial_ended_event
from sixbench.store import Folder, create_run, read_briefs, read_run
from sixbench.store.details import PARTS
from sixbench.ui import briefs
from sixbench.ui.briefs import Briefs


def keys(directory: Path) -> list[str]:
    return [item.key for item in read_briefs(read_run(directory, only=()))]


def all_of(result: Briefs) -> list[str]:
    """The keys of all trials that it has after reading on."""
    while result.read_more():
        pass
    return [event["key"] for event in result.events]


def rewrite(directory: Path, key: str, old: str, new: str) -> None:
    """Changes the record of a trial."""
    file = directory / "trials" / key / "trial.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_brief_is_the_record_without_its_large_parts(tmp_path: Path) -> None:
    run = synthetic.small().write(tmp_path / "run")
    documents = {read_brief.key: record_to_json(read_brief) for read_brief in read_briefs(run)}
    for record in run.trials:
        whole = record_to_json(record)
        assert {name: value for name, value in documents[record.key].items() if name not in PARTS} == {
            name: value for name, value in whole.items() if name not in PARTS
        }
        assert all(not documents[record.key].get(part) for part in PARTS)


def test_briefs_come_in_the_order_of_recording_without_those_that_are_known(tmp_path: Path) -> None:
    small_run = synthetic.small()
    small_run.write(tmp_path / "run")
    run = read_run(tmp_path / "run", only=())
    recorded = [trial.key for trial in small_run.trials]
    assert keys(tmp_path / "run") == recorded
    assert [read_brief.key for read_brief in read_briefs(run, recorded[:5])] == recorded[5:]


def test_a_run_without_trials_has_no_briefs(tmp_path: Path) -> None:
    synthetic.no_trials().write(tmp_path / "run")
    assert keys(tmp_path / "run") == []


def test_trials_of_a_tampered_directory_are_left_out(tmp_path: Path) -> None:
    """As `read_run` leaves them out: changed, damaged, copied, foreign, and behind a link."""
    small_run = synthetic.small()
    small_run.write(tmp_path / "run")
    trials = tmp_path / "run" / "trials"
    changed, damaged, deep, copied, linked, gone = (trial.key for trial in small_run.trials[:6])
    rewrite(tmp_path / "run", changed, '"elapsed_ns":', '"elapsed_ns":1')
    (trials / damaged / "trial.json").write_text("{")
    (trials / deep / "trial.json").write_text("[" * 100_000)
    shutil.copytree(trials / copied, trials / "b099-c0001-ipv4")
    shutil.move(trials / linked, tmp_path / "elsewhere")
    (trials / linked).symlink_to(tmp_path / "elsewhere")
    shutil.rmtree(trials / gone)
    left = [trial.key for trial in small_run.trials if trial.key not in (changed, damaged, deep, linked, gone)]
    assert keys(tmp_path / "run") == left
    assert {item.key for item in read_run(tmp_path / "run").trials} == set(left)
    assert all_of(Briefs(Folder.open(tmp_path / "run"))) == left


def test_a_change_of_a_large_part_is_a_change(tmp_path: Path) -> None:
    small_run = synthetic.small()
    small_run.write(tmp_path / "run")
    rewrite(tmp_path / "run", small_run.trials[3].key, '"captured_packets":', '"captured_packets":1')
    assert small_run.trials[3].key not in keys(tmp_path / "run")


def test_a_last_trial_that_is_not_noted_yet_counts_while_the_run_goes_on_only(tmp_path: Path) -> None:
    """A crash may come between a trial and its line in the journal."""
    for state, count in (("running", 3), ("complete", 2)):
        replace_run = synthetic.replace_run(synthetic.small(), state=state)
        directory = tmp_path / state
        with create_run(directory, replace_run.manifest) as writer:
            for trial in replace_run.trials[:3]:
                writer.add_trial(trial, {})
        journal = directory / "accepted.jsonl"
        journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:2]))
        assert len(keys(directory)) == count


@pytest.mark.parametrize("at_once", [200, 5, 1])
def test_events_of_a_run_that_goes_on_come_some_at_a_time_and_each_once(
    tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(briefs, "AT_ONCE", at_once)
    replace_run = synthetic.replace_run(synthetic.small(), state="running")
    with create_run(tmp_path / "run", replace_run.manifest) as writer:
        for trial in replace_run.trials[:10]:
            writer.add_trial(trial, {})
        run_briefs = Briefs(Folder.open(tmp_path / "run"))
        run_briefs.read_more()
        assert len(run_briefs.events) == min(at_once, 10)
        assert all_of(run_briefs) == [trial.key for trial in replace_run.trials[:10]]
        for trial in replace_run.trials[10:]:
            writer.add_trial(trial, {})
        assert all_of(run_briefs) == [trial.key for trial in replace_run.trials]
    assert json.loads(json.dumps(run_briefs.events)) == [
        trial_ended_event(trial, trial.started_realtime_ns + trial.elapsed_ns) for trial in replace_run.trials
    ]


def test_a_run_that_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_run = synthetic.replace_run(synthetic.small(), state="running")
    with create_run(tmp_path / "run", replace_run.manifest) as writer:
        for trial in replace_run.trials[:-1]:
            writer.add_trial(trial, {})
        run_briefs = Briefs(Folder.open(tmp_path / "run"))
        all_of(run_briefs)
        with monkeypatch.context() as patch:
            patch.setattr(briefs, "read_run", lambda *_, **__: pytest.fail("the run was read again"))
            assert not run_briefs.read_more()
        writer.add_trial(replace_run.trials[-1], {})
        assert all_of(run_briefs)[-1] == replace_run.trials[-1].key
