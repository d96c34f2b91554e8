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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

import synthetic
from measure import timed
from table import Figure, Table
from told_events import tell_until

from sixbench.agent import AgentHub
from sixbench.store import EventLog, create_run

BLOCKS = 119
"""Of 42 trials each: 4,998 trials."""
EVENTS = 1_000_000
CLICK_S, TABLES_S, MEMORY_MIB = 1, 2, 300
PATIENCE_S = 600
REST_S = 5.0
"""In which a server without clients is watched."""


def bench_large_runs(_: AgentHub, table: Table) -> None:
    """Each screen's requests once a server; the figures of memory and processor after the clients have gone."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        key = _write(directory)
        base = "/api/runs/large"
        clicks = {
            "the list of runs": ("/api/runs", CLICK_S),
            "a run": (base, CLICK_S),
            "one trial": (f"{base}/trials/{key}", CLICK_S),
            "all trials in brief": (f"{base}/trials", CLICK_S),
            "the events of 5,000 trials": (f"{base}/events", CLICK_S),
            "a table as CSV": (f"{base}/tables/csv", TABLES_S),
            "a log of a million events": ("/api/runs/logged/events", CLICK_S),
        }
        for what, (path, target_s) in clicks.items():
            took = Figure(f"{what}, s", f"< {target_s}")
            table.measure([took], lambda took=took, path=path: took.values.append(_asked_s(directory, path)), 1)
        memory, busy = (
            Figure("server after its clients, MiB", f"< {MEMORY_MIB}"),
            Figure("its processor then, %", "< 5"),
        )

        def rest() -> None:
            with _served(directory) as (server, ask):
                for path, _ in clicks.values():
                    ask(path)
                before_s = _processor_s(server)
                time.sleep(REST_S)
                busy.values.append(max(0.01, 100 * (_processor_s(server) - before_s) / REST_S))
                memory.values.append(_resident_mib(server))

        table.measure([memory, busy], rest, 1)


def _write(directory: Path) -> str:
    """Writes both runs, and returns the key of a trial."""
    run = synthetic.standard(blocks=BLOCKS)
    with create_run(directory / "large", run.manifest) as writer:
        for trial in run.trials:
            writer.add_trial(trial, {})
    small = synthetic.replace_run(synthetic.small(), run="logged")
    small.write(directory / "logged")
    log = directory / "logged.events.jsonl"
    with EventLog(log) as told:
        tell_until(told, small, small.trials[:1], small.trials[1])
    values = [line for line in log.read_text().splitlines() if json.loads(line)["event"] == "values"]
    with log.open("a") as file:
        file.writelines(f"{values[number % len(values)]}\n" for number in range(EVENTS))
    with EventLog(log) as told:
        tell_until(told, small, small.trials[1:3], small.trials[3])
    return run.trials[0].key


def _asked_s(directory: Path, path: str) -> float:
    with _served(directory) as (_, ask):
        return timed(lambda: ask(path))


@contextmanager
def _served(directory: Path) -> Iterator[tuple[int, Callable[[str], None]]]:
    """The process of the server, and what asks it."""
    command = [sys.executable, "-m", "sixbench", "ui", str(directory), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        place = urlsplit(process.stderr.readline().rpartition(" ")[2].strip())
        headers = {"authorization": f"Bearer {place.fragment.removeprefix('token=')}"}

        def ask(path: str) -> None:
            with closing(http.client.HTTPConnection(str(place.hostname), place.port, timeout=PATIENCE_S)) as connection:
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200, f"{path}: {answer.status}"

        ask("/api/jobs")
        try:
            yield int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]), ask
        finally:
            process.terminate()


def _processor_s(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _resident_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
