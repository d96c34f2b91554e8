"""A mistake of sixbench's own: one sentence, a traceback in a file, exit 70, and trials that are intact."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic

from sixbench.cli.bugs import keeping_trials, tell
from sixbench.model.errors import Bug, LabError
from sixbench.store import read_run

pytestmark = pytest.mark.computes


def broken(*_: Any, **__: Any) -> Any:
    raise KeyError("sent")


def test_a_mistake_of_ours_is_one_sentence_and_a_traceback_in_a_temporary_file(
    sixbench: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sixbench.plan.shipped.find_experiment", broken)
    done = sixbench("plan", "quickstart")
    assert done.exit == 70
    [line] = done.stderr.splitlines()
    assert line.startswith("sixbench: a mistake in sixbench itself stopped it: KeyError: 'sent'. The traceback is in ")
    kept = Path(re.search(r"is in (\S+); please report it", line)[1])  # type: ignore[index]
    assert kept.parent == tmp_path
    assert "in broken" in kept.read_text()
    assert "Traceback" not in done.stdout + done.stderr


def test_a_mistake_while_a_run_goes_on_leaves_its_trials_and_the_traceback_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = synthetic.small().write(tmp_path / "run")
    before = len(read_run(run.directory).trials)
    with pytest.raises(Bug) as caught, keeping_trials(run.directory, f"sixbench resume {run.directory}"):
        broken()
    assert tell(caught.value) == 70
    output = capsys.readouterr().err
    assert f"The traceback is in {run.directory / 'traceback.txt'}" in output
    assert f"All trials recorded so far are intact in {run.directory}" in output
    assert f"`sixbench resume {run.directory}` goes on" in output
    assert "in broken" in (run.directory / "traceback.txt").read_text()
    assert len(read_run(run.directory).trials) == before


def test_a_second_mistake_does_not_take_the_place_of_the_first(tmp_path: Path) -> None:
    for message in ("first", "second"):
        with pytest.raises(Bug) as caught, keeping_trials(tmp_path):
            raise ValueError(message)
        tell(caught.value)
    text = (tmp_path / "traceback.txt").read_text()
    assert "ValueError: first" in text
    assert "ValueError: second" in text


def test_where_the_run_directory_is_gone_the_traceback_is_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(Bug) as caught, keeping_trials(tmp_path / "gone"):
        broken()
    assert tell(caught.value) == 70
    [kept] = tmp_path.glob("sixbench-traceback-*.txt")
    assert f"The traceback is in {kept}" in capsys.readouterr().err


def test_an_error_that_users_are_told_of_is_no_mistake_of_ours(tmp_path: Path) -> None:
    with pytest.raises(LabError), keeping_trials(tmp_path):
        raise LabError("no network")
    assert list(tmp_path.iterdir()) == []


def test_the_traceback_of_a_guest_is_kept_as_it_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tell(Bug(directory=tmp_path, traceback="Traceback ...\nIndexError: in the guest\n")) == 70
    assert "IndexError: in the guest" in (tmp_path / "traceback.txt").read_text()
    assert "stopped it: IndexError: in the guest." in capsys.readouterr().err
