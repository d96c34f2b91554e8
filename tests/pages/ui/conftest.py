"""The page of `sixbench ui` as people have it, over recorded events: one server and one tab for all of these tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import page_loads
import pytest
import synthetic
from chromium import chromium
from playwright.sync_api import Browser, Page
from reach_runs import changed
from recorded_events import tell_until
from stored import manifest_of
from ui_browser import CAPTURE, WIDE, Served

from sixbench.model.experiment import Experiment
from sixbench.store import EventLog, create_run

PATIENCE_S = 120
CHANGES = {f"server{number:02}.example": 0.0 for number in range(1, 9)} | {
    "slow.example": 0.3,
    "fast.example": -0.2,
    "dead.example": None,
    "a-name-that-is-long-as-those-of-content-networks-are.edge.example.net": 0.04,
}
"""Servers of a run, with what IPv6 adds to the time of a connection."""
REPORT = "<!doctype html><html lang=en><title>Report</title><h1>The report</h1><script>document.title='ran'</script>"


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """It ends with these tests, for others count this process's children."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory, read: Callable[[str], Experiment]) -> Iterator[Served]:
    """Runs that are over, one of them of page loads, and one in the midst of a trial, whose directory this process has
    locked."""
    directory = tmp_path_factory.mktemp("runs")
    run = synthetic.small(blocks=3)
    with create_run(directory / "small", run.manifest) as writer:
        for trial in run.trials:
            writer.add_trial(trial, run.series.get(trial.key, {}), {"r1-r2.pcapng": CAPTURE})
    (directory / "small" / "report.html").write_text(REPORT)
    synthetic.replace_run(synthetic.small(blocks=3), run="again").write(directory / "again")
    loads = read(page_loads.TEXT)
    with create_run(directory / "loads", replace(manifest_of(loads), run="loads", state="complete")) as writer:
        for trial in page_loads.page_trials(loads):
            writer.add_trial(trial, {})
    to_servers = synthetic.replace_run(changed(CHANGES), run="reach")
    to_servers.write(directory / "reach")
    (directory / "reach" / "report.html").write_text(REPORT)
    synthetic.replace_run(to_servers, run="stopped", state="interrupted").write(directory / "stopped")
    live = synthetic.replace_run(run, run="live", state="running", ended_realtime_ns=None)
    with create_run(directory / "live", live.manifest), EventLog(directory / "live.events.jsonl") as log:
        tell_until(log, live, live.trials[:14], live.trials[14])
        command = [sys.executable, "-m", "sixbench", "ui", str(directory), "--port", "0"]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
        ) as process:
            assert process.stderr is not None
            address = process.stderr.readline().rpartition(" ")[2].strip()
            served = Served(address=address, directory=directory)
            try:
                yield served
                process.send_signal(signal.SIGINT)
                assert process.wait(PATIENCE_S) == 0
            finally:
                process.kill()  # or leaving this block would wait for it without an end
            content = process.stderr.read()
            assert not content or re.fullmatch(
                "sixbench: the page's server runs as nobody, but may read all files, .*\n", content
            )


@pytest.fixture(scope="package")
def page(browser: Browser, served: Served) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": WIDE, "height": 900})
    page = context.new_page()
    served.watch(page)
    page.goto(served.address)
    page.route("**/api/doctor", lambda route: route.fulfill(json={"sentence": "Ready, without limits."}))
    yield page
    context.close()


@pytest.fixture(autouse=True)
def nothing_went_wrong(served: Served) -> Iterator[None]:
    served.wrong.clear()
    yield
    assert served.wrong == []
