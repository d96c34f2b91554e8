"""Run directories that somebody has changed, thousands of them: none brings a reader down, none leads it elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sixbench

pytestmark = pytest.mark.computes

ROOT = Path(__file__).parents[2]


def test_no_change_of_a_run_directory_brings_a_reader_down() -> None:
    """In a process of its own, which confines itself for ever."""
    program = ROOT / "benches/endurance/tampered_runs.py"
    done = subprocess.run(
        [sys.executable, str(program), "--count", "4000", "--seed", "1"],
        env={"PYTHONPATH": str(Path(sixbench.__file__).parents[1]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " 0 kinds of failures" in done.stdout
