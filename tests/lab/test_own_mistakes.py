"""A mistake of ours while a run goes on, and an agent that answers nonsense: two things, told apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sixbench.agent.client import Agent
from sixbench.bench.witnesses import machine
from sixbench.cli import main

EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6}
baseline: ipv4
workloads: [{ping: {count: 3, interval: 1ms}}]
blocks: 2
"""


Command = Callable[..., tuple[int, str]]


def agents_here() -> list[str]:
    """Children of this process that are agents."""
    tasks = Path("/proc/self/task").iterdir()
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    names = [Path(f"/proc/{child}/comm").read_text().strip() for child in children if Path(f"/proc/{child}").exists()]
    return [name for name in names if "sixbench" in name]


def records(run: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(run.glob("trials/*/trial.json"))]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs `sixbench` in this process: its exit code, and all that it said."""

    def run(*arguments: str | Path) -> tuple[int, str]:
        code = main([str(argument) for argument in arguments])
        return code, "".join(capfd.readouterr())

    return run


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    file = tmp_path / "experiment.yaml"
    file.write_text(EXPERIMENT)
    return file


def test_a_mistake_of_ours_stops_the_run_and_resume_goes_on_when_it_is_mended(
    command: Command, experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = 0
    whole = machine.machine_changes

    def mistaken(*sides: Any) -> Any:
        nonlocal judged
        judged += 1
        if judged == 3:
            raise KeyError("no such thing")
        return whole(*sides)

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(machine, "machine_changes", mistaken)
        code, output = command("run", experiment, "--out", run, "--quiet")
    assert code == 70
    assert "KeyError: 'no such thing'" in output
    assert f"The traceback is in {run / 'traceback.txt'}" in output
    assert "Traceback" not in output
    assert "in mistaken" in (run / "traceback.txt").read_text()
    assert [record["status"] for record in records(run)] == ["ok", "ok"]
    assert json.loads((run / "manifest.json").read_text())["state"] == "interrupted"
    assert agents_here() == []
    code, output = command("resume", run, "--quiet")
    assert code == 0, output
    assert [record["status"] for record in records(run)] == ["ok"] * 4


@pytest.mark.parametrize(
    ("op", "key", "words"),
    [
        ("run", "received", "h1: run of ping was answered with received of type str ('three')"),
        ("capture-stop", "packets", "capture-stop was answered with packets of type str ('three')"),
        ("counters", "snmp", "counters was answered with snmp of type str ('three')"),
    ],
)
def test_an_agent_that_answers_nonsense_fails_its_trial_which_says_who_and_what(
    command: Command,
    experiment: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    op: str,
    key: str,
    words: str,
) -> None:
    settle = Agent._settle
    is_over = False

    def settled(self: Agent, request_id: int, outcome: Any) -> None:
        nonlocal is_over
        pending = self._pending.get(request_id)
        request = None if pending is None else pending.request
        is_of_trial = request is not None and request.op == op and getattr(request, "session", "b0").startswith("b0")
        if is_of_trial and not is_over and isinstance(outcome, dict) and self.name in ("h1", "r1", "h2"):
            is_over = True
            outcome = outcome | {key: "three"}
        settle(self, request_id, outcome)

    monkeypatch.setattr(Agent, "_settle", settled)
    run = tmp_path / "run"
    code, output = command("run", experiment, "--out", run, "--quiet")
    assert code == 4, output
    [failed] = [record for record in records(run) if record["status"] == "failed"]
    assert [reason["kind"] for reason in failed["reasons"]] == ["agent-failed"]
    assert words in failed["reasons"][0]["text"]
