"""Clicks on the page over a run of 5,000 trials, and one whose log has a million events; and what its server takes of
memory and processor once its clients have gone.

Every click is the first of a new server, which has read nothing yet.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

import synthetic
from processes import children
from recorded_events import tell_until
from table import Figure, Table

from sixbench.agent import AgentHub
from sixbench.store import EventLog, create_run

BLOCKS = 119
"""Number of blocks of 42 trials each: 4,998 trials."""
EVENTS = 1_000_000
CLICK_S, TABLES_S, MEMORY_MIB = 1, 2, 300
PATIENCE_S = 600
REST_S = 5.0
"""In which a server without clients is watched."""
ROUNDS = 3
"""At most, so that the whole takes some minutes."""
SETTLED_S = 1.5
"""Without work, after which the server is ready for tables: it imports their packages when nothing is asked."""

Ask = Callable[[str], tuple[float, float]]
"""Asks for a path; seconds until the first thing to show, and until the end of the answer."""


def bench_large_runs(_: AgentHub, table: Table) -> None:
    """Each screen's requests once a server; the figures of memory and processor after the clients have gone."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        key = _write(directory)
        base = "/api/runs/large"
        answers = {
            "the list of runs": ("/api/runs", CLICK_S),
            "a run": (base, CLICK_S),
            "one trial": (f"{base}/trials/{key}", CLICK_S),
            "all trials in brief": (f"{base}/trials", CLICK_S),
            "a table as CSV": (f"{base}/tables/csv", TABLES_S),
            "a table as Markdown": (f"{base}/tables/md", TABLES_S),
            "a table as LaTeX": (f"{base}/tables/latex", TABLES_S),
        }
        streams = {
            "the events of 5,000 trials": (f"{base}/events", CLICK_S),
            "a log of a million events": ("/api/runs/logged/events", CLICK_S),
        }
        for name, (path, target_s) in (answers | streams).items():
            _bench_click(table, directory, name, path, target_s, is_stream=name in streams)
        memory = Figure("server after its clients, MiB", f"< {MEMORY_MIB}", ROUNDS)
        busy = Figure("its processor then, %", "< 5", ROUNDS)

        def rest() -> None:
            with _served(directory) as (processes, ask):
                for path, _ in (answers | streams).values():
                    ask(path)
                before_s = sum(map(_processor_s, processes))
                time.sleep(REST_S)
                busy.values.append(max(0.01, 100 * (sum(map(_processor_s, processes)) - before_s) / REST_S))
                memory.values.append(sum(map(_resident_mib, processes)))

        table.measure([memory, busy], rest)


def _bench_click(table: Table, directory: Path, name: str, path: str, target_s: float, *, is_stream: bool) -> None:
    """The first click on something and the second one: both until there is something to show, and until the end."""
    target = f"< {target_s}"
    first, whole, again = (
        Figure(f"{name}{part}, s", target, ROUNDS) for part in (": the first", "", ", the second click")
    )

    def click() -> None:
        with _served(directory) as (_, ask):
            first_s, whole_s = ask(path)
            first.values.append(first_s)
            whole.values.append(whole_s)
            again.values.append(ask(path)[1])

    table.measure([first, whole, again] if is_stream else [whole, again], click)


def _write(directory: Path) -> str:
    """Writes both runs, and returns the key of a trial."""
    run = synthetic.standard(blocks=BLOCKS)
    with create_run(directory / "large", run.manifest) as writer:
        for trial in run.trials:
            writer.add_trial(trial, {})
    small = synthetic.replace_run(synthetic.small(), run="logged")
    small.write(directory / "logged")
    log = directory / "logged.events.jsonl"
    with EventLog(log) as event_log:
        tell_until(event_log, small, small.trials[:1], small.trials[1])
    values = [line for line in log.read_text().splitlines() if json.loads(line)["event"] == "values"]
    with log.open("a") as file:
        file.writelines(f"{values[number % len(values)]}\n" for number in range(EVENTS))
    with EventLog(log) as event_log:
        tell_until(event_log, small, small.trials[1:3], small.trials[3])
    return run.trials[0].key


@contextmanager
def _served(directory: Path) -> Iterator[tuple[list[int], Ask]]:
    """The processes of a server that is ready, and what asks it."""
    command = [sys.executable, "-m", "sixbench", "ui", str(directory), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        place = urlsplit(process.stderr.readline().rpartition(" ")[2].strip())
        headers = {"authorization": f"Bearer {place.fragment.removeprefix('token=')}"}

        def ask(path: str) -> tuple[float, float]:
            began_s, first_s = time.monotonic(), None
            with closing(http.client.HTTPConnection(str(place.hostname), place.port, timeout=PATIENCE_S)) as connection:
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                assert answer.status == 200, f"{path}: {answer.status}"
                for line in answer:
                    if first_s is None and line.startswith((b"data: [", b"{")):  # events of the run, or an object
                        first_s = time.monotonic() - began_s
            whole_s = time.monotonic() - began_s
            return whole_s if first_s is None else first_s, whole_s

        try:
            ask("/api/jobs")
            [server, *_] = children(process.pid)
            processes = [server, *children(server)]
            _wait_until_settled(processes)
            yield processes, ask
        finally:
            process.terminate()


def _wait_until_settled(processes: Sequence[int]) -> None:
    busy_s = -1.0
    while (now_s := sum(map(_processor_s, processes))) > busy_s:
        busy_s = now_s
        time.sleep(SETTLED_S)


def _processor_s(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _resident_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
