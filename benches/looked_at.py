"""A run that a page looks at against the same run without: the A/A comparison of the page, as a test of equivalence.

A run has many short trials. While it goes on, a page is opened and closed in turn, by the clock, in the order ABBA.
The mean of each metric in a stretch with the page open, over that in the stretch without beside it, is one value. A
trial counts only where nothing was opened or closed during it, and where the run itself says the same (`watched`).

What is open is Live. `page`: its requests, and its stream read as it comes, on the same machine, but not drawn. So it
is all of sixbench, and nothing of a browser. `browser`: Live drawn by Debian's Chromium on the same processors, which
no quiet measurement would have beside it.
"""

from __future__ import annotations

import http.client
import itertools
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from intervals import error_of
from playwright.sync_api import Page, sync_playwright
from table import Table, show

from sixbench.agent import AgentHub
from sixbench.lab.steering import usable_processors
from sixbench.model.trial import TrialRecord
from sixbench.stats import Comparison, Pairs, compare
from sixbench.store import read_run
from sixbench.ui.priority import NICE, left_by_nodes

CHROMIUM = shutil.which("chromium")
NAME = "mine"
"""Name of the run."""
RUN_S = 30
"""It has some 50 blocks then, each of two trials of a quarter of a second. If that leaves a question open, more runs
follow."""
MOST_PAIRS = 60
STRETCH_S = 1.4
"""For which the page is open or closed: four or five trials."""
CLOSED, OPEN = False, True
ORDER = (CLOSED, OPEN, OPEN, CLOSED)
PATIENCE_S = 20.0
"""For what a page asks, and until it has what the run did so far."""
DRAWN_S = 1.0
"""A browser goes on drawing for so long after it has the numbers."""
EXPERIMENT = f"""
experiment: looked-at
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links: [{{endpoints: [h1, r1], rate: 100Mbit, queue: 50ms}}, {{endpoints: [r1, h2], rate: 100Mbit, queue: 50ms}}]
paths: {{ipv6: native6}}
workloads:
  - tcp-stream: {{duration: 200ms, warmup: 50ms}}
  - tcp-rr: {{duration: 200ms, warmup: 50ms}}
blocks: {{max: 1000, time: {RUN_S}s}}
repeats: 0
"""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A metric of a workload, and within what it counts as the same; None: it is only told."""

    title: str
    workload: str
    column: str
    margin: float | None


COMPARED = (
    Compared(title="goodput at 100 Mbit/s", workload="tcp-stream", column="goodput_bps", margin=0.03),
    Compared(title="round trip, median", workload="tcp-rr", column="rtt_p50_ns", margin=0.05),
    Compared(title="CPU of a stream's packet", workload="tcp-stream", column="cpu_per_packet_ns", margin=None),
)


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A time in which the page was open all the while, or closed."""

    is_open: bool
    from_ns: int
    to_ns: int

    def has(self, trial: TrialRecord) -> bool:
        """True if the trial was wholly in it, and the run says the same of the page."""
        ended_ns = trial.started_realtime_ns + trial.elapsed_ns
        return self.from_ns <= trial.started_realtime_ns and ended_ns <= self.to_ns and trial.watched is self.is_open


class Looking(Protocol):
    """Somebody with Live before them."""

    def open(self) -> None:
        """Returns when it shows what the run does now."""

    def close(self) -> None:
        """Returns when nothing is asked any more."""


def bench_page(_: AgentHub, table: Table) -> None:
    """Live, read by a process that draws nothing, against no page."""
    _compare("Live read / closed", _reading, table)


def bench_browser(_: AgentHub, table: Table) -> None:
    """Live in Chromium against no page."""
    if CHROMIUM is None:
        show("chromium is not installed: a page in a browser was not measured", "", "", "", "")
        return
    _compare("Live in Chromium / closed", _drawing, table)


def _compare(what: str, looking: Callable[[str], AbstractContextManager[Looking]], table: Table) -> None:
    metrics = [Equivalence(comparison, what) for comparison in COMPARED]
    valid = ValidTrials()

    def measure() -> None:
        trials, stretches = _measured(looking)
        for metric in metrics:
            metric.add(trials, stretches)
        valid.add(trials, stretches)

    table.measure([*metrics, valid], measure)


