"""The page's server has no rights of root's, whatever the runs have that it asks for, and runs outlive their server."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.unprivileged import NOBODY
from processes import children
from waiting import wait_for

from sixbench.lab.registry import process
from sixbench.model.errors import UsageError
from sixbench.store import Folder, interrupt_run
from sixbench.ui.priority import NICE

EXPERIMENT = """\
experiment: from-the-page
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv6: native6}
workloads: [tcp-stream: {duration: 50ms, warmup: 0s}]
blocks: 500
"""
A_USER = 1234
"""A run of the page waits for others that measure on the machine."""
READ_ALL = 1 << 2
"""CAP_DAC_READ_SEARCH (capabilities(7)): what the server keeps where it could not read its own packages otherwise."""


class Page:
    """`sixbench ui`, asked as a browser asks it.

    Args:
        variables: of its environment, besides those of this process.
    """

    def __init__(self, directory: Path, **variables: str) -> None:
        command = [sys.executable, "-m", "sixbench", "ui", str(directory), "--port", "0"]
        environment = {**os.environ, **variables}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        assert self.process.stderr is not None
        address = self.process.stderr.readline().rpartition(" ")[2].strip()
        self._base, _, token = address.partition("/#token=")
        self._headers = {"origin": self._base, "authorization": f"Bearer {token}"}
        [server, *_] = children(self.process.pid)
        self.server = process(server)

    def post(self, path: str, **asked: Any) -> dict[str, Any]:
        request = urllib.request.Request(self._base + path, json.dumps(asked).encode(), self._headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())  # type: ignore[no-any-return]

    def kill(self) -> None:
        """Kills the runner; the server ends with it."""
        with self.process:
            self.process.kill()
        wait_for(lambda: not self.server.alive)


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[list[Page]]:
    """Those that are ended after the test, and then their runs."""
    pages: list[Page] = []
    yield pages
    for page in pages:
        page.kill()
    for run in (tmp_path / "runs").glob("*/"):
        with contextlib.suppress(UsageError):
            interrupt_run(Folder.open(run))


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def state(run: Path) -> str:
    return str(json.loads((run / "manifest.json").read_text())["state"])


def trials(run: Path) -> list[str]:
    return [json.loads(file.read_text())["status"] for file in run.glob("trials/b*[!l]/trial.json")]


def of_nodes(run: Path) -> set[int]:
    """The processors that nodes were on in the first trial."""
    [first, *_] = sorted(run.glob("trials/b*[!l]/trial.json"))
    placed = json.loads(first.read_text())["evidence"]["processors"]
    return {processor for processors in placed.values() for processor in processors}


IS_ROOT = os.geteuid() == 0
USERS = [({}, NOBODY), ({"SUDO_UID": f"{A_USER}"}, A_USER)] if IS_ROOT else [({}, os.geteuid())]


@pytest.mark.parametrize(("variables", "uid"), USERS)
def test_the_server_is_not_root_while_its_run_is_measured_and_another_server_stops_it(
    tmp_path: Path, pages: list[Page], variables: dict[str, str], uid: int
) -> None:
    first = Page(tmp_path / "runs", **variables)
    pages.append(first)
    run = tmp_path / "runs" / first.post("/api/start", text=EXPERIMENT)["run"]
    wait_for(lambda: run.is_dir() and len(trials(run)) > 2)
    assert state(run) == "running"
    actual_status = status(first.server.pid)
    assert actual_status["Uid"].split() == [str(uid)] * 4
    assert "0" not in actual_status["Gid"].split()
    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(actual_status[kind], 16) & ~READ_ALL == 0
    assert os.getpriority(os.PRIO_PROCESS, first.server.pid) == NICE
    if len(os.sched_getaffinity(0)) > 1:
        assert not of_nodes(run) & os.sched_getaffinity(first.server.pid)
    if IS_ROOT:
        assert (actual_status["Groups"].split(), actual_status["NoNewPrivs"]) == ([f"{NOBODY}"], "1")

    first.kill()
    done = len(trials(run))
    wait_for(lambda: len(trials(run)) > done)
    second = Page(tmp_path / "runs", **variables)
    pages.append(second)
    second.post(f"/api/runs/{run.name}/stop")
    wait_for(lambda: state(run) == "interrupted")
    assert "ok" in trials(run)
    second.process.send_signal(signal.SIGINT)
    assert second.process.wait(60) == 0
