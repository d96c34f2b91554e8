"""`make bench`: what sixbench costs, as ratios and per-unit figures. (How its generator compares with others: `peers`.)

Machines are noisy. So what is compared is measured in turn, in many short rounds (`paired`), on one processor that does
not sleep, and every figure has a 95 % interval (`intervals`). Each figure has its first rounds, and then those that are
still open get more of them until ten minutes are over (`table`). Nothing here is asserted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from large_runs import bench_large_runs
from links import bench_links
from looked_at import bench_browser, bench_page
from machines import bench_hosts, bench_workers
from measure import ROUNDS, timed, topology_of
from round_trips import bench_round_trips
from scale import bench_scale
from table import Figure, Table, show
from translators import bench_translators
from tunnels import bench_tunnels

from sixbench.agent import AgentHub, find_agent
from sixbench.bench.laboratory import Laboratory
from sixbench.bench.processors import Processors
from sixbench.cli.main import main as sixbench
from sixbench.mechanisms import MECHANISMS
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.schedule import all_trials
from sixbench.plan.yaml_source import parse_yaml

ONE_ROUTER = """
nodes: {h1: host, r1: router, h2: host}
links:
  - {endpoints: [h1, r1], rate: 100Mbit}
  - {endpoints: [r1, h2], rate: 100Mbit}
"""
EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
paths: {ipv4: native4, ipv6: native6}
"""
MINUTES = 9.8
"""Rounds that begin before are measured to their end, and `make` has looked at what is installed."""
MOST_TRIALS = 200
"""Most trials whose overhead a run reports."""
SHORT_TRIAL_MS = 60
"""The measuring of each of the short trials, with its warm-up."""
SHORT_TRIALS = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: 100Mbit, queue: 50ms}
    - {endpoints: [r1, h2], rate: 100Mbit, queue: 50ms}
paths: {ipv4: native4, ipv6: native6}
workloads:
  - tcp-stream: {duration: 50ms, warmup: 10ms}
  - tcp-rr: {duration: 50ms, warmup: 10ms}
  - tcp-connect: {duration: 50ms, warmup: 10ms}
  - tcp-crr: {duration: 50ms, warmup: 10ms}
blocks: 5
"""
LARGE_PLAN = EXPERIMENT + "workloads: [{{tcp-rr: {{message: [{}]}}}}]\nblocks: 100\n".format(
    ", ".join(f"{2 + i}B" for i in range(50))
)


def main() -> None:
    """Prints every figure, or those of some parts."""
    began_s = time.monotonic()
    reader = argparse.ArgumentParser(prog="benches/run.py", description="What sixbench costs.")
    names = ", ".join(name if name not in LEFT_OUT else f"{name} (only if asked for)" for name in PARTS)
    reader.add_argument("--only", metavar="NAME", action="append", choices=list(PARTS), help=f"one part: {names}")
    reader.add_argument(
        "--minutes", type=float, default=MINUTES, help=f"after which no more rounds begin ({MINUTES:g})"
    )
    arguments = reader.parse_args()
    with AgentHub(find_agent()) as hub, closing(Processors(hub)) as processors:

        def prepare(part: str) -> None:
            if part in (*KEEP_AWAKE_THEMSELVES, *MAY_SLEEP):
                processors.close()
            else:
                processors.start(keep_awake=None)

        table = Table(began_s + 60 * arguments.minutes, prepare)
        show("figure", "value", "from", "to", "target", "n")
        for name in arguments.only or [name for name in PARTS if name not in LEFT_OUT]:
            table.measure_part(name, partial(PARTS[name], hub, table))
        table.go_on()
    took_s = time.monotonic() - began_s
    parts = ", ".join(f"{name} {seconds:.0f}" for name, seconds in table.took_s.items())
    more = f"{table.more_s:.0f} s of them are more rounds of what was open"
    print(f"\ntook {took_s:.0f} s ({parts}); {more}; intervals are of 95 %", file=sys.stderr)


def bench_help(_: AgentHub, table: Table) -> None:
    """Start-up of the command."""
    program = Path(sys.executable).with_name("sixbench")
    took = Figure("sixbench --help, s", "< 0.4")

    def start() -> None:
        subprocess.run([program, "--help"], stdout=subprocess.DEVNULL, check=True)

    table.measure([took], lambda: took.values.append(timed(start)), ROUNDS)


def bench_plan(_: AgentHub, table: Table) -> None:
    """From the file's text to the last of 10,000 trials."""

    def expand() -> None:
        experiment = read_experiment(parse_yaml(LARGE_PLAN, "bench.yaml"), MECHANISMS)
        count = sum(1 for _ in all_trials(experiment))
        assert count == 10_000, count

    took = Figure("expansion of 10,000 trials, s", "< 1")
    table.measure([took], lambda: took.values.append(timed(expand)), ROUNDS)


