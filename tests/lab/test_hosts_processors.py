"""Processors of hosts: kept awake, and nodes placed on them, as on the machine of the run. The hosts here are
namespaces, and so one kernel, which is told and counted once."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.host_machines import TWO, Machines, machines
from waiting import wait_for

EXPERIMENT = """
topology:
  nodes: {client: host, r1: router, server: host}
  links: [{endpoints: [client, r1]}, {endpoints: [r1, server], rate: 20Mbit}]
paths: {ipv4: native4, ipv6: native6}
workloads: WORKLOADS
keep-awake: true
blocks: 1
repeats: 0
"""
PLACES = "nodes: {client: lab1, r1: lab2, server: lab2}\nlinks: {client-r1: [left, left]}\n"
STREAM = "[{tcp-stream: {duration: 600ms, warmup: 100ms}}]"
LONG = "[{ping: {count: 3000, interval: 2ms}}]"
PROCESSORS = sorted(os.sched_getaffinity(0))
SPINNING = sorted(f"awake-{processor}" for processor in PROCESSORS)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two hosts, up."""
    if os.geteuid() != 0:
        pytest.skip("a machine with an sshd of its own takes root")
    with machines(tmp_path_factory.mktemp("hosts"), TWO) as actual_machines:
        yield actual_machines


def written(hosts: Machines, name: str, workloads: str) -> tuple[Path, list[str | Path]]:
    """The directory of a run on both hosts, and the command for it."""
    experiment, places = hosts.scratch / f"{name}.yaml", hosts.scratch / "places.yaml"
    experiment.write_text(EXPERIMENT.replace("WORKLOADS", workloads))
    places.write_text(hosts.hosts() + PLACES)
    return hosts.scratch / name, ["run", experiment, "--hosts", places, "--out", hosts.scratch / name, "--quiet"]


def trials(run: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(run.glob("trials/*/trial.json"))]


def cpu_per_packet_ns(run: Path) -> dict[str, float]:
    """CPU time of a packet, by path. All nodes are on one processor, which cannot be busy for longer than a trial
    lasts."""
    actual_trials = trials(run)
    for trial in actual_trials:
        metrics = trial["metrics"]
        received_bytes = metrics["goodput_bps"] / 8 * 0.3
        assert 0 < metrics["cpu_per_byte_ns"] * received_bytes < trial["elapsed_ns"]
    return {trial["path"]: trial["metrics"]["cpu_per_packet_ns"] for trial in actual_trials}


def awake(hosts: Machines) -> list[str]:
    return [thread for name in TWO for thread in hosts.awake(name)]


def test_processors_of_hosts_are_used_as_those_of_one_machine(hosts: Machines) -> None:
    run, command = written(hosts, "stream", STREAM)
    done = hosts.run(*command)
    assert done.returncode == 0, done.stderr
    assert awake(hosts) == []
    actual_hosts = json.loads((run / "manifest.json").read_text())["environment"]["hosts"]
    assert len({facts["boot_id"] for facts in actual_hosts.values()}) == 1
    for facts in actual_hosts.values():
        assert facts["processors"]["usable"] == facts["processors"]["kept_awake"] == PROCESSORS
        assert "not_kept_awake" not in facts["processors"]
    placed = [trial["evidence"]["processors"] for trial in trials(run)]
    assert [place.keys() for place in placed] == [{"client", "r1", "server"}] * 2
    assert all(len(processors) == 1 for place in placed for processors in place.values())
    # All are on one kernel in truth, so that together means on one processor.
    assert all(len({tuple(processors) for processors in place.values()}) == 1 for place in placed)
    report = html.unescape((run / "report.html").read_text())
    assert "it is one machine with lab1" in report
    [client] = placed[0]["client"]
    assert f"client on processor {client} of lab1; r1 and server on processor {client} of lab2" in report

    # The same network on one machine: packets cross as many wires. What else a busy machine does is in both times.
    here = hosts.scratch / "here"
    done = hosts.run("run", hosts.scratch / "stream.yaml", "--out", here, "--quiet")
    assert done.returncode == 0, done.stderr
    on_hosts, on_one = cpu_per_packet_ns(run), cpu_per_packet_ns(here)
    assert on_hosts.keys() == on_one.keys() == {"ipv4", "ipv6"}
    assert all(0.05 < on_hosts[path] / on_one[path] < 20 for path in on_one), (on_hosts, on_one)


def test_what_keeps_processors_of_hosts_awake_ends_with_a_run_that_is_killed(hosts: Machines) -> None:
    run, command = written(hosts, "killed", LONG)
    process = hosts.begin(*command)
    # They are one kernel, so that each processor has one thread, and no two spin on one.
    wait_for(lambda: awake(hosts) == SPINNING and (run / "trials").exists())
    process.kill()
    process.communicate()
    wait_for(lambda: awake(hosts) == [])
