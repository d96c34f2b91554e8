"""Experiments on several machines, played by namespaces: what a trial costs on hosts over SSH beside one here, and how
much faster a sweep is on several workers.

The namespaces share this machine's processors. So the sweep is of trials that wait, and the cost of a trial on hosts
has the processor time of both sides of each connection in it.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from measure import ROUNDS
from table import Figure, Table, show_figures

from sixbench.agent import AgentHub

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from lab import host_machines, worker_machines

TRIAL_MS = 60
"""The measuring of each of the short trials, with its warm-up."""
SHORT_TRIALS = """
experiment: short
topology: {nodes: {h1: host, r1: router, h2: host}, links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]}
paths: {ipv4: native4, ipv6: native6}
workloads: [{tcp-rr: {duration: 50ms, warmup: 10ms}}, {tcp-connect: {duration: 50ms, warmup: 10ms}}]
blocks: 5
"""
PLACES = "nodes: {h1: lab1, r1: lab2, h2: lab2}\nlinks: {h1-r1: [left, left]}\n"
MORE_TARGET = "< 25"
MOST_RUNS = 10
"""Most runs here and on hosts. Five take 40 s."""

WORKERS = (1, 2, 4, 8)
BLOCKS_OF_A_WORKER = 3
WAITING_S = 1
WAITING_TRIALS = """
experiment: waiting
topology: {{nodes: {{h1: host, h2: host}}, links: [{{endpoints: [h1, h2]}}]}}
paths: {{ipv4: native4, ipv6: native6}}
workloads: [{{ping: {{count: 11, interval: 100ms}}}}]
blocks: {blocks}
"""
"""Two trials a block, of a second each, in which next to nothing is done."""
SWEEP_S = 600


def bench_hosts(_: AgentHub, table: Table) -> None:
    """Time of a trial outside its measuring, with its nodes here and on two hosts, in turn. Networks are not in it."""
    here_ms = Figure("outside the measuring of a trial here, ms")
    there_ms = Figure("outside the measuring of a trial on two hosts over SSH, ms")
    more_ms = Figure("median on hosts more than here, ms", MORE_TARGET, MOST_RUNS)
    round_trips_ms = Figure("a round trip to an agent over SSH, ms")

    def measure() -> None:
        with tempfile.TemporaryDirectory() as scratch, host_machines.machines(Path(scratch)) as hosts:
            experiment, places = hosts.scratch / "short.yaml", hosts.scratch / "hosts.yaml"
            experiment.write_text(SHORT_TRIALS)
            places.write_text(hosts.hosts() + PLACES)
            for number in range(ROUNDS):
                here, _ = _run(hosts, experiment, f"here-{number}")
                there, round_trips = _run(hosts, experiment, f"there-{number}", "--hosts", places)
                here_ms.values += here
                there_ms.values += there
                more_ms.values.append(median(there) - median(here))  # of neighbours in time: the machine may be busy
                round_trips_ms.values += round_trips

    table.measure([here_ms, there_ms, more_ms, round_trips_ms], measure)


def _run(hosts: host_machines.Machines, experiment: Path, name: str, *options: str | Path) -> tuple[list[float], ...]:
    """Milliseconds of each trial outside its measuring (from its beginning to that of the next one), and the fastest
    round trips to hosts."""
    out = hosts.scratch / name
    done = hosts.run("run", experiment, *options, "--out", out, "--quiet")
    if done.returncode != 0:
        raise SystemExit(f"a run for the cost of hosts ended with {done.returncode}: {done.stderr}")
    trials = [json.loads(path.read_text()) for path in out.glob("trials/*/trial.json")]
    began_ns = sorted(trial["started_realtime_ns"] for trial in trials)
    answer = json.loads((out / "manifest.json").read_text())["environment"].get("hosts", {})
    return (
        [(after - before) / 1e6 - TRIAL_MS for before, after in itertools.pairwise(began_ns)],
        [reading["round_trip_ns"] / 1e6 for host in answer.values() for reading in host["clock"]],
    )


def bench_workers(hub: AgentHub, _: Table) -> None:
    """Blocks a minute of runs on some workers, with as many blocks for each worker, beside those of one worker."""
    per_min: dict[int, float] = {}
    for workers in WORKERS:
        names = [f"lab{number + 1}" for number in range(workers)]
        blocks = BLOCKS_OF_A_WORKER * workers
        with tempfile.TemporaryDirectory() as scratch, worker_machines.machines(hub, Path(scratch), names) as machines:
            file, out = Path(scratch, "waiting.yaml"), Path(scratch, "run")
            file.write_text(WAITING_TRIALS.format(blocks=blocks))
            machines.scheduler()
            machines.workers(*names)
            code = machines.run("run", file, "--out", out).wait(SWEEP_S)
            if code != 0:
                raise SystemExit(f"the run on {workers} workers ended with {code}: {machines.output_of('head', 'run')}")
            took_s = _took_s(out)
            per_min[workers] = 60 * blocks / took_s
        show_figures(f"{blocks} blocks of two trials that wait {WAITING_S} s, workers: {workers}, s", [took_s], "")
        if workers > 1:
            show_figures(
                f"blocks a minute of {workers} workers / of one", [per_min[workers] / per_min[1]], f"{workers}"
            )


def _took_s(run: Path) -> float:
    trials = [json.loads(path.read_text()) for path in run.glob("trials/*/trial.json")]
    ends_ns = [trial["started_realtime_ns"] + trial["elapsed_ns"] for trial in trials]
    return (max(ends_ns) - min(trial["started_realtime_ns"] for trial in trials)) / 1e9