class Equivalence:
    """The line of a metric: its ratio, and whether that counts as none, at the level of the look."""

    def __init__(self, compared: Compared, what: str) -> None:
        self.name = f"{compared.title}, {what}"
        self.pairs = Pairs(path=[], baseline=[])
        self._compared = compared
        self._looked: list[int] = []

    def add(self, trials: Sequence[TrialRecord], stretches: Sequence[Stretch]) -> None:
        """The pairs of one more run."""
        valid = [trial for trial in trials if trial.status == "ok" and trial.workload == self._compared.workload]
        more = paired_values(valid, stretches, self._compared.column)
        path, baseline = [*self.pairs.path, *more.path], [*self.pairs.baseline, *more.baseline]
        self.pairs = Pairs(path=path, baseline=baseline)

    def look(self) -> bool:
        """True if no more pairs are needed: the two are the same, or differ, or are only reported."""
        if self._compared.margin is None:
            return True
        n = len(self.pairs.path)
        if n > max([1, *self._looked]):
            self._looked.append(n)
        return n >= MOST_PAIRS or _decided(self._comparison(is_over=False)) not in ("open", "undecided")

    def show(self, *, is_over: bool) -> None:
        """Prints it."""
        result = self._comparison(is_over=False)
        if is_over and _decided(result) == "undecided":
            result = self._comparison(is_over=True)
        margin = self._compared.margin
        target, decided = f"±{margin:.0%}" if margin else "", _decided(result)
        known = [value for value in (result.ratio, result.low, result.high) if value is not None]
        ends = [f"{value:.4f}" for value in known] if len(known) == 3 else [""] * 3
        show(self.name, *ends, target, str(result.n), decided if margin or decided == "open" else "")

    def _comparison(self, *, is_over: bool) -> Comparison:
        error = error_of(self._looked, MOST_PAIRS, is_over=is_over)
        margin = self._compared.margin or 0.0
        return compare(self.pairs, confidence=1 - error, margin=margin, estimator="biweight")


def _decided(result: Comparison) -> str:
    if result.ratio is None or result.low is None or result.high is None:
        return "open"
    return "equivalent" if result.equivalent else "undecided" if result.direction is None else "differs"


class ValidTrials:
    """A line that tells how many trials were valid. A page that made trials invalid would disturb, too, and no ratio
    would show it."""

    name = "... valid trials"

    def __init__(self) -> None:
        self._of: dict[bool, list[bool]] = {OPEN: [], CLOSED: []}

    def add(self, trials: Sequence[TrialRecord], stretches: Sequence[Stretch]) -> None:
        """The trials of one more run."""
        for stretch in stretches:
            self._of[stretch.is_open] += [trial.status == "ok" for trial in trials if stretch.has(trial)]

    def look(self) -> bool:
        """It has nothing to decide."""
        return True

    def show(self, *, is_over: bool) -> None:
        """Prints it."""
        opened, closed = (f"{sum(self._of[state])} of {len(self._of[state])}" for state in (OPEN, CLOSED))
        show(f"{self.name}: {opened} with the page open, {closed} closed", "", "", "", "")


def paired_values(trials: Sequence[TrialRecord], stretches: Sequence[Stretch], column: str) -> Pairs:
    """The means of neighbouring stretches, open and closed. A pair of which one has no value is left out."""
    path, baseline = [], []
    for pair in zip(stretches[::2], stretches[1::2], strict=False):  # the run may end within a pair
        means = {item.is_open: _mean([trial for trial in trials if item.has(trial)], column) for item in pair}
        opened, closed = means.get(OPEN), means.get(CLOSED)
        if opened is not None and closed is not None:
            path.append(opened)
            baseline.append(closed)
    return Pairs(path=path, baseline=baseline)


