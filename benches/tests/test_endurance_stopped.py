"""A part of `make endurance` that is stopped leaves what it had found, and tampered directories are really restored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from endurance.keeping import Kept
from endurance.tampered_directory import Tampered
from waiting import wait_for

import sixbench

pytestmark = pytest.mark.computes

ROOT = Path(__file__).parents[2]
PATHS = {"PYTHONPATH": f"{ROOT / 'benches'}:{Path(sixbench.__file__).parents[1]}"}


def test_what_was_found_is_in_the_file_before_the_part_has_ended(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "part.json", lambda result: {"part": "part", **result})
    kept.keep({"cases": 1})
    assert json.loads(kept.file.read_text()) == {"part": "part", "cases": 1, "stopped": True}
    kept.keep({"cases": 2})  # too soon after the first to be written
    assert kept.end(None) == {"part": "part", "cases": 2, "stopped": True}
    kept.end({"cases": 3})
    assert json.loads(kept.file.read_text()) == {"part": "part", "cases": 3}
    assert os.listdir(tmp_path) == ["part.json"]


def test_a_part_that_is_stopped_before_it_found_anything_leaves_no_file(tmp_path: Path) -> None:
    assert Kept(tmp_path / "part.json", lambda result: result).end(None) is None
    assert os.listdir(tmp_path) == []


def test_a_million_directories_can_be_stopped(tmp_path: Path) -> None:
    words = [
        "taskset",
        "-c",
        str(min(os.sched_getaffinity(0))),
        sys.executable,
        "-m",
        "endurance",
        "--only",
        "tampered",
        "--out",
        str(tmp_path),
        "--seed",
        "5",
    ]
    file = tmp_path / "tampered.json"
    with subprocess.Popen(words, env=os.environ | PATHS, stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: file.exists() or process.poll() is not None)
            process.send_signal(signal.SIGTERM)
            stdout, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    document = json.loads(file.read_text())
    assert process.returncode == 130, stdout
    assert "nothing wrong until it was stopped" in stdout
    assert (document["stopped"], document["wrong"]) == (True, [])
    assert list(document["seeds"]) == ["5"], "one processor has one seed"
    assert document["seeds"]["5"]["cases"] > 0


@pytest.fixture
def run(tmp_path: Path) -> Tampered:
    (tmp_path / "run/trials/one").mkdir(parents=True)
    (tmp_path / "run/trials/one/trial.json").write_text('{"a": [1]}')
    (tmp_path / "run/manifest.json").write_text('{"accepted": {"one": {}}}')
    return Tampered(tmp_path / "run", tmp_path)


def _in_place(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    "harm",
    [
        lambda at: _in_place(at / "manifest.json"),
        lambda at: (at / "trials/one/trial.json").unlink(),
        lambda at: (at / "trials/new").mkdir(),
        lambda at: (at / "trials/one/trial.json").chmod(0o600),
        lambda at: os.replace(at / "manifest.json", at / "trials/one/trial.json"),
        lambda at: os.link(at / "manifest.json", at / "manifest2.json"),
    ],
)
def test_whatever_a_reader_does_to_a_directory_is_undone(run: Tampered, harm: Callable[[Path], object]) -> None:
    harm(run.directory)
    run.restore()
    assert run.differs() is None
    assert (run.directory / "manifest.json").read_text() == '{"accepted": {"one": {}}}'


def test_a_change_that_was_not_undone_is_seen(run: Tampered) -> None:
    assert run.differs() is None
    (run.directory / "trials/one/trial.json").write_text('{"a": [2]}')
    assert run.differs() == "trials/one/trial.json"


def test_what_a_case_does_to_a_document_does_not_reach_the_next(run: Tampered) -> None:
    run.document("trials/one/trial.json")["a"].append(2)
    assert run.document("trials/one/trial.json") == {"a": [1]}
    run.write("trials/one/trial.json", b"[")
    assert run.document("trials/one/trial.json") is None
    run.rehash()
    [hashes] = run.document("manifest.json")["accepted"].values()
    assert len(hashes["trial.json"]) == 64
    run.restore()
    assert run.document("manifest.json") == {"accepted": {"one": {}}}
