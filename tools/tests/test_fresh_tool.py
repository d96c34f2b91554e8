"""Refusals of `tools/test-fresh` before it makes anything."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from endurance.fuzzing import TARGETS

ROOT = Path(__file__).parents[2]
RUNS_OF_CI = ("root", "user", "long", "peers", "guest", "fuzz", "lint", "wheels")
RUNS = "there are root, lint, user, long, peers, programs, guest, fuzz and wheels, and two at once as in fuzz+peers"


@pytest.mark.parametrize(
    ("runs", "settings", "message"),
    [
        (["rot"], {}, f"rot is not a run; {RUNS}"),
        (["root", "fuzz+gast"], {}, f"fuzz+gast is not a run; {RUNS}"),
        (["root+fuzz"], {}, f"root+fuzz is not a run; {RUNS}"),
        (["fuzz+peers+guest"], {}, f"fuzz+peers+guest is not a run; {RUNS}"),
        (["root"], {"FRESH_COMMIT": "0123456"}, "FRESH_COMMIT: 0123456 is no commit here"),
    ],
)
def test_what_is_not_there_is_refused_by_name(runs: list[str], settings: dict[str, str], message: str) -> None:
    done = subprocess.run(
        [ROOT / "tools" / "test-fresh", *runs], env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"test-fresh: {message}\n"


def test_the_runs_of_ci_are_runs() -> None:
    ci = re.search(r"FRESH_RUNS='([^']+)'", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert ci is not None
    runs = ci[1].split()
    assert {part for run in runs for part in run.split("+")} == set(RUNS_OF_CI)
    settings = {"FRESH_COMMIT": "0123456"}
    done = subprocess.run(
        [ROOT / "tools" / "test-fresh", *runs], env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert done.stderr == "test-fresh: FRESH_COMMIT: 0123456 is no commit here\n"


def test_a_clone_is_as_closed_to_others_as_debian_makes_homes() -> None:
    tool = (ROOT / "tools" / "fresh" / "enter").read_text(encoding="utf-8")
    assert 'chmod 700 "$tree$home"\n' in tool
    assert 'chmod 700 "$tree/srv/home"\n' in tool
    assert "cd /srv/home/sixbench\n" in tool


def test_ci_fuzzes_for_ten_minutes() -> None:
    tool = (ROOT / "tools" / "test-fresh").read_text(encoding="utf-8")
    seconds = re.search(r"^fuzz_seconds=\$\{FRESH_FUZZ_SECONDS:-(\d+)\}$", tool, re.MULTILINE)
    assert seconds is not None
    assert int(seconds[1]) * len(TARGETS) >= 600
    assert "fuzz" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
