"""The labs that are up, as files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sixbench.lab import registry
from sixbench.lab.registry import LabRecord, ProcessId
from sixbench.lab.registry import directory as real_directory
from sixbench.model.errors import UsageError, WriteError

GONE = ProcessId(pid=1, start_ticks=-1)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of labs of our own."""
    monkeypatch.setattr(registry, "directory", lambda: tmp_path / "labs")
    return tmp_path / "labs"


@pytest.fixture(scope="module")
def running() -> Iterator[ProcessId]:
    """A process that runs, and ends when its input closes."""
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    yield registry.process(process.pid)
    process.communicate()


def lab(name: str, holder: ProcessId) -> LabRecord:
    return LabRecord(
        name=name,
        holder=holder,
        nodes={"h1": holder, "r1": GONE},
        links={"h1-r1": [["h1", "eth0"], ["r1", "eth0"]]},
        user_namespace=False,
    )


def test_a_lab_is_found_as_it_was_saved(running: ProcessId) -> None:
    registry.save(lab("lab", running))
    registry.save(lab("other.one", running))
    assert registry.find("lab") == lab("lab", running)
    assert registry.all_labs() == [lab("lab", running), lab("other.one", running)]
    registry.remove("lab")
    registry.remove("lab")
    assert registry.find(None) == lab("other.one", running)


def test_which_lab_is_meant(running: ProcessId) -> None:
    with pytest.raises(UsageError, match="no lab is up; start one with: sixbench lab up TOPOLOGY"):
        registry.find(None)
    registry.save(lab("a", running))
    registry.save(lab("b", running))
    registry.save(lab("dead", GONE))
    with pytest.raises(UsageError, match=r"several labs are up \(a, b\); choose with --lab NAME"):
        registry.find(None)
    with pytest.raises(UsageError, match='no lab "dead" is up; see: sixbench lab list'):
        registry.find("dead")


def test_a_number_that_was_given_to_another_process_is_not_the_lab(running: ProcessId) -> None:
    assert running.alive
    assert not replace(running, start_ticks=running.start_ticks + 1).alive
    assert not ProcessId(pid=2**22 + 1, start_ticks=0).alive
    with pytest.raises(ProcessLookupError):
        registry.process(2**22 + 1)


def test_a_process_of_which_only_the_exit_code_is_left_is_gone() -> None:
    process = subprocess.Popen(["true"], stdin=subprocess.DEVNULL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert registry.start_ticks(process.pid) is None
    process.wait()


def test_the_name_of_a_program_does_not_matter(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/cat")
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert registry.process(process.pid).alive
    process.communicate()


DAMAGED: list[Any] = [
    "",
    "{",
    "[]",
    "5",
    "null",
    "{}",
    '"text"',
    b"\xff\xfe",
    {"name": "x"},
    {"nodes": []},
    {"nodes": {"h1": 5}},
    {"holder": {"pid": "self", "start_ticks": 1}},
    {"holder": {"pid": 1}},
    {"holder": None},
]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_is_no_lab_and_is_cleaned(folder: Path, running: ProcessId, content: Any) -> None:
    registry.save(lab("fine", running))
    path = folder / "damaged.json"
    if isinstance(content, dict):
        whole = json.loads((folder / "fine.json").read_text())
        content = json.dumps(content if content == {"name": "x"} else whole | content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert registry.all_labs() == [lab("fine", running)]
    assert registry.clean() == [str(path)]


def test_what_a_crash_left_is_cleaned(folder: Path, running: ProcessId) -> None:
    assert registry.clean() == []
    registry.save(lab("up", running))
    dead = registry.save(lab("dead", GONE))
    half = folder / "half.partial"
    half.write_text("{")
    assert sorted(registry.clean()) == sorted([str(dead), str(half)])
    assert registry.all_labs() == [lab("up", running)]
    assert registry.clean() == []


def test_the_directory_is_ours_alone(folder: Path, running: ProcessId) -> None:
    registry.save(lab("lab", running))
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_directory_that_others_could_have_made_is_not_believed(
    folder: Path, running: ProcessId, tmp_path: Path
) -> None:
    file = registry.save(lab("lab", running))
    folder.chmod(0o777)
    assert registry.all_labs() == []
    assert registry.clean() == []
    folder.chmod(0o700)
    moved = folder.rename(tmp_path / "a-strangers")
    folder.symlink_to(moved)
    half = moved / "half.partial"
    half.write_text("{")
    assert registry.clean() == []
    assert half.exists()
    assert (moved / file.name).exists()
    with pytest.raises(WriteError, match="remove it, or set XDG_RUNTIME_DIR"):
        registry.save(lab("lab", running))


def test_labs_in_a_directory_of_someone_else_are_not_believed(
    folder: Path, running: ProcessId, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.save(lab("lab", running))
    monkeypatch.setattr(registry, "_is_ours", lambda folder: False)
    assert registry.all_labs() == []
    assert registry.clean() == []
    with pytest.raises(WriteError, match="is not a directory that only this user may write in; remove it"):
        registry.save(lab("lab", running))


def test_a_place_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setattr(registry, "directory", lambda: tmp_path / "file/labs")
    with pytest.raises(WriteError, match=r"making .*labs: Not a directory"):
        registry.save(lab("lab", GONE))
    assert registry.all_labs() == []


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"SIXBENCH_OUTER_UID": "0", "XDG_RUNTIME_DIR": "/run/user/0"}, "/run/sixbench"),
        ({"SIXBENCH_OUTER_UID": "1000", "XDG_RUNTIME_DIR": "/run/user/1000"}, "/run/user/1000/sixbench"),
        ({"SIXBENCH_OUTER_UID": "1000"}, "/tmp/sixbench-1000"),
    ],
)
def test_where_the_files_are(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert real_directory() == Path(expected)


def test_a_name_that_a_killed_process_had_is_free_and_its_lock_is_cleaned(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "lab.claim").touch(0o600)
    with registry.claim("lab"):
        assert registry.clean() == []
    assert list(folder.iterdir()) == []
    (folder / "lab.claim").touch(0o600)
    assert registry.clean() == [str(folder / "lab.claim")]


def test_a_folder_in_which_others_may_write_has_no_claims(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(WriteError, match="not a directory that only this user may write in"):
        registry.claim("lab")
