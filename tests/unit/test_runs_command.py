"""`sixbench runs`: what there is, with its answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic

from sixbench.store import open_run

pytestmark = pytest.mark.computes

Command = Callable[..., Any]

GOLDEN = Path(__file__).parents[1] / "golden" / "report"


@pytest.fixture(scope="module")
def folder_of_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never reported."""
    directory = tmp_path_factory.mktemp("made") / "small"
    synthetic.small().write(directory)
    return directory


@pytest.fixture
def runs(tmp_path: Path, folder_of_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder_of_runs, tmp_path / "runs" / "small")
    return tmp_path / "runs"


def listed(sixbench: Command, *arguments: str | Path) -> list[dict[str, Any]]:
    done = sixbench("runs", *arguments, "--json")
    assert (done.exit, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert data["schema"] == "sixbench.runs/1"
    runs: list[dict[str, Any]] = data["runs"]
    return runs


def change(directory: Path, **changes: Any) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps(manifest | changes))


def test_a_run_is_listed_with_its_state_its_trials_and_its_answer(runs: Path, sixbench: Command) -> None:
    [listed_run] = listed(sixbench)
    assert (listed_run["directory"], listed_run["experiment"], listed_run["state"]) == (
        "runs/small",
        "small",
        "complete",
    )
    statuses = [json.loads(file.read_text())["status"] for file in runs.glob("small/trials/*/trial.json")]
    for status in ("ok", "invalid", "failed"):
        assert listed_run[f"{status}_trials"] == statuses.count(status)
    assert "\n" not in listed_run["answer"]
    assert "against ipv4" in listed_run["answer"]
    head, line, answer = sixbench("runs").stdout.splitlines()
    assert head.split() == ["started", "run", "experiment", "state", "ok", "invalid", "failed"]
    assert "runs/small" in line
    assert answer == f"  {listed_run['answer']}"


def test_the_answer_is_the_reports_where_there_is_one(runs: Path, sixbench: Command) -> None:
    findings = json.loads(sixbench("report", runs / "small", "--json").stdout)
    analysed = listed(sixbench)[0]["answer"]
    (runs / "small" / "findings.json").write_text(json.dumps(findings))
    assert listed(sixbench)[0]["answer"] == analysed
    findings["findings"] = [finding | {"verdict": "inconclusive"} for finding in findings["findings"]]
    (runs / "small" / "findings.json").write_text(json.dumps(findings))
    assert " decided" in listed(sixbench)[0]["answer"]
    assert listed(sixbench)[0]["answer"].startswith("0 of ")


def test_a_run_that_is_running_and_one_that_was_cut_off(runs: Path, sixbench: Command) -> None:
    change(runs / "small", state="running")
    writer, _ = open_run(runs / "small")
    assert (listed(sixbench)[0]["state"], listed(sixbench)[0]["answer"]) == ("running", None)
    writer.close()
    assert listed(sixbench)[0]["state"] == "interrupted"


def test_the_newest_stands_last_and_what_cannot_be_read_is_told(
    runs: Path, folder_of_runs: Path, sixbench: Command
) -> None:
    for name, started in (("a", 3), ("b", 2)):
        shutil.copytree(folder_of_runs, runs / name)
        change(runs / name, started_realtime_ns=started * 10**18, run=name)
    (runs / "broken").mkdir()
    (runs / "broken" / "manifest.json").write_text("{")
    (runs / "no-run").mkdir()
    listed_runs = listed(sixbench, runs)
    assert listed_runs[0]["run"] == "broken"
    assert [listed_run["run"] for listed_run in listed_runs][-2:] == ["b", "a"]
    assert "not JSON" in listed_runs[0]["problem"]
    assert (listed_runs[0]["state"], listed_runs[0]["ok_trials"], listed_runs[0]["answer"]) == (None, None, None)
    assert "not JSON" in sixbench("runs", runs).stdout


def test_one_run_directory_and_none(runs: Path, tmp_path: Path, sixbench: Command) -> None:
    assert [listed_run["run"] for listed_run in listed(sixbench, runs / "small")] == [listed(sixbench)[0]["run"]]
    shutil.rmtree(runs)
    assert listed(sixbench) == []
    assert sixbench("runs").stderr == "There are no runs in runs. Make one with: sixbench run quickstart\n"
    done = sixbench("runs", tmp_path / "nowhere")
    assert (done.exit, done.stderr) == (
        2,
        f"sixbench: {tmp_path / 'nowhere'} is not a directory; name one that contains run directories\n",
    )


def test_findings_of_the_schema_before_are_read(runs: Path, sixbench: Command) -> None:
    """`findings-1.json` is of a sixbench whose findings had no values of pairs, no direction and no pairs apart."""
    shutil.copy(GOLDEN / "findings-1.json", runs / "small" / "findings.json")
    [listed_run] = listed(sixbench)
    assert listed_run["answer"] == (
        "3 of 3 comparisons decided, the largest: median round-trip time over ipv6 +6.01 % against ipv4"
    )


@pytest.mark.parametrize("schema", ["sixbench.findings/0", "sixbench.findings/4", None, 1, []])
def test_findings_of_another_schema_are_refused_in_a_sentence_that_helps(
    runs: Path, sixbench: Command, schema: object
) -> None:
    old = json.loads((GOLDEN / "findings-1.json").read_text())
    (runs / "small" / "findings.json").write_text(json.dumps(old | {"schema": schema}))
    [line] = [line for line in sixbench("runs").stdout.splitlines() if "schema" in line]
    assert "this sixbench reads sixbench.findings/3, sixbench.findings/2 and sixbench.findings/1" in line
    assert "`sixbench report` writes it anew" in line
