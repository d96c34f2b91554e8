"""Stop on the page: it ends a run whoever started it, also where SIGINT is ignored."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import synthetic
from served import OWN_ORIGIN, served
from waiting import wait_for

A_RUN = """
import signal, sys
from pathlib import Path
from sixbench.cli.interrupts import between_imports
try:
    with between_imports():
        Path(sys.argv[sys.argv.index("--events") + 1]).touch()
        signal.pause()
except KeyboardInterrupt:
    sys.exit("sixbench: interrupted")
"""
LOCKING = """
import fcntl, os, signal, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print("locked", flush=True)
signal.pause()
"""


@pytest.fixture(params=["SIGINT as usual", "SIGINT ignored"])
def sigint(request: pytest.FixtureRequest) -> Iterator[None]:
    """A shell without job control ignores it for what it starts with `&`, and processes inherit that."""
    if request.param == "SIGINT as usual":
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("sigint")
def test_stop_ends_a_run_that_the_page_started(tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sixbench.ui.jobs.SIXBENCH", (sys.executable, "-c", A_RUN))
    with served(tmp_path) as client:

        def job() -> tuple[str, str]:
            [job] = client.get("/api/jobs").json()["jobs"]
            return job["state"], job["words"]

        run = client.post("/api/start", json={"text": small}, headers=OWN_ORIGIN).json()["run"]
        wait_for((tmp_path / f"{run}.events.jsonl").exists)
        assert client.post(f"/api/runs/{run}/stop", headers=OWN_ORIGIN, json={}).status_code == 200
        wait_for(lambda: job() == ("ended", "sixbench: interrupted"))


@pytest.mark.usefixtures("sigint")
def test_stop_ends_a_run_of_another_process_by_the_lock_that_it_holds(tmp_path: Path) -> None:
    synthetic.replace_run(synthetic.small(), run="another", state="running").write(tmp_path / "another")
    with served(tmp_path) as client:
        refused = client.post("/api/runs/another/stop", headers=OWN_ORIGIN, json={})
        assert (refused.status_code, "stop it where it was started" in refused.text) == (409, True)
        command = [sys.executable, "-c", LOCKING, str(tmp_path / "another")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "locked\n"
            assert client.post("/api/runs/another/stop", headers=OWN_ORIGIN, json={}).status_code == 200
            assert process.wait(60) == -signal.SIGTERM
