"""Output of `sixbench serve`: words on a terminal, a line of JSON for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sixbench.cli.serve_command import listening_words

LINE = '{"key":false,"listening":[{"address":"127.0.0.1","port":5210},{"address":"::1","port":5210}]}\n'
WORDS = "Listening on 127.0.0.1:5210, [::1]:5210 (without a key), stop with Ctrl-C\n"
AGENT = f"import sys; print({LINE.strip()!r}, flush=True); sys.exit(7)"

Serve = Callable[..., tuple[int, str]]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (LINE, WORDS),
        (
            '{"listening": [{"address": "192.0.2.1", "port": 9}], "key": true}\n',
            "Listening on 192.0.2.1:9 (with a key), stop with Ctrl-C\n",
        ),
        ("what else an agent says\n", "what else an agent says\n"),
        ('{"listening": 5}\n', '{"listening": 5}\n'),
        ("[1]\n", "[1]\n"),
    ],
)
def test_where_it_listens_in_words(line: str, words: str) -> None:
    assert listening_words(line) == words


@pytest.fixture
def serve_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Runs `sixbench serve` on a terminal, with an agent that only says where it listens; its exit code and output."""
    agent = tmp_path / "agent"
    agent.write_text(f"#!{sys.executable} -SE\n{AGENT}\n")
    agent.chmod(0o755)
    monkeypatch.setenv("SIXBENCH_AGENT", str(agent))

    def run(*options: str) -> tuple[int, str]:
        terminal, its_other_end = os.openpty()
        with os.fdopen(terminal, "rb", buffering=0) as shown:
            words = [sys.executable, "-m", "sixbench", "serve", *options]
            with subprocess.Popen(words, stdin=its_other_end, stdout=its_other_end) as process:
                os.close(its_other_end)
                content = b""
                try:
                    while more := shown.read(4096):
                        content += more
                except OSError:  # what reading a terminal says once nobody has its other end: EIO
                    pass
        return process.returncode, content.decode().replace("\r\n", "\n")

    return run


def test_a_terminal_is_told_in_words_and_the_agents_exit_code_stays(serve_on_a_terminal: Serve) -> None:
    assert serve_on_a_terminal() == (7, WORDS)


def test_a_terminal_gets_json_where_it_is_asked_for(serve_on_a_terminal: Serve) -> None:
    assert serve_on_a_terminal("--json") == (7, LINE)


def test_a_program_reads_json(serve_on_a_terminal: Serve) -> None:
    """As before there were words: the tests, and scripts, read the port from this line."""
    words = [sys.executable, "-m", "sixbench", "serve"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, json.loads(done.stdout)) == (7, json.loads(LINE))


def test_limits_of_flows_reach_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\necho "$@"\n')
    agent.chmod(0o755)
    monkeypatch.setenv("SIXBENCH_AGENT", str(agent))
    words = [sys.executable, "-m", "sixbench", "serve", "--max-client-flows", "7", "--max-flows", "9"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "serve --port 5210 --max-client-flows 7 --max-flows 9\n"
