"""Where a run begins, and where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored import EXPERIMENT, record

from sixbench.model.errors import StoreError, UsageError, WriteError
from sixbench.store import Manifest, RunWriter, create_run, read_run


def test_a_run_never_overwrites(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest)
    with pytest.raises(
        UsageError, match=r"already holds a run; give another --out, or continue it with: sixbench resu"
    ):
        create_run(tmp_path / "run", manifest)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.txt").write_text("x")
    with pytest.raises(UsageError, match="exists and is not an empty directory; give another --out"):
        create_run(tmp_path / "other", manifest)
    with pytest.raises(UsageError, match="exists and is not an empty directory"):
        create_run(tmp_path / "other/mine.txt", manifest)
    (tmp_path / "empty").mkdir()
    create_run(tmp_path / "empty", manifest)


@pytest.mark.parametrize(
    "left",
    [
        {"trials/": ""},
        {"trials/": "", "experiment.yaml.partial": "topo"},
        {"trials/": "", "experiment.yaml": EXPERIMENT},
        {"trials/": "", "experiment.yaml": EXPERIMENT, "manifest.json.partial": "{"},
    ],
    ids=" ".join,
)
def test_a_run_that_was_killed_before_it_had_a_manifest_can_begin_again(
    tmp_path: Path, manifest: Manifest, left: dict[str, str]
) -> None:
    lay(tmp_path / "run", left)
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    assert read_run(tmp_path / "run").trials == [record()]
    assert sorted(path.name for path in (tmp_path / "run").glob("*.partial")) == []


@pytest.mark.parametrize(
    "mine",
    [
        {"experiment.yaml": EXPERIMENT},
        {"trials/": "", "experiment.yaml": "# mine"},
        {"trials/": "", "trials/mine.txt": "x"},
        {"trials": "x"},
        {"trials/": "", "mine.txt": "x"},
    ],
    ids=" ".join,
)
def test_a_run_does_not_begin_where_something_else_is(tmp_path: Path, manifest: Manifest, mine: dict[str, str]) -> None:
    lay(tmp_path / "run", mine)
    with pytest.raises((UsageError, StoreError)):
        create_run(tmp_path / "run", manifest)
    assert all((tmp_path / "run" / name).read_text() == text for name, text in mine.items() if not name.endswith("/"))


def lay(directory: Path, files: dict[str, str]) -> None:
    directory.mkdir()
    for name, text in files.items():
        (directory / name).mkdir() if name.endswith("/") else (directory / name).write_text(text)


def test_an_interrupt_while_a_run_is_made_leaves_no_directory(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **changes: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunWriter, "save_manifest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        create_run(tmp_path / "run", manifest)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file/run", "/proc/sixbench/run"])
def test_a_place_that_cannot_be_written(tmp_path: Path, manifest: Manifest, place: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WriteError, match=r"making the run directory .*; give a writable place with --out"):
        create_run(tmp_path / place, manifest)
