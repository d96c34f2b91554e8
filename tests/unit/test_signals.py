"""Processes that tests start have the default signals, whatever the parent of the tests ignores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_what_a_test_starts_can_be_interrupted() -> None:
    child = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
    # The signals 1 to 3 and 15: SIGHUP, SIGINT, SIGQUIT, SIGTERM.
    assert ignored_signals(child) & 0b100_0000_0000_0111 == 0


def test_also_where_the_parent_of_the_tests_ignores_interrupts() -> None:
    inner = f"{Path(__file__).relative_to(ROOT)}::{test_what_a_test_starts_can_be_interrupted.__name__}"
    script = f'trap "" INT HUP TERM QUIT; exec "$0" -m pytest -q -p no:cacheprovider {inner}'
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def ignored_signals(status: str) -> int:
    """The mask of a process's `/proc/PID/status`: bit n - 1 is signal n."""
    [line] = [line for line in status.splitlines() if line.startswith("SigIgn:")]
    return int(line.split()[1], 16)
