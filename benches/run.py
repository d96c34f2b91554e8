"""`make bench`: what sixbench costs, and how its generators compare with their peers, as ratios and per-unit figures.

Machines are noisy: peers alternate with ours within one run, and what is printed is the median of the ratios with the
least and the greatest. Nothing here is asserted.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from measure import ROUNDS, SECONDS, compare, our_trial, show, show_figures, timed, topology_of
from scale import bench_scale
from tunnels import bench_tunnels

from sixbench.agent import Agent, AgentHub, find_agent
from sixbench.cli.main import main as sixbench
from sixbench.mechanisms import MECHANISMS
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.schedule import all_trials
from sixbench.plan.yaml_source import parse_yaml
from sixbench.run.laboratory import Laboratory

BACK_TO_BACK = "nodes: {h1: host, h2: host}\nlinks: [{endpoints: [h1, h2]}]\n"
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
SHORT_TRIALS = (
    EXPERIMENT
    + "workloads: [{tcp-rr: {duration: 100ms, warmup: 0s}}, {tcp-stream: {duration: 100ms, warmup: 0s}}]\nblocks: 5\n"
)
LARGE_PLAN = EXPERIMENT + "workloads: [{{tcp-rr: {{message: [{}]}}}}]\nblocks: 100\n".format(
    ", ".join(f"{2 + i}B" for i in range(50))
)


def main() -> None:
    """Prints every figure."""
    show("figure", "median", "least", "greatest", "target")
    bench_help()
    bench_plan()
    with AgentHub(find_agent()) as hub:
        bench_agent(hub)
        bench_lab(hub)
        bench_scale(hub)
        bench_overhead()
        bench_peers(hub)
        bench_tunnels(hub)


def bench_help() -> None:
    """Start-up of the command."""
    program = Path(sys.executable).with_name("sixbench")
    show_figures(
        "sixbench --help, s",
        [
            timed(lambda: subprocess.run([program, "--help"], stdout=subprocess.DEVNULL, check=True))
            for _ in range(ROUNDS)
        ],
        "< 0.4",
    )


def bench_plan() -> None:
    """From the file's text to the last of 10,000 trials."""

    def expand() -> None:
        experiment = read_experiment(parse_yaml(LARGE_PLAN, "bench.yaml"), MECHANISMS)
        count = sum(1 for _ in all_trials(experiment))
        assert count == 10_000, count

    show_figures("expansion of 10,000 trials, s", [timed(expand) for _ in range(ROUNDS)], "< 1")


def bench_agent(hub: AgentHub) -> None:
    """Memory of an idle agent."""
    agent = hub.start(["idle"])["idle"]
    status = Path(f"/proc/{agent.pid}/status").read_text()
    resident_kib = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    show_figures("idle agent resident, MiB", [resident_kib / 1024], "< 10")
    hub.stop([agent])


def bench_lab(hub: AgentHub) -> None:
    """Building and taking down two hosts and a router."""
    topology = topology_of(ONE_ROUTER)
    up, down = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        laboratory = Laboratory(hub, Blueprint(topology=topology))
        up.append(time.perf_counter() - started)
        down.append(timed(laboratory.close))
    show_figures("two hosts and a router up, s", up, "< 0.5")
    show_figures("two hosts and a router down, s", down, "")


def bench_overhead() -> None:
    """Time of a trial outside its measuring."""
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
        started_ns = [json.loads(path.read_text()) for path in out.glob("trials/*/trial.json")]
        started_ns.sort(key=lambda trial: trial["sequence"])
        between = [
            (after["started_realtime_ns"] - before["started_realtime_ns"]) / 1e6 - 100
            for before, after in itertools.pairwise(started_ns)
        ]
    show_figures("outside the measuring, ms a trial", between, "< 150")


def bench_peers(hub: AgentHub) -> None:
    """Ours against iperf3 and sockperf over one veth pair, in alternation."""
    laboratory = Laboratory(hub, Blueprint(topology=topology_of(BACK_TO_BACK)))
    try:
        for family in (4, 6):
            [link] = laboratory.topology.links
            client, server = (str(link.end_of(host).address(family).ip) for host in ("h1", "h2"))
            ends = laboratory.agents["h1"], laboratory.agents["h2"], client, server
            if shutil.which("iperf3"):
                compare(f"tcp-stream / iperf3, IPv{family}", partial(our_stream, *ends), partial(iperf3, *ends), ">= 1")
            if shutil.which("sockperf") and family == 4:  # Debian's sockperf has no IPv6
                compare(f"tcp-rr / sockperf, IPv{family}", partial(our_rr, *ends), partial(sockperf, *ends), ">= 1")
    finally:
        laboratory.close()
    for peer in ("iperf3", "sockperf"):
        if not shutil.which(peer):
            show(f"{peer} is not installed: not compared", "", "", "", "")


def our_stream(h1: Agent, h2: Agent, client: str, server: str) -> float:
    """Bits per second."""
    _, served = our_trial(h1, h2, client, server, "tcp-stream", {"message_bytes": 131072})
    receiver = served["forward_receiver"]
    return receiver["measured_bytes"] * 8e9 / receiver["measured_ns"]


def our_rr(h1: Agent, h2: Agent, client: str, server: str) -> float:
    """Transactions per second."""
    result, _ = our_trial(h1, h2, client, server, "tcp-rr", {"message_bytes": 64})
    return result["transactions"] * 1e9 / result["measured_ns"]


def iperf3(h1: Agent, h2: Agent, client: str, server: str) -> float:
    """Bits per second; one stream, its defaults, cubic."""
    serving = h2.submit("exec", argv=["iperf3", "-s", "-1", "-p", "5201", "-B", server], timeout_ns=60_000_000_000)
    wait_for_listener(h2, 5201)
    done = h1.call(
        "exec", argv=["iperf3", "-J", "-C", "cubic", "-c", server, "-t", str(SECONDS), "-O", "0.2"], timeout_s=60
    )
    serving.result(timeout=30)
    return json.loads(done["stdout"])["end"]["sum_received"]["bits_per_second"]


def sockperf(h1: Agent, h2: Agent, client: str, server: str) -> float | None:
    """Round trips per second of its ping-pong over TCP, 64 bytes; None where it printed no result."""
    serving = h2.submit(
        "exec",
        argv=["timeout", str(int(SECONDS) + 5), "sockperf", "server", "--tcp", "-i", server, "-p", "11111"],
        timeout_ns=60_000_000_000,
    )
    wait_for_listener(h2, 11111)
    done = h1.call(
        "exec",
        argv=["sockperf", "ping-pong", "--tcp", "-i", server, "-p", "11111", "-m", "64", "-t", str(int(SECONDS))],
        timeout_s=60,
    )
    h2.call("exec", argv=["sh", "-c", "kill $(ss -Hltnp 'sport = :11111' | sed -n 's/.*pid=\\([0-9]*\\).*/\\1/p')"])
    serving.result(timeout=30)
    found = re.search(r"Valid Duration\] RunTime=([0-9.]+) sec; SentMessages=([0-9]+)", done["stdout"])
    return int(found[2]) / float(found[1]) if found else None


def wait_for_listener(node: Agent, port: int) -> None:
    """Until something listens on the port."""
    deadline = time.monotonic() + 10
    while not node.call("exec", argv=["ss", "-Hltn", f"sport = :{port}"])["stdout"].strip():
        if time.monotonic() > deadline:
            raise SystemExit(f"nothing listens on port {port}")
        time.sleep(0.01)


if __name__ == "__main__":
    main()
