"""Colours are for terminals that show them, and for people who want them (no-color.org)."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
import synthetic

from sixbench.lab.own_program import own_command

ESCAPE = b"\x1b["


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.small().write(tmp_path_factory.mktemp("coloured") / "run").directory


def on_a_terminal(directory: Path, **settings: str) -> bytes:
    """Output of `sixbench report` on a terminal."""
    controller, terminal = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLORTERM")}
    try:
        started = subprocess.Popen(own_command("report", str(directory)), stdout=terminal, env=plain | settings)
    finally:
        os.close(terminal)
    output = b""
    try:
        while part := os.read(controller, 2**16):
            output += part
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(controller)
    assert started.wait() == 0
    return output


def test_a_terminal_gets_colours(directory: Path) -> None:
    assert ESCAPE in on_a_terminal(directory, TERM="xterm", NO_COLOR="")


@pytest.mark.parametrize("settings", [{"TERM": "dumb"}, {"TERM": "xterm-256color", "NO_COLOR": "1"}], ids=str)
def test_a_dumb_terminal_and_who_wants_none_get_no_colours(directory: Path, settings: dict[str, str]) -> None:
    output = on_a_terminal(directory, **settings)
    assert b"Mbit/s" in output
    assert b"\x1b" not in output
