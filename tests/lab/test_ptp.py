"""PTP between two machines: ptp4l by timestamps of software, on a link beside the one that is measured."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.commands import WITHOUT_FIGURES
from lab.host_machines import PORT, TWO, Machines, machines
from waiting import wait_for

from sixbench.report.host_clocks import last_differences
from sixbench.store import read_run

EXPERIMENT = """
experiment: ptp
{hosts}
topology:
  nodes: {{client: {{kind: host, on: lab1}}, server: {{kind: host, on: lab2}}}}
  links: [{{endpoints: [client, server], over: [left, left]}}]
paths: {{ipv4: native4}}
workloads: [{{ping: {{count: 3, interval: 2ms}}}}]
blocks: 1
"""
CONFIGURATION = """
[global]
time_stamping software
free_running 1
network_transport L2
logSyncInterval -3
logMinDelayReqInterval -3
logAnnounceInterval -2
priority1 {priority}
"""
"""The clock is not touched: it is that of everybody here."""
INTERFACE = "ptp0"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two hosts with ptp4l, the first one of which has the better clock, as both know."""
    if os.geteuid() != 0:
        pytest.skip("a machine with an sshd of its own takes root")
    with machines(tmp_path_factory.mktemp("ptp")) as actual_machines:
        near, far = (str(actual_machines.lab.agents[name].pid) for name in TWO)
        link = ["link", "add", INTERFACE, "netns", near, "type", "veth", "peer", "name", INTERFACE, "netns", far]
        subprocess.run(["ip", *link], check=True)
        programs = []
        try:
            for priority, name in enumerate(TWO, start=10):
                actual_machines.inside(name, "ip", "link", "set", INTERFACE, "up")
                programs.append(_ptp4l(actual_machines, name, priority))
            wait_for(lambda: "yes" in _ptp(actual_machines, TWO[1]))
            yield actual_machines
        finally:
            for program in programs:
                program.send_signal(signal.SIGTERM)
                program.wait()


def _ptp4l(hosts: Machines, name: str, priority: int) -> subprocess.Popen[bytes]:
    file = hosts.scratch / f"ptp4l-{name}.conf"
    file.write_text(CONFIGURATION.format(priority=priority))
    within = ["nsenter", "-t", str(hosts.sshd[name].pid), "--mount", "--net"]
    return subprocess.Popen([*within, "ptp4l", "-f", file, "-i", INTERFACE], stdout=subprocess.DEVNULL)


def _ptp(hosts: Machines, name: str) -> tuple[str, str]:
    """Answer and reason of the doctor about PTP on a host."""
    done = hosts.run("doctor", "--host", f"root@{hosts.address(name)}:{PORT}", "--json")
    [capability] = [
        each_capability
        for each_capability in json.loads(done.stdout)["capabilities"]
        if each_capability["name"] == "PTP"
    ]
    return capability["answer"], capability["reason"]


def test_the_doctor_names_one_grandmaster_of_both(hosts: Machines) -> None:
    (leads, first), (follows, second) = (_ptp(hosts, name) for name in TWO)
    assert (leads, follows) == ("yes", "yes")
    assert first.startswith("the system's clock is 0 to 0 ns ahead of ")
    assert first.rpartition(" ahead of ")[2] == second.rpartition(" ahead of ")[2]


def test_two_clocks_that_are_one_are_found_so_by_both_sources(hosts: Machines) -> None:
    path, out = hosts.scratch / "ptp.yaml", hosts.scratch / "run"
    path.write_text(EXPERIMENT.format(hosts=hosts.hosts()))
    done = hosts.run("run", path, "--out", out, "--quiet")
    assert done.returncode == 0, done.stderr
    first_host, other = (read_run(out).manifest.environment.hosts[name] for name in TWO)
    assert (first_host.no_clock, other.no_clock) == ({}, {})
    assert [reading.source for reading in first_host.clock] == ["control", "ptp"] * 2
    differences = last_differences(first_host.clock, other.clock)
    assert set(differences) == {"control", "ptp"}
    assert all(low <= 0 <= high for low, high in differences.values()), differences
    text = _report(out)
    assert "Clocks of lab1 and lab2" in text
    assert "which agree" in text


def test_an_interface_at_which_ptp4l_listens_is_not_borrowed(hosts: Machines) -> None:
    path = hosts.scratch / "borrowed.yaml"
    path.write_text(EXPERIMENT.format(hosts=hosts.hosts()).replace("eth1", INTERFACE))
    done = hosts.run("run", path, "--out", hosts.scratch / "borrowed", "--quiet")
    assert done.returncode == 3
    # Its processes are not those that this machine sees.
    words = f"borrowing {INTERFACE}: a socket is bound to it; end that program, or name another one"
    assert words in " ".join(done.stderr.split())


def _report(run: Path) -> str:
    done = subprocess.run(
        [*WITHOUT_FIGURES, "report", run, "--format", "md"], capture_output=True, text=True, check=True
    )
    return " ".join(done.stdout.split())
