"""Equipment between two interfaces: a namespace plays it, and another one the machine whose interfaces are lent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.commands import WITHOUT_FIGURES
from waiting import wait_for

EXPERIMENT = """\
experiment: router
dut:
  ports: [eth1, eth2]
  description: a namespace of Linux that forwards
workloads: {workloads}
blocks: 1
"""
SHORT = "[{ping: {count: 5, interval: 2ms}}, {frames: {frame: 128B, packet-rate: 500pps, duration: 100ms}}]"
LONG = "[{ping: {count: 50000, interval: 2ms}}]"
ROUTER = """\
link set lo up
address add 198.18.0.2/24 dev eth1
address add 2001:2::2/64 dev eth1 nodad
address add 198.18.1.1/24 dev eth2
address add 2001:2:0:1::1/64 dev eth2 nodad
link set eth1 up
link set eth2 up
"""


@dataclass(frozen=True)
class Bench:
    """A machine with two interfaces at equipment."""

    machine: str
    equipment: str

    def sixbench(self, *words: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=timeout, check=False)

    def command(self, *words: str | Path) -> list[str]:
        return ["ip", "netns", "exec", self.machine, *WITHOUT_FIGURES, *map(str, words)]

    def ip(self, *words: str) -> str:
        return ip("-n", self.machine, *words)

    def interfaces(self) -> dict[str, Any]:
        return {item["ifname"]: item for item in json.loads(self.ip("-j", "address", "show"))}

    def states(self) -> dict[str, tuple[int, bool, list[str]]]:
        """MTU, whether it is up, and its global addresses, of each interface."""
        return {
            name: (
                interface["mtu"],
                "UP" in interface["flags"],
                sorted(these["local"] for these in interface["addr_info"] if these["scope"] == "global"),
            )
            for name, interface in self.interfaces().items()
        }


def ip(*words: str, stdin: str = "") -> str:
    done = subprocess.run(["ip", *words], input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


@pytest.fixture
def bench() -> Iterator[Bench]:
    names = [f"sixbench-{what}-{os.getpid()}" for what in ("machine", "equipment")]
    for name in names:
        ip("netns", "add", name)
    machine, equipment = names
    try:
        for port in ("eth1", "eth2"):
            ip("-n", machine, "link", "add", port, "type", "veth", "peer", "name", port, "netns", equipment)
        for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            subprocess.run(["ip", "netns", "exec", equipment, "sysctl", "-qw", f"{name}=1"], check=True)
        ip("-n", equipment, "-batch", "-", stdin=ROUTER)
        yield Bench(machine, equipment)
    finally:
        for name in names:
            ip("netns", "delete", name)


def experiment(directory: Path, workloads: str = SHORT) -> Path:
    file = directory / "router.yaml"
    file.write_text(EXPERIMENT.format(workloads=workloads))
    return file


def test_equipment_is_tested_with_evidence_and_its_ports_are_as_they_were(bench: Bench, tmp_path: Path) -> None:
    bench.ip("link", "set", "eth1", "mtu", "1600", "up")
    before = bench.states()
    done = bench.sixbench("run", experiment(tmp_path), "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 0, done.stderr + done.stdout
    records = [json.loads(file.read_text()) for file in sorted((tmp_path / "run" / "trials").glob("*/trial.json"))]
    assert {record["path"] for record in records} == {"ipv4", "ipv6"}
    assert {record["workload"] for record in records} == {"ping", "frames"}
    for record in records:
        # A busy machine keeps the tester from its rate, which is no fault of the way.
        assert {reason["kind"] for reason in record["reasons"]} <= {"tester-limited"}, record["reasons"]
        assert [segment["node"] for segment in record["evidence"]["segments"]] == ["left", "right"]
        for segment in record["evidence"]["segments"]:
            assert (segment["other_addresses"], segment["other_hop_limits"]) == ({}, {})
        if record["workload"] == "frames":
            # A veth has none.
            words = "no hardware time stamps: eth1: it stamps no frames by hardware (at the sender)"
            assert words in record["notes"]
            assert record["metrics"]["one_way_delay_p50_ns"] > 0
    assert bench.states() == before
    assert "a namespace of Linux that forwards, at eth1 and eth2" in (tmp_path / "run" / "report.html").read_text()


def test_ports_that_are_in_use_come_back_with_addresses_and_routes(bench: Bench, tmp_path: Path) -> None:
    for command in (
        "address add 192.0.2.1/24 dev eth1",
        "address add 2001:db8::1/64 dev eth1 nodad",
        "link set eth1 up",
        "route add default via 192.0.2.254 dev eth1 metric 50",
        "-6 route add default via 2001:db8::fe dev eth1 metric 60",
    ):
        bench.ip(*command.split())
    before = bench.states(), bench.ip("route", "show", "default"), bench.ip("-6", "route", "show", "default")
    file = experiment(tmp_path, "[{ping: {count: 2, interval: 2ms}}]")
    done = bench.sixbench("run", file, "--out", tmp_path / "run", "--quiet", "--i-mean-it")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "--i-mean-it" not in (tmp_path / "run" / "manifest.json").read_text()
    after = bench.states(), bench.ip("route", "show", "default"), bench.ip("-6", "route", "show", "default")
    assert after == before


def test_ports_come_back_from_a_run_that_is_killed(bench: Bench, tmp_path: Path) -> None:
    before = bench.states()
    command = bench.command("run", experiment(tmp_path, LONG), "--out", tmp_path / "run", "--quiet")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        wait_for(lambda: not {"eth1", "eth2"} & bench.interfaces().keys())
        running.send_signal(signal.SIGKILL)
        running.wait(timeout=60)
    wait_for(lambda: bench.states() == before)


REFUSED: dict[str, tuple[list[str], str]] = {
    "missing": (
        ["link delete eth2"],
        "router.yaml:3: dut.ports: borrowing eth2: this machine has no such interface, or another run has it; it has "
        "eth1",
    ),
    "in use": (
        ["address add 192.0.2.1/24 dev eth2"],
        "router.yaml:3: dut.ports: borrowing eth2: it has the address 192.0.2.1; remove that address, or say "
        "--i-mean-it",
    ),
    "way out": (
        ["address add 192.0.2.1/24 dev eth1", "link set eth1 up", "route add default via 192.0.2.2 dev eth1"],
        "router.yaml:3: dut.ports: borrowing eth1: it has the machine's default route; name another one, or say "
        "--i-mean-it",
    ),
    "bridged": (
        ["link add br0 type bridge", "link set eth1 master br0"],
        "router.yaml:3: dut.ports: borrowing eth1: it is a port of br0; remove it from br0, or name another one",
    ),
    "stood on": (
        ["link set eth1 up", "link add vx0 type vxlan id 5 dev eth1 dstport 4789"],
        "router.yaml:3: dut.ports: borrowing eth1: vx0 is built on it and would not survive a move; remove vx0, or "
        "name another one",
    ),
    "one of two ways out": (
        [
            "link set lo up",
            "address add 192.0.2.1/32 dev lo",
            "link set eth1 up",
            "link set eth2 up",
            "route add default nexthop dev eth1 nexthop dev eth2",
        ],
        "router.yaml:3: dut.ports: borrowing eth1: it is one of the ways of the route to default, which has several "
        "next hops and could not be given back; remove that route, or name another one",
    ),
    "way out by a rule": (
        ["link set eth1 up", "route add default dev eth1 table 100"],
        "router.yaml:3: dut.ports: borrowing eth1: it has the machine's default route; name another one, or say "
        "--i-mean-it",
    ),
    "way to others": (
        ["link set eth2 up", "route add 203.0.113.0/24 dev eth2"],
        "router.yaml:3: dut.ports: borrowing eth2: the route to 203.0.113.0/24 leads over it; remove that route, or "
        "say --i-mean-it",
    ),
    "no carrier": (
        ["link set eth1 up"],
        "router.yaml:3: dut.ports: borrowing eth1: it has no carrier; connect it to the equipment, and switch that on",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_port_that_cannot_be_lent_is_refused_with_its_place(bench: Bench, tmp_path: Path, name: str) -> None:
    commands, words = REFUSED[name]
    if name == "no carrier":
        ip("-n", bench.equipment, "link", "set", "eth1", "down")
    for command in commands:
        bench.ip(*command.split())
    before = bench.states()
    done = bench.sixbench("run", experiment(tmp_path), "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 2
    assert done.stderr.strip().endswith(words)
    assert bench.states() == before


LISTENS = """
import socket, sys
if sys.argv[1] == "packets":
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    one.bind(("eth1", 3))
else:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth1")
    one.bind(("", 6868))
