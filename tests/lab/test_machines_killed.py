"""A sweep on many machines of which each part is killed once: the short form of `make endurance --only machines`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sixbench

ROOT = Path(__file__).parents[2]
VICTIMS = {"workers": ["agent", "worker", "orchestrator", "scheduler"], "hosts": ["agent", "orchestrator", "sshd"]}


@pytest.mark.parametrize("method", [*VICTIMS])
def test_whatever_is_killed_nothing_is_lost_and_nothing_left_over(tmp_path: Path, method: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("a machine with processes and an sshd of its own takes root")
    words = ["--only", "machines", "--victims", method, "--scale", "0.001", "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "endurance", *words],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'benches'}:{Path(sixbench.__file__).parents[1]}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tally = json.loads((tmp_path / "machines.json").read_text())["ways"][method]
    assert tally["kills"] == dict.fromkeys(VICTIMS[method], 1)
    assert tally["acknowledged"] > 0