def bench_agent(hub: AgentHub, table: Table) -> None:
    """Memory of an idle agent."""
    resident_mib = Figure("idle agent resident, MiB", "< 10")

    def measure() -> None:
        agent = hub.start(["idle"])["idle"]
        status = Path(f"/proc/{agent.pid}/status").read_text()
        resident_kib = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        resident_mib.values.append(resident_kib / 1024)
        hub.stop([agent])

    table.measure([resident_mib], measure, ROUNDS)


def bench_lab(hub: AgentHub, table: Table) -> None:
    """Building and taking down two hosts and a router."""
    topology = topology_of(ONE_ROUTER)
    up, down = Figure("two hosts and a router up, s", "< 0.5"), Figure("two hosts and a router down, s")

    def measure() -> None:
        started = time.perf_counter()
        laboratory = Laboratory(hub, Blueprint(topology=topology))
        up.values.append(time.perf_counter() - started)
        down.values.append(timed(laboratory.close))

    table.measure([up, down], measure, ROUNDS)


def bench_overhead(_: AgentHub, table: Table) -> None:
    """Time of a trial outside its warm-up and measuring, on links whose queues the streams fill."""
    outside_ms = Figure("outside the measuring, ms a trial", "< 30", MOST_TRIALS)
    table.measure([outside_ms], lambda: outside_ms.values.extend(overhead_ms()))


def overhead_ms() -> list[float]:
    """The same of each trial of a run."""
    with tempfile.TemporaryDirectory() as scratch:
        file, out = Path(scratch, "short.yaml"), Path(scratch, "run")
        file.write_text(SHORT_TRIALS)
        with open(os.devnull, "w") as nowhere:
            saved, sys.stdout = sys.stdout, nowhere
            try:
                code = sixbench(["run", str(file), "--out", str(out), "--quiet"])
            finally:
                sys.stdout = saved
        if code != 0:
            raise SystemExit(f"the run for the overhead ended with {code}")
        trials = [json.loads(path.read_text()) for path in out.glob("trials/*/trial.json")]
    began_ms = sorted(trial["started_realtime_ns"] / 1e6 for trial in trials)
    return [after - before - SHORT_TRIAL_MS for before, after in itertools.pairwise(began_ms)]


PARTS: dict[str, Callable[[AgentHub, Table], None]] = {
    "help": bench_help,
    "plan": bench_plan,
    "agent": bench_agent,
    "lab": bench_lab,
    "scale": bench_scale,
    "overhead": bench_overhead,
    "tunnels": bench_tunnels,
    "translators": bench_translators,
    "links": bench_links,
    "round-trips": bench_round_trips,
    "page": bench_page,
    "browser": bench_browser,
    "large-runs": bench_large_runs,
    "hosts": bench_hosts,
    "workers": bench_workers,
}
LEFT_OUT = ("browser", "large-runs", "round-trips")
"""Unless asked for: what they measure is not sixbench alone, and `make bench` is to end within ten minutes."""

KEEP_AWAKE_THEMSELVES = ("overhead", "page", "browser", "hosts", "workers")
"""Parts whose run keeps the processors awake. Of two threads that do so on one processor, each takes the other for
work."""
MAY_SLEEP = ("scale",)
"""Parts during which nothing keeps them awake. While a network of 1,000 nodes was built, that held up the kernel's
worker that makes room for the counts of each processor ("percpu: allocation failed" in its log), and routes failed."""

if __name__ == "__main__":
    main()
