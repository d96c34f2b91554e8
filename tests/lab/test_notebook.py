"""Runs from Python, in real networks: the example, an interrupt."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from notebooks import execute
from waiting import wait_for

import sixbench
from sixbench.store import read_run


def test_the_example_that_runs_an_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = execute("run-an-experiment.ipynb", tmp_path, monkeypatch)
    assert "Median round-trip time of UDP request and response" in shown
    assert "10 Mbit/s" in shown
    assert "tcp-streem" in shown
    runs = sorted((tmp_path / "runs").iterdir())
    assert [read_run(run).manifest.state for run in runs] == ["complete", "complete"]


def test_an_interrupt_keeps_the_trials_and_removes_the_network(tmp_path: Path) -> None:
    code = f"""
    import sixbench
    from sixbench.model.errors import Interrupted
    try:
        sixbench.run("quickstart", out={str(tmp_path / "run")!r}, quiet=True)
    except Interrupted as stop:
        print(stop)
    """
    trials = tmp_path / "run" / "trials"
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        wait_for(lambda: any(file.parent.suffix != ".partial" for file in trials.glob("*/trial.json")))
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "continue with: sixbench resume" in stdout
    run = sixbench.load(tmp_path / "run")
    assert run.manifest.state == "interrupted"
    assert len(run.trials) >= 1
