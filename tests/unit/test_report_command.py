"""`sixbench report`: names of formats, and where it writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic

from sixbench.report import FORMATS, find_format

pytestmark = pytest.mark.computes


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report") / "run"
    synthetic.small().write(directory)
    return directory


@pytest.mark.parametrize(
    ("alias", "name"),
    [("markdown", "md"), ("tex", "latex"), ("txt", "terminal"), ("text", "terminal"), ("htm", "html"), ("CSV", "csv")],
)
def test_a_format_by_the_name_that_people_think_of(
    sixbench: Callable[..., Any], run_directory: Path, tmp_path: Path, alias: str, name: str
) -> None:
    done = sixbench("report", run_directory, "--format", alias, "--out", tmp_path / "a")
    assert (done.exit, done.stderr) == (0, f"written: {tmp_path / 'a'}\n")
    assert sixbench("report", run_directory, "--format", name, "--out", tmp_path / "b").exit == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_every_name_means_one_format() -> None:
    names = [name for form in FORMATS.values() for name in (form.name, *form.aliases)]
    assert len(set(names)) == len(names)
    assert find_format("docx") is None


def test_a_format_that_there_is_not(sixbench: Callable[..., Any], run_directory: Path) -> None:
    done = sixbench("report", run_directory, "--format", "docx")
    assert done.exit == 2
    assert done.stderr == "sixbench: --format docx: there are terminal, json, csv, md, latex, html\n"


def test_the_folder_of_a_report_is_made(sixbench: Callable[..., Any], run_directory: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder" / "report.md"
    assert sixbench("report", run_directory, "-f", "markdown", "-o", out).exit == 0
    assert out.read_text().startswith("# ")
    (tmp_path / "file").touch()
    done = sixbench("report", run_directory, "--out", tmp_path / "file" / "report.txt")
    assert done.exit == 3
    assert done.stderr == f"sixbench: making the folder {tmp_path / 'file'}: File exists\n"


def test_a_part_of_a_report(sixbench: Callable[..., Any], run_directory: Path) -> None:
    whole = sixbench("report", run_directory, "-f", "latex").stdout
    findings = json.loads(sixbench("report", run_directory, "--json").stdout)["findings"]
    metric = next(finding["metric"] for finding in findings if finding["workload"] == "tcp-stream")
    part = sixbench("report", run_directory, "-f", "latex", "--workload", "tcp-stream", "--metric", metric)
    assert part.exit == 0
    assert 0 < part.stdout.count(r"\begin{table") < whole.count(r"\begin{table")
    chosen = json.loads(sixbench("report", run_directory, "--json", "--metric", metric).stdout)["findings"]
    assert chosen == [{**finding, "headline": True} for finding in findings if finding["metric"] == metric]


@pytest.mark.parametrize(("option", "name"), [("--metric", "goodputt"), ("--workload", "tcp-streams")])
def test_a_part_that_a_run_does_not_have(
    sixbench: Callable[..., Any], run_directory: Path, option: str, name: str
) -> None:
    done = sixbench("report", run_directory, option, name)
    assert done.exit == 2
    assert done.stderr.startswith(f'sixbench: {option} "{name}": this run has no such result; it has ')
