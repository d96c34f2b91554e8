"""Requests that the page's runner takes from the server, which has fewer rights, and those that it refuses."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import synthetic
from waiting import PATIENCE_S

from sixbench.ui.runner import run_for

Ask = Callable[[bytes], dict[str, Any]]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Asks a runner, as a server would that somebody else has taken over."""
    here, there = socket.socketpair()
    runner = threading.Thread(target=run_for, args=(there, tmp_path))
    runner.start()
    with here, here.makefile("rb") as answers:

        def item(question: bytes) -> dict[str, Any]:
            here.sendall(question + b"\n")
            answer = json.loads(answers.readline())
            assert answer.pop("number") is None
            return answer  # type: ignore[no-any-return]

        yield item
        here.shutdown(socket.SHUT_RDWR)
    runner.join()
    there.close()


@pytest.mark.parametrize(
    "question",
    [
        b"",
        b"nonsense",
        b"[]",
        b"5",
        b"{}",
        b"[" * 5000,
        b'{"ask": "jobs", "more": ' + b"[" * 959 + b"]" * 959 + b"}",
        b'{"ask": "jobs", "ask": "doctor"}',
        b'{"ask": "jobs", "more": NaN}',
        b'{"ask": "jobs", "more": "\\ud800"}',
        b'{"ask": "exec", "command": ["true"]}',
        b'{"ask": ["start"]}',
        b'{"ask": "start"}',
        b'{"ask": "start", "experiment": {"name": "../x"}}',
        b'{"ask": "start", "experiment": {"name": "/etc/passwd"}}',
        b'{"ask": "start", "experiment": {"text": "workloads: []"}}',
        b'{"ask": "measure", "measurement": {"host": "-h"}}',
        b'{"ask": "measure", "measurement": {"host": "x", "options": "--out /etc"}}',
        b'{"ask": "resume"}',
        b'{"ask": "stop", "run": 5}',
    ],
)
def test_what_is_no_question_is_refused_and_the_next_one_answered(ask: Ask, question: bytes) -> None:
    assert ask(question)["refused"] == "usage"
    assert ask(b'{"ask": "jobs"}') == {"answer": []}


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc", "link", "none", "a\x00b", "x" * 300])
def test_a_run_is_a_directory_right_below_that_of_the_page(tmp_path: Path, ask: Ask, name: str) -> None:
    synthetic.replace_run(synthetic.small(), state="interrupted").write(tmp_path / "elsewhere" / "small")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "small")
    for what in ("resume", "stop"):
        assert ask(json.dumps({"ask": what, "run": name}).encode())["refused"] == "store"


def test_each_answer_has_the_number_of_its_question(tmp_path: Path) -> None:
    here, there = socket.socketpair()
    with there, here, here.makefile("rb") as answers:
        runner = threading.Thread(target=run_for, args=(there, tmp_path))
        runner.start()
        here.sendall(b'{"number": 9, "ask": "jobs"}\n[]\n{"number": 3, "ask": "exec"}\n')
        documents = [json.loads(answers.readline()) for _ in range(3)]
        here.shutdown(socket.SHUT_RDWR)
        runner.join()
    assert [document["number"] for document in documents] == [9, None, 3]
    assert [document.get("refused") for document in documents] == [None, "usage", "usage"]


def test_an_experiment_is_started_with_nothing_that_the_server_adds(
    tmp_path: Path, ask: Ask, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    telling = "import sys; exit('sixbench: ' + ' '.join(sys.argv[1:]))"
    monkeypatch.setattr("sixbench.ui.jobs.SIXBENCH", (sys.executable, "-c", telling))
    asked = {"text": small, "quick": True, "out": "/etc/x", "allow_programs": True, "command": ["true"]}
    job = ask(json.dumps({"ask": "start", "experiment": asked, "words": ["--kernel", "x"]}).encode())["answer"]
    place = tmp_path / job["run"]
    assert not job["waits"]
    assert Path(f"{place}.yaml").read_text() == small
    while (answer := ask(b'{"ask": "jobs"}')["answer"][0])["state"] != "ended":
        pass
    command = f"run {place}.yaml --quick --out {place} --events {place}.events.jsonl --wait"
    assert (answer["exit_code"], answer["words"]) == (1, f"sixbench: {command}")


def test_a_question_without_an_end_ends_the_runner(tmp_path: Path) -> None:
    here, there = socket.socketpair()
    with here, there:
        runner = threading.Thread(target=run_for, args=(there, tmp_path))
        runner.start()
        here.setblocking(False)
        # It reads until it has enough, however slowly; there is room for more again and again.
        deadline = time.monotonic() + PATIENCE_S
        while runner.is_alive() and time.monotonic() < deadline:
            with contextlib.suppress(BlockingIOError):
                here.send(b"x" * 2**16)
            runner.join(0.01)
        assert not runner.is_alive()
