"""Work that the page's server has done in other processes: what comes back, how many there are, and when they end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from waiting import wait_for

PROGRAM = Path(__file__).parents[2] / "asked_apart.py"
PATIENCE_S = 120


def scene(name: str, directory: Path) -> tuple[Any, str]:
    """The results of a scene of the program, and what it wrote on standard error."""
    done = subprocess.run(
        [sys.executable, PROGRAM, name, directory], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return json.loads(done.stdout), done.stderr


def test_an_answer_is_that_of_another_process_and_is_kept_for_its_key_and_words(tmp_path: Path) -> None:
    (first, again, other_key, other_words), _ = scene("answers", tmp_path)
    assert first[1:] == ["a"]
    assert again == first
    assert other_words[1:] == [None]
    assert len({item[0] for item in (first, other_key, other_words)}) == 3


def test_errors_of_users_come_back_and_a_bug_leaves_the_server_working(tmp_path: Path) -> None:
    (*errors, afterwards), stderr = scene("errors", tmp_path)
    words = "the process that read the run was killed, or ended by a bug; sixbench ui printed the reason"
    killed = ["CapabilityError", words]
    assert errors == [
        ["UsageError", "words: usage"],
        ["StoreError", "words: store"],
        ["CapabilityError", "words: cannot"],
        killed,
        killed,
    ]
    assert afterwards == []
    assert stderr.count("KeyError: 'words: bug'") == 2
    assert "in main" not in stderr  # the process ended where the bug was, and not in the server's code


def test_a_process_ends_when_its_client_leaves(tmp_path: Path) -> None:
    [process], _ = scene("leaving", tmp_path)
    assert not Path(f"/proc/{process}").exists()


def test_two_work_at_the_same_time_and_the_others_wait(tmp_path: Path) -> None:
    at_once, _ = scene("crowd", tmp_path)
    assert len(at_once) == 6
    assert max(at_once) == 2


def test_packages_are_imported_once_while_nothing_is_asked_and_not_by_the_server(tmp_path: Path) -> None:
    (prepared, of_server), _ = scene("preparing", tmp_path)
    assert prepared == ["packages"]
    assert of_server == []


def test_answers_are_kept_up_to_a_number_of_bytes(tmp_path: Path) -> None:
    kept, _ = scene("room", tmp_path)
    assert kept == 3


def test_no_process_is_left_when_the_server_has_ended(tmp_path: Path) -> None:
    [process], _ = scene("forker", tmp_path)
    wait_for(lambda: has_ended(process), PATIENCE_S)


def has_ended(process: int) -> bool:
    """True also where nobody has waited for it yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except OSError:
        return True
