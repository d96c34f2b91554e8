"""Nodes on other machines, over SSH: cables, VXLAN, interfaces that come home, and hosts that go."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from lab.experiments import TESTERS
from lab.host_machines import PORT, Machines, machines
from waiting import PATIENCE_S, wait_for

from sixbench.model.capture_file import read_capture

EXPERIMENT = """
experiment: hosts
{hosts}
topology:
  nodes: {{client: {{kind: host, on: lab1}}, r1: {{kind: router, on: lab2}}, server: {{kind: host, on: lab2}}}}
  links:
    - {{endpoints: [client, r1], over: {over}}}
    - {{endpoints: [r1, server], rate: 20Mbit}}
paths: {{ipv4: native4, ipv6: native6}}
workloads: {workloads}
blocks: {blocks}
repeats: 0
"""
QUICK = "[{ping: {count: 5, interval: 2ms}}, {udp-stream: {rate: 1Mbit, duration: 200ms, datagram: 500B}}]"
LONG = "[{ping: {count: 400, interval: 2ms}}]"
PAGE = Path(__file__).parents[2] / "docs/many-machines.md"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two hosts, up."""
    if os.geteuid() != 0:
        pytest.skip("a machine with an sshd of its own takes root")
    with machines(tmp_path_factory.mktemp("hosts")) as actual_machines:
        yield actual_machines


def written(hosts: Machines, name: str, *, over: str = "[left, left]", workloads: str = QUICK, blocks: int = 1) -> Path:
    """An experiment over both."""
    addresses = {item: f", address: {hosts.address(item)}" for item in ("lab1", "lab2")}
    text = EXPERIMENT.format(hosts=hosts.hosts(**addresses), over=over, workloads=workloads, blocks=blocks)
    path = hosts.scratch / f"{name}.yaml"
    path.write_text(text)
    return path


def trials(run: Path) -> list[dict[str, Any]]:
    """Those that are there. A run that goes on renames the folder of one when it is whole."""
    files = sorted(run.glob("trials/*/trial.json"))
    return [json.loads(path.read_text()) for path in files if path.parent.suffix != ".partial"]


def outcomes(result: list[dict[str, Any]]) -> list[str]:
    """Outcomes of trials. A busy machine keeps a sender or a link from its rate: the trial says so, and is right."""
    return [
        "ok" if trial["reasons"] and {reason["kind"] for reason in trial["reasons"]} <= TESTERS else trial["status"]
        for trial in result
    ]


def is_home(hosts: Machines, before: dict[str, str]) -> bool:
    return all(hosts.interfaces(name) == state for name, state in before.items())


@pytest.fixture
def before(hosts: Machines) -> Iterator[dict[str, str]]:
    """Interfaces of the machines, which they have again when a test is over."""
    state = {name: hosts.interfaces(name) for name in ("lab1", "lab2")}
    yield state
    hosts.end_what_was_begun()
    # What ends when its connection is cut, or when its agent is killed, ends on its own, and nobody waits for it.
    wait_for(lambda: is_home(hosts, state))


