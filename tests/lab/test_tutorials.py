"""The tutorials: every command works, in its order, and leads to what the text says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tutorials import TUTORIALS, SavedFile, steps


def path_with_sixbench(directory: Path) -> str:
    """A PATH on which `sixbench` is the one under test."""
    directory.mkdir()
    command = directory / "sixbench"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sixbench "$@"\n')
    command.chmod(0o755)
    return f"{directory}{os.pathsep}{os.environ['PATH']}"


def trials(run: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(run.glob("trials/*/trial.json"))]


def check_paper(folder: Path) -> None:
    assert r"\begin{table" in (folder / "tables.tex").read_text()
    assert (folder / "figures/tcp-stream-changes.pdf").stat().st_size > 0
    assert {trial["path"] for trial in trials(folder / "runs/tunnels")} == {"native", "6in4", "gre", "native-aa"}


def check_migration(folder: Path) -> None:
    assert (folder / "figures/path-mtu-matrix.svg").stat().st_size > 0
    partitions = {
        (trial["path"], trial["levels"]["errors"], trial["levels"]["clamp"]): (
            trial["metrics"]["pmtu_forward_bytes"],
            trial["metrics"]["pmtu_reverse_bytes"],
            trial["notes"][0].partition(" (")[0],
        )
        for trial in trials(folder / "runs/mtu")
    }
    filtered = {False: "verdict: black-hole", True: "verdict: discovered-by-probing"}
    for clamp in (False, True):
        for path, mtu in (("6rd", 1480), ("ds-lite", 1460)):
            assert partitions[path, "all", clamp] == (mtu, mtu, "verdict: discovered-by-icmp")
            assert partitions[path, "no-too-big", clamp] == (mtu, mtu, filtered[clamp])
        assert partitions["today", "no-too-big", clamp] == (1500, 1500, "verdict: fine")


def check_repeat(folder: Path) -> None:
    for run in ("first", "second"):
        findings = json.loads((folder / "runs" / run / "findings.json").read_text())
        assert {"reproduced", "not testable here"} <= {claim["verdict"] for claim in findings["claims"]}


def check_servers(folder: Path) -> None:
    first, second = trials(folder / "runs/first"), trials(folder / "runs/second")
    assert {trial["metrics"]["failures_ratio"] for trial in first if trial["path"] == "ipv6"} == {1}
    assert {trial["metrics"]["failures_ratio"] for trial in (*first, *second) if trial["path"] == "ipv4"} == {0}
    assert [trial["status"] for trial in second] == ["ok"] * 20
    assert "fails by tcp-connect: refused in 3 of 3" in (folder / "runs/first/report.html").read_text()


CHECKS = {"migration": check_migration, "paper": check_paper, "repeat": check_repeat, "servers": check_servers}


def test_every_tutorial_has_a_check() -> None:
    assert CHECKS.keys() == {tutorial.stem for tutorial in TUTORIALS}


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda tutorial: tutorial.stem)
def test_a_tutorial_leads_to_what_it_says(tutorial: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": path_with_sixbench(tmp_path / "bin")}
    folder = tmp_path / "reader"
    folder.mkdir()
    for step in steps(tutorial):
        if isinstance(step, SavedFile):
            (folder / step.name).write_text(step.text)
            continue
        done = subprocess.run(
            ["sh", "-c", step.line],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        # 4: trials failed or were invalid on a busy machine, of which the tutorials tell.
        assert done.returncode in (0, 4), f"{step.line}\n{done.stdout}\n{done.stderr}"
    CHECKS[tutorial.stem](folder)
