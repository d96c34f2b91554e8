"""A run that a page looks at against the same run without: the A/A comparison of the page, as a test of equivalence.

One run has many short trials. While it goes on, a page is opened and closed in turn, in stretches of blocks in the
order ABBA, and the run itself records of each trial whether a page looked (`watched`). The page is Debian's Chromium,
which draws what comes, on the live screen. The blocks in which it was opened or closed count for neither side.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from measure import show
from playwright.sync_api import sync_playwright

from sixbench.agent import AgentHub
from sixbench.model.trial import TrialRecord
from sixbench.stats import Pairs, compare
from sixbench.store import read_run

CHROMIUM = shutil.which("chromium")
STRETCH = 5
"""Blocks for which the page is open or closed. The first of them does not count."""
ROUNDS = 4
"""Of four stretches: closed, open, open, closed."""
CLOSED, OPEN = False, True
ORDER = (CLOSED, OPEN, OPEN, CLOSED)
MARGIN = 0.01
"""Within which differences count as none, as in experiments."""
EXPERIMENT = f"""
experiment: looked-at
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links: [{{endpoints: [h1, r1], rate: 100Mbit, queue: 50ms}}, {{endpoints: [r1, h2], rate: 100Mbit, queue: 50ms}}]
paths: {{ipv6: native6}}
workloads:
  - tcp-stream: {{duration: 200ms, warmup: 50ms}}
  - tcp-rr: {{duration: 200ms, warmup: 50ms}}
blocks: {STRETCH * len(ORDER) * ROUNDS}
"""
COLUMNS = {"goodput_bps": "goodput", "rtt_p50_ns": "round trip, median", "cpu_per_packet_ns": "CPU of a packet"}


def bench_page(_: AgentHub) -> None:
    """The ratio of each metric with the page open over closed, and whether it is equivalent."""
    if CHROMIUM is None:
        show("chromium is not installed: the page was not measured", "", "", "", "")
        return
    for column, values in _measured().items():
        found = compare(Pairs(path=values[OPEN], baseline=values[CLOSED]), confidence=0.95, margin=MARGIN)
        if found.ratio is None or found.low is None or found.high is None:
            show(f"{COLUMNS[column]}, page open / closed", "", "", "", "", str(found.n), "open")
            continue
        ends = [f"{one:.4f}" for one in (found.ratio, found.low, found.high)]
        verdict = "equivalent" if found.equivalent else "undecided" if found.low <= 1 <= found.high else "differs"
        show(f"{COLUMNS[column]}, page open / closed", *ends, f"±{MARGIN:.0%}", str(found.n), verdict)


def _measured() -> dict[str, dict[bool, list[float]]]:
    """A value a round of each metric: the geometric mean of the trials with the page closed, and with it open."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "looked-at.yaml").write_text(EXPERIMENT)
        command = [sys.executable, "-m", "sixbench", "run", "looked-at.yaml", "--quiet", "--json", "--wait"]
        command += ["--out", "runs/mine", "--events", "runs/mine.events.jsonl"]
        (directory / "runs").mkdir()
        with subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL) as run, _page(directory) as page:
            _take_turns(run, directory / "runs/mine.events.jsonl", page)
        return _by_round(read_run(directory / "runs/mine").trials)


class _Switch:
    """The page, on the live screen or on none."""

    def __init__(self, page: Any, address: str) -> None:
        self._page = page
        self._address = address

    def put(self, is_open: bool) -> None:
        """Opens or closes it."""
        self._page.goto(self._address if is_open else "about:blank")


@contextmanager
def _page(directory: Path) -> Iterator[_Switch]:
    command = [sys.executable, "-m", "sixbench", "ui", "runs", "--port", "0"]
    with ExitStack() as stack:
        server = stack.enter_context(subprocess.Popen(command, cwd=directory, stderr=subprocess.PIPE, text=True))
        stack.callback(server.terminate)
        assert server.stderr is not None
        address = server.stderr.readline().rpartition(" ")[2].strip()
        browsers = stack.enter_context(sync_playwright()).chromium
        browser = browsers.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        stack.callback(browser.close)
        page = browser.new_page()
        page.goto(address)
        page.goto("about:blank")
        yield _Switch(page, f"{address.partition('?')[0]}#/live/mine")


def _take_turns(run: subprocess.Popen[bytes], log: Path, page: _Switch) -> None:
    """Opens and closes the page as the blocks of the run go on, until it ends."""
    is_open = CLOSED
    while run.poll() is None:
        wanted = _wanted(1 + _blocks_done(log))
        if wanted != is_open:
            page.put(wanted)
            is_open = wanted
        time.sleep(0.05)
    if run.returncode != 0:
        raise SystemExit(f"the run of the page's bench ended with {run.returncode}")


def _blocks_done(log: Path) -> int:
    text = log.read_text() if log.exists() else ""
    return sum(json.loads(line)["event"] == "block-done" for line in text.splitlines(keepends=True) if line[-1] == "\n")


def _wanted(block: int) -> bool:
    return ORDER[(block - 1) // STRETCH % len(ORDER)]


def _by_round(trials: Sequence[TrialRecord]) -> dict[str, dict[bool, list[float]]]:
    found: dict[str, dict[bool, list[float]]] = {column: {CLOSED: [], OPEN: []} for column in COLUMNS}
    for round_ in range(ROUNDS):
        blocks = range(1 + round_ * STRETCH * len(ORDER), 1 + (round_ + 1) * STRETCH * len(ORDER))
        counted = [one for one in trials if one.block in blocks and (one.block - 1) % STRETCH and _is_as_wanted(one)]
        for column, values in found.items():
            means = {state: _mean(column, [one for one in counted if one.watched is state]) for state in values}
            if all(mean is not None for mean in means.values()):
                for state, mean in means.items():
                    values[state].append(mean or 0)
    return found


def _is_as_wanted(trial: TrialRecord) -> bool:
    return trial.status == "ok" and trial.watched is _wanted(trial.block)


def _mean(column: str, trials: Sequence[TrialRecord]) -> float | None:
    """The geometric mean; None where no trial has the metric."""
    values = [trial.metrics[column] for trial in trials if trial.metrics.get(column, 0) > 0]
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None