def _mean(trials: Sequence[TrialRecord], column: str) -> float | None:
    """The geometric mean; None where no trial has the metric."""
    values = [trial.metrics[column] for trial in trials if trial.metrics.get(column, 0) > 0]
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def _measured(
    looking: Callable[[str], AbstractContextManager[Looking]],
) -> tuple[Sequence[TrialRecord], Sequence[Stretch]]:
    """The trials of a run, and when the page was open."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        directory = Path(name)
        (directory / "looked-at.yaml").write_text(EXPERIMENT)
        (directory / "runs").mkdir()
        somebody = stack.enter_context(looking(stack.enter_context(_served(directory))))
        command = [sys.executable, "-m", "sixbench", "run", "looked-at.yaml", "--quiet", "--json", "--wait"]
        command += ["--out", f"runs/{NAME}", "--events", f"runs/{NAME}.events.jsonl"]
        run = stack.enter_context(subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL))
        stack.callback(run.terminate)
        stretches = _take_turns(run, directory / f"runs/{NAME}.events.jsonl", somebody)
        somebody.close()
        if run.wait() != 0:
            raise SystemExit(f"the run of the page's bench ended with {run.returncode}")
        return read_run(directory / "runs" / NAME).trials, stretches


def _take_turns(run: subprocess.Popen[bytes], log: Path, somebody: Looking) -> list[Stretch]:
    """Opens and closes the page from the first trial of a run to its last one."""
    while run.poll() is None and not (log.exists() and b'"trial-started"' in log.read_bytes()):
        time.sleep(0.1)
    turns = []
    for is_open in itertools.cycle(ORDER):
        if is_open:
            somebody.open()
        else:
            somebody.close()
        from_ns = time.time_ns()
        with suppress(subprocess.TimeoutExpired):
            run.wait(STRETCH_S)
        turns.append(Stretch(is_open=is_open, from_ns=from_ns, to_ns=time.time_ns()))
        if run.poll() is not None:
            return turns
    raise AssertionError("a cycle has no end")


@contextmanager
def _served(directory: Path) -> Iterator[str]:
    """The page's address, with its token."""
    command = [sys.executable, "-m", "sixbench", "ui", "runs", "--port", "0"]
    with subprocess.Popen(command, cwd=directory, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield server.stderr.readline().rpartition(" ")[2].strip()
        finally:
            server.terminate()


class _Reader:
    """Asks what Live asks, and reads its stream, with the priority and on the processors of the page's server."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self._host = f"{place.hostname}:{place.port}"
        self._stream: tuple[socket.socket, threading.Thread] | None = None
        self._headers = {"authorization": f"Bearer {place.fragment.removeprefix('token=')}"}

    def open(self) -> None:
        if self._stream is not None:
            return
        opened_ns = time.time_ns()
        for path in (f"/api/runs/{NAME}", "/api/jobs"):
            self._asked(path)
        connection = http.client.HTTPConnection(self._host, timeout=PATIENCE_S)
        connection.connect()
        sock = connection.sock
        connection.request("GET", f"/api/runs/{NAME}/events", headers=self._headers)
        has_all = threading.Event()
        reading = threading.Thread(target=_read, args=(connection.getresponse(), opened_ns, has_all))
        reading.start()
        self._stream = sock, reading
        if not has_all.wait(PATIENCE_S):
            raise SystemExit(f"the page did not tell within {PATIENCE_S:.0f} s what the run does")

    def close(self) -> None:
        if self._stream is None:
            return
        sock, reading = self._stream
        with suppress(OSError):  # the run is over, and with it the stream
            sock.shutdown(socket.SHUT_RDWR)
        reading.join()
        sock.close()
        self._stream = None

    def _asked(self, path: str) -> None:
        with closing(http.client.HTTPConnection(self._host, timeout=PATIENCE_S)) as connection:
            connection.request("GET", path, headers=self._headers)
            connection.getresponse().read()


def _read(answer: http.client.HTTPResponse, opened_ns: int, has_all: threading.Event) -> None:
    """Reads the events of a stream until it ends. `has_all` is set when one comes that is younger than the page, or
    none will."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
    os.sched_setaffinity(0, left_by_nodes(usable_processors()))
    try:
        with suppress(OSError, http.client.HTTPException):
            for line in answer:
                if line.startswith(b"data: ["):
                    events = json.loads(line.removeprefix(b"data: "))
                    if events[-1]["at_realtime_ns"] >= opened_ns:
                        has_all.set()
    finally:
        has_all.set()


@contextmanager
def _reading(address: str) -> Iterator[Looking]:
    reader = _Reader(address)
    try:
        yield reader
    finally:
        reader.close()


class _Browser:
    """Live on a page of a browser, or nothing on it."""

    def __init__(self, page: Page, live: str) -> None:
        self._page = page
        self._live = live

    def open(self) -> None:
        if self._page.url != self._live:
            self._page.goto(self._live)
            self._page.locator(".dot").first.wait_for()
            time.sleep(DRAWN_S)

    def close(self) -> None:
        self._page.goto("about:blank")


@contextmanager
def _drawing(address: str) -> Iterator[Looking]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page()
            page.goto(address)
            page.locator("h1").wait_for()  # it has taken the token
            page.goto("about:blank")
            yield _Browser(page, f"{address.partition('#')[0]}#/live/{NAME}")
        finally:
            browser.close()
