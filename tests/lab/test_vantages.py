"""`sixbench reach --from`: the same servers from two machines over SSH, in namespaces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.host_machines import PORT, Machines, machines
from waiting import wait_for

LISTEN = """
import socket, sys
for family, address in ((socket.AF_INET, sys.argv[1]), (socket.AF_INET6, sys.argv[2])):
    listener = socket.create_server((address, 443), family=family, backlog=64)
    globals()[f"listener{family}"] = listener
print("listening", flush=True)
sys.stdin.read()
"""
"""A server of others: connections are open when its kernel has them."""
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """`lab1` and `lab2` are vantages. A server stands at the addresses of `head`."""
    if os.geteuid() != 0:
        pytest.skip("a machine with an sshd of its own takes root")
    with machines(tmp_path_factory.mktemp("vantages")) as actual_machines:
        words = ["nsenter", "-t", str(actual_machines.lab.agents["head"].pid), "-n", sys.executable, "-c", LISTEN]
        words += [actual_machines.address("head"), actual_machines.address("head", 6)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == "listening\n"
            names = "".join(
                f"Host {name}\n  HostName {actual_machines.address(name)}\n  Port {PORT}\n  User root\n"
                for name in actual_machines.names
            )
            (actual_machines.scratch / "home/.ssh/config").write_text(names)
            yield actual_machines
            assert server.stdin is not None
            server.stdin.close()


def arguments(hosts: Machines, name: str, vantages: str, *more: str, blocks: int = 3) -> list[str | Path]:
    """The words of the command, with a file of vantages."""
    file = hosts.scratch / f"{name}.yaml"
    file.write_text(vantages)
    server = f"{hosts.address('head')},{hosts.address('head', 6)}"
    words = ["reach", server, "--from", file, "--workload", "tcp-connect", "--mine", "--blocks", str(blocks), "-q"]
    return [*words, "--out", hosts.scratch / name, *more]


def trials(directory: Path) -> list[dict[str, Any]]:
    """The trials so far; those that are being written have another name."""
    files = sorted(directory.glob("trials/*/trial.json"))
    return [json.loads(file.read_text()) for file in files if file.parent.suffix != ".partial"]


BOTH = "hosts:\n  lab1: {ssh: lab1}\n  lab2: {ssh: lab2}\n  local:\n"


def test_servers_are_measured_from_each_machine(hosts: Machines) -> None:
    done = hosts.run(*arguments(hosts, "both", BOTH), timeout_s=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    records = trials(hosts.scratch / "both")
    assert {trial["status"] for trial in records} == {"ok"}, records
    clients = {(trial["levels"]["vantage"], trial["path"]): trial["evidence"]["client"] for trial in records}
    assert clients == {
        (name, f"ipv{family}"): hosts.address("head" if name == "local" else name, family)
        for name in ("lab1", "lab2", "local")
        for family in (4, 6)
    }
    text = " ".join(done.stdout.split())
    assert "At lab1, lab2 and local: IPv6 from here is native; IPv4 from here is native." in text
    findings = json.loads((hosts.scratch / "both/findings.json").read_text())["findings"]
    seen = [finding["levels"]["vantage"] for finding in findings if finding["metric"] == "connect_p50"]
    assert sorted(seen) == ["lab1", "lab2", "local"]
    # The same once more, by the file that the run kept.
    again = hosts.run("plan", hosts.scratch / "both/experiment.yaml")
    assert "vantage: lab2" in again.stdout, again.stderr


def test_the_addresses_of_a_vantage_are_hidden(hosts: Machines) -> None:
    words = arguments(hosts, "hidden", "hosts:\n  lab1: {ssh: lab1}\n", "--hide-addresses", blocks=2)
    done = hosts.run(*words, timeout_s=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    directory = hosts.scratch / "hidden"
    everything = "".join(path.read_text(errors="replace") for path in directory.rglob("*") if path.is_file())
    for family in (4, 6):
        assert hosts.address("lab1", family) not in everything
        assert hosts.address("head", family) in everything
    assert {trial["evidence"]["client"] for trial in trials(directory)} == {"hidden"}


def test_a_vantage_that_cannot_be_reached_is_named_with_its_line(hosts: Machines) -> None:
    refused = f"hosts:\n  lab1: {{ssh: lab1}}\n  lab3: {{ssh: 'root@{hosts.address('lab1')}:{PORT + 1}'}}\n"
    done = hosts.run(*arguments(hosts, "refused", refused), timeout_s=TIMEOUT_S)
    assert done.returncode == 3, done.stderr
    assert f"{hosts.scratch}/refused.yaml:3: hosts.lab3: reaching lab3 " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (hosts.scratch / "refused").exists()


def test_a_vantage_without_a_family_is_said(hosts: Machines) -> None:
    hosts.inside("lab2", "sysctl", "-w", "net.ipv6.conf.all.disable_ipv6=1")
    try:
        done = hosts.run(*arguments(hosts, "family", BOTH, blocks=2), timeout_s=TIMEOUT_S)
    finally:
        hosts.inside("lab2", "sysctl", "-w", "net.ipv6.conf.all.disable_ipv6=0")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "At lab2: IPv6 leads to no server from here; IPv4 from here is native." in text
    paths = {(trial["levels"]["vantage"], trial["path"]) for trial in trials(hosts.scratch / "family")}
    assert ("lab2", "ipv6") not in paths
    assert {("lab2", "ipv4"), ("lab1", "ipv6"), ("local", "ipv6")} <= paths


def test_a_run_goes_on_from_its_machines_with_consent_alone(hosts: Machines) -> None:
    directory = hosts.scratch / "resumed"
    words = arguments(hosts, "resumed", "hosts:\n  lab1: {ssh: lab1}\n", blocks=400)
    command = hosts.begin(*words)
    wait_for(lambda: len(trials(directory)) >= 3)

    def has_failed() -> bool:
        return any(trial["status"] == "failed" for trial in trials(directory))

    # The connection is lost: a trial fails, unless it is between two, and the next one has a new connection.
    def goes_on_after(number: int) -> None:
        wait_for(lambda: len(trials(directory)) > number)

    while not has_failed():
        hosts.disconnect("lab1")
        goes_on_after(len(trials(directory)))
    failed = [trial for trial in trials(directory) if trial["status"] == "failed"]
    number = len(trials(directory))
    wait_for(lambda: any(trial["status"] == "ok" for trial in trials(directory)[number:]))
    assert "lab1" in failed[0]["reasons"][0]["text"]
    command.send_signal(2)
    command.communicate(timeout=TIMEOUT_S)
    refused = hosts.run("resume", directory, "-q")
    assert refused.returncode == 2
    assert "this run is measured from other machines" in refused.stderr
    before = len(trials(directory))
    resumed = hosts.begin("resume", directory, "-q", "--allow-hosts")
    wait_for(lambda: len(trials(directory)) > before)
    resumed.send_signal(2)
    resumed.communicate(timeout=TIMEOUT_S)