print("bound", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("what", ["packets", "datagrams"])
def test_a_port_at_which_a_program_listens_is_in_use(bench: Bench, tmp_path: Path, what: str) -> None:
    command = ["ip", "netns", "exec", bench.machine, sys.executable, "-c", LISTENS, what]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "bound\n"
        done = bench.sixbench("run", experiment(tmp_path), "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 2
    words = (
        r"router.yaml:3: dut.ports: borrowing eth1: a socket of python\S* is bound to it; end that program, or name "
        "another one, or say --i-mean-it"
    )
    assert re.search(words, done.stderr), done.stderr


def test_a_trial_in_which_a_port_loses_its_carrier_is_invalid_for_that_and_the_ports_come_back(
    bench: Bench, tmp_path: Path
) -> None:
    before = bench.states()
    frames = "[{frames: {frame: 128B, packet-rate: 200pps, duration: 10s}}]"
    command = bench.command("run", experiment(tmp_path, frames), "--out", tmp_path / "run", "--quiet")
    read = ["ip", "netns", "exec", bench.equipment, "cat", "/sys/class/net/eth1/statistics/rx_packets"]

    def received() -> int:
        return int(subprocess.run(read, capture_output=True, check=True).stdout)

    earlier = received()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        wait_for(lambda: received() - earlier > 500)
        ip("-n", bench.equipment, "link", "set", "eth2", "down")
        running.wait(timeout=120)
    records = [json.loads(file.read_text()) for file in sorted((tmp_path / "run" / "trials").glob("*/trial.json"))]
    first, second = sorted(records, key=lambda record: record["sequence"])
    assert first["status"] == "invalid"
    lost = {"kind": "link-down", "text": "eth2 of right lost the carrier during the trial (link dut-right)"}
    assert lost in first["reasons"]
    assert second["status"] == "failed"
    assert bench.states() == before