def test_a_cable_as_the_page_has_it(hosts: Machines, before: dict[str, str]) -> None:
    [text] = re.findall(r"```yaml two-hosts.yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for name in ("lab1", "lab2"):
        text = text.replace(f"root@{name}.example", f"'root@{hosts.address(name)}:{PORT}'")
    path, run = hosts.scratch / "two-hosts.yaml", hosts.scratch / "cable"
    path.write_text(text)
    # None repeated, so that it is known how many trials there are.
    values = ("repeats=0", "workloads.0.duration=200ms", "workloads.1.count=20")
    short = ("--blocks", "1", *(word for value in values for word in ("--set", value)))
    done = hosts.run("run", path, "--out", run, "--quiet", *short)
    assert done.returncode == 0, done.stderr
    actual_trials = trials(run)
    assert outcomes(actual_trials) == ["ok"] * 4
    for trial in actual_trials:
        [cable, _] = trial["evidence"]["segments"]
        assert (cable["node"], cable["interface"], cable["capture_dropped"]) == ("router", "eth1", 0)
        assert cable["captured_packets"] >= 40
        # Of two machines together the time of the whole trial is known, and not that of the measured part.
        assert {name for name in trial["metrics"] if name.startswith("cpu_")} <= {
            *("cpu_client_cores", "cpu_server_cores", "cpu_per_packet_ns", "cpu_per_byte_ns"),
        }
    facts = json.loads((run / "manifest.json").read_text())["environment"]["hosts"]
    assert set(facts) == {"lab1", "lab2"}
    assert [host["hardware_clocks"] for host in facts.values()] == [{"eth1": "none"}] * 2
    for host in facts.values():
        # Before and after. They are one clock in truth.
        assert len(host["clock"]) == 2
        assert all(reading["low_ns"] <= 0 <= reading["high_ns"] for reading in host["clock"])


def test_vxlan_between_hosts(hosts: Machines, before: dict[str, str]) -> None:
    run = hosts.scratch / "vxlan"
    done = hosts.run("run", written(hosts, "vxlan", over="vxlan"), "--out", run, "--quiet")
    assert done.returncode == 0, done.stderr
    actual_trials = trials(run)
    assert outcomes(actual_trials) == ["ok"] * 4
    [topology] = json.loads((run / "manifest.json").read_text())["experiment"]["topologies"]
    assert [(link["over"], link["mtu_bytes"]) for link in topology["links"] if "over" in link] == [("vxlan", 1450)]
    for trial in actual_trials:
        # The hosts' clocks are two, and were looked at over the path. A delay within what they leave open is left out.
        delays = {name for name in trial["metrics"] if name.startswith(("one_way_delay", "pdv"))}
        assert delays <= trial.get("uncertainty", {}).keys()
        assert ("clocks" in trial["evidence"]) == (trial["workload"] == "udp-stream")


VLAN_RATE = "{vlan: 100, on: [left, left]}, rate: 10Mbit"
"""The cable is the way's slowest link, so that theory of the whole is that of tagged frames."""
FULL = "[{tcp-stream: {duration: 1s, warmup: 500ms}}, {udp-stream: {rate: 1Mbit, duration: 200ms, datagram: 1472B}}]"


def kept_frames(trial: Path) -> list[bytes]:
    """The frames that a trial has kept, as they were on the wire."""
    [capture] = trial.glob("*.pcapng")
    with capture.open("rb") as stream:
        return [item.data for item in read_capture(stream)]


def test_a_vlan_on_a_cable(hosts: Machines, before: dict[str, str]) -> None:
    run = hosts.scratch / "vlan"
    done = hosts.run("run", written(hosts, "vlan", over=VLAN_RATE, workloads=FULL), "--out", run, "--quiet")
    assert done.returncode == 0, done.stderr
    actual_trials = trials(run)
    assert outcomes(actual_trials) == ["ok"] * 4
    for trial in actual_trials:
        family = trial["path"]
        [cable, inside] = trial["evidence"]["segments"]
        # Seen where packets arrive from the other machine.
        assert (cable["node"], cable["interface"]) == ("r1", "eth1")
        assert cable["claimed"] == f"{family} in vlan 100"
        assert set(cable["stacks"]) == {f"{family} in vlan 100"}
        assert set(inside["stacks"]) == {family}
        # The MTU of IP stays, and the frame grows: 14 bytes of Ethernet, 4 of the tag.
        assert max(packet["wire_bytes"] for packet in cable["packets"]) == cable["max_ip_bytes"] + 18
    assert max(trial["evidence"]["segments"][0]["max_ip_bytes"] for trial in actual_trials) == 1500
    # The capture of the link nearest to the middle is kept: it has the tag itself, behind the addresses of each frame.
    frames = [frame for trial in sorted((run / "trials").iterdir()) for frame in kept_frames(trial)]
    assert frames
    assert {frame[12:16] for frame in frames} == {bytes.fromhex("81000064")}


def test_interfaces_are_home_when_an_agent_is_killed(hosts: Machines, before: dict[str, str]) -> None:
    run = hosts.scratch / "killed-agent"
    process = hosts.begin("run", written(hosts, "killed-agent", workloads=LONG), "--out", run, "--quiet")
    wait_for(lambda: trials(run) != [])
    [router] = [pid for pid, words in hosts.agents("lab2").items() if "--name r1" in words]
    os.kill(router, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert len(trials(run)) == 2


def test_interfaces_are_home_when_the_run_is_killed_and_it_is_resumed(hosts: Machines, before: dict[str, str]) -> None:
    """The experiment knows nothing of hosts."""
    plain = hosts.scratch / "plain.yaml"
    plain.write_text(
        "experiment: plain\n"
        "topology: {nodes: {a: host, b: host}, links: [{endpoints: [a, b]}]}\n"
        f"paths: {{ipv4: native4, ipv6: native6}}\nworkloads: {LONG}\nblocks: 1\nrepeats: 0\n"
    )
    places = hosts.scratch / "hosts.yaml"
    places.write_text(f"{hosts.hosts()}nodes: {{a: lab1, b: lab2}}\nlinks: {{a-b: [left, left]}}\n")
    run = hosts.scratch / "killed"
    process = hosts.begin("run", plain, "--hosts", places, "--out", run, "--quiet")
    wait_for(lambda: trials(run) != [])
    assert not is_home(hosts, before)
    process.kill()
    process.communicate()
    wait_for(lambda: is_home(hosts, before))
    done = hosts.run("resume", run, "--quiet", "--allow-hosts")
    assert done.returncode == 0, done.stderr
    assert outcomes(trials(run)) == ["ok"] * 2


def test_a_host_that_goes_is_named(hosts: Machines, before: dict[str, str]) -> None:
    run = hosts.scratch / "gone"
    process = hosts.begin("run", written(hosts, "gone", workloads=LONG, blocks=3), "--out", run, "--quiet")

    def has_failed() -> bool:
        # Where it goes between two trials, it is only connected to again.
        there = " ".join(hosts.agents("lab2").values())
        if all(f"--name {node} " in f"{there} " for node in ("r1", "server")):
            hosts.disconnect("lab2")
        return any(trial["status"] == "failed" for trial in trials(run))

    wait_for(lambda: trials(run) != [])
    wait_for(has_failed)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 4, stderr
    failed = [trial for trial in trials(run) if trial["status"] == "failed"]
    assert all("lab2" in str(trial["reasons"]) for trial in failed), [trial["reasons"] for trial in failed]


def test_doctor(hosts: Machines, before: dict[str, str]) -> None:
    done = hosts.run("doctor", "--host", f"root@{hosts.address('lab1')}:{PORT}", "--json")
    assert done.returncode == 0, done.stderr
    by_name = {capability["name"]: capability for capability in json.loads(done.stdout)["capabilities"]}
    assert {name: by_name[name]["answer"] for name in ("ssh", "agent", "network namespaces", "ip", "veth")} == {
        "ssh": "yes",
        "agent": "yes",
        "network namespaces": "yes",
        "ip": "yes",
        "veth": "yes",
    }
    assert by_name["interface eth1"]["answer"] == "yes"
    assert by_name["interface eth1"]["reason"] == "it can be borrowed; it has no hardware clock"
    assert "interface lo" not in by_name
    assert "the connection to this machine uses it" in by_name["interface eth0"]["reason"]


def test_who_is_not_let_in(hosts: Machines) -> None:
    path = written(hosts, "refused")

    def refused(*words: str) -> None:
        done = hosts.run("run", path, "--out", hosts.scratch / "refused", "--quiet")
        assert done.returncode == 3
        assert all(word in done.stderr for word in words), done.stderr
        assert "Traceback" not in done.stderr
        assert not (hosts.scratch / "refused").exists()

    other = asyncssh.generate_private_key("ssh-ed25519")
    other.write_public_key(str(hosts.scratch / "other.pub"))
    hosts.know(hosts.scratch / "other.pub")
    refused("reaching lab", "its host key is not the one that known_hosts has for it")
    hosts.know(hosts.scratch / "host_key.pub")
    allowed = hosts.scratch / "authorized_keys"
    text = allowed.read_text()
    allowed.write_text("")
    refused("reaching lab", "it accepts none of your keys")
    allowed.write_text(text)


def test_what_a_host_does_not_lend(hosts: Machines, before: dict[str, str]) -> None:
    path = written(hosts, "unlent")
    path.write_text(path.read_text().replace("left: eth1", "left: eth0"))
    done = hosts.run("run", path, "--out", hosts.scratch / "unlent", "--quiet")
    assert done.returncode == 3
    assert "lab1: borrowing eth0: the connection to this machine uses it" in done.stderr
