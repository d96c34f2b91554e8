"""IPv6 packets that are whole and have a Fragment header all the same (atomic fragments, RFC 6946, RFC 8021): how
captures call them, what the kernel counts, what routers make of them, and those that `df: atomic` sends."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fragments_lab import FragmentsLab, Profile
from lab.experiments import run, wrong
from waiting import wait_for

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratory
from sixbench.bench.witnesses.losses import rule_counters
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

CLIENT, SERVER = "2001:2::1", "2001:2:0:1::2"
SENT = 10
DISCARD_PORT = 9
COUNTERS = ("ReasmReqds", "ReasmOKs", "NoPorts")

SENDER = f"""
import socket, struct
source, destination = (socket.inet_pton(socket.AF_INET6, text) for text in ("{CLIENT}", "{SERVER}"))
payload = b"sixbench"
head = struct.pack("!HHH", 5000, {DISCARD_PORT}, 8 + len(payload))
summed = source + destination + struct.pack("!II", 8 + len(payload), 17) + head + bytes(2) + payload
total = sum(struct.unpack(f"!{{len(summed) // 2}}H", summed))
while total >> 16:
    total = (total & 0xFFFF) + (total >> 16)
udp = head + struct.pack("!H", ~total & 0xFFFF or 0xFFFF) + payload
with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_FRAGMENT) as raw:
    for identification in range({SENT}):
        raw.sendto(struct.pack("!BBHI", 17, 0, 0, identification) + udp, ("{SERVER}", 0))
"""
"""UDP datagrams behind a Fragment header of offset 0 without More Fragments, to a port where nobody listens."""


@pytest.fixture
def build(hub: AgentHub) -> Callable[[str], Laboratory]:
    """A router between two hosts, with settings."""

    def built(settings: str) -> Laboratory:
        text = f"topology: {{chain: 3, nodes: {{r1: {{{settings}}}}}}}"
        return Laboratory(hub, Blueprint(topology=read_topology_only(parse_yaml(text, "test.yaml"))))

    return built


def counted(lab: Laboratory) -> dict[str, int]:
    snmp = lab.agents["h2"].call("counters")["snmp"]
    return {
        name: snmp[group][name] for group, name in (("Ip6", "ReasmReqds"), ("Ip6", "ReasmOKs"), ("Udp6", "NoPorts"))
    }


def wait_for_all(lab: Laboratory, arrived: int) -> None:
    """Until each packet has arrived or was dropped by the router."""

    def accounted() -> int:
        # Both counters only grow, so a packet that the sum has has been dealt with.
        dropped = rule_counters(lab.topology, {"r1": lab.agents["r1"]}).get("r1", {}).get("fragments", 0)
        return counted(lab)["NoPorts"] - arrived + dropped

    wait_for(lambda: accounted() >= SENT, lambda: f"{accounted()} of {SENT} packets arrived or were dropped")


def sent(lab: Laboratory) -> tuple[dict[str, int], list[dict[str, Any] | None]]:
    """Increases of h2's counters by the packets, and each packet's fragment header where it arrives."""
    before = counted(lab)
    server = lab.agents["h2"]
    server.call(
        "capture-start",
        capture="test",
        interface="eth0",
        addresses=[],
        after_ns=0,
        max_packets=1000,
        max_ns=60_000_000_000,
        snaplen_bytes=2000,
    )
    done = lab.agents["h1"].call("exec", argv=[sys.executable, "-c", SENDER])
    assert done["exit"] == 0, done["stderr"]
    wait_for_all(lab, before["NoPorts"])
    packets = server.call("capture-stop", capture="test")["packets"]
    after = counted(lab)
    seen = [
        packet["layers"][1]["fragment"]
        for packet in packets
        if packet["layers"][-1].get("destination_port") == DISCARD_PORT and packet["layers"][1]["kind"] == "ipv6"
    ]
    return {name: after[name] - before[name] for name in after}, seen


@pytest.mark.parametrize("settings", ["", "drop: first-fragments", "drop: later-fragments"])
def test_they_are_whole_to_captures_to_the_kernel_and_to_who_drops_parts(
    build: Callable[[str], Laboratory], settings: str
) -> None:
    """The kernel counts each as a fragment that it puts together (RFC 4293 ipSystemStatsReasmReqds)."""
    rise, seen = sent(build(settings))
    assert rise == {"ReasmReqds": SENT, "ReasmOKs": SENT, "NoPorts": SENT}
    assert seen == [{"offset_bytes": 0, "more": False, "identification": number} for number in range(SENT)]


def test_who_drops_all_fragments_drops_them(build: Callable[[str], Laboratory]) -> None:
    assert sent(build("drop: fragments")) == ({"ReasmReqds": 0, "ReasmOKs": 0, "NoPorts": 0}, [])


def test_a_router_that_tracks_connections_takes_the_header_off(build: Callable[[str], Laboratory]) -> None:
    rise, seen = sent(build("masquerade: true"))
    assert rise == {"ReasmReqds": 0, "ReasmOKs": 0, "NoPorts": SENT}
    assert seen == [None] * SENT


FIELDS = (
    *("frame.section_number", "ipv6.hlim", "ipv6.fraghdr.nxt", "ipv6.fraghdr.offset", "ipv6.fraghdr.more"),
    *("ipv6.fraghdr.ident", "udp.length", "udp.checksum.status"),
)
RIGHT = "1"
"""Value of tshark for a checksum that is right."""


@pytest.mark.parametrize(
    "profile",
    [
        Profile(mtus=(1500, 1500, 1500), mechanism="native6"),
        Profile(mtus=(1500, 1500, 1500), mechanism="6in4", nodes=("r1", "r2"), engine="user"),
    ],
    ids=lambda profile: profile.mechanism,
)
def test_tshark_reads_what_is_sent_as_atomic_fragments(hub: AgentHub, profile: Profile, tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    size_bytes = 1001
    with FragmentsLab(hub, profile, tmp_path) as lab:
        seen = lab.send(size_bytes, SENT, df="atomic")
    assert (seen.client["sent"], seen.server["unique"], seen.client["errors"]) == (SENT, SENT, {})
    words = ["tshark", "-r", str(seen.capture), "-Y", "udp", "-T", "fields", "-E", "separator=,"]
    words += ["-o", "udp.check_checksum:TRUE", *(word for name in FIELDS for word in ("-e", name))]
    read = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    # Routers, and a tunnel's entry, which forwards, take one off the hop limit each.
    expected = [
        [str(section + 1), str(64 - section), "17", "0", "0", str(number), str(size_bytes + 8), RIGHT]
        for section in range(3)
        for number in range(SENT)
    ]
    assert sorted(_numbered(line) for line in read) == sorted(expected)


def _numbered(line: str) -> list[str]:
    """The fields of a line, with flags and identification as decimal numbers."""
    fields = line.split(",")
    fields[4] = {"False": "0", "True": "1"}.get(fields[4], fields[4])
    fields[5] = str(int(fields[5], 0))
    return fields


EXPERIMENT = """
topology:
  nodes: {h1: host, r1: {kind: router, drop: $drop}, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1]}
    - {endpoints: [r1, r2]}
    - {endpoints: [r2, h2]}
factors: {drop: [none, fragments]}
between: [h1, h2]
paths: {native: native6, tunnel: {6in4: {nodes: [r1, r2]}}}
baseline: native
workloads: [{udp-stream: {datagram: 1000B, packet-rate: 500pps, count: 100, df: [clear, atomic]}}]
blocks: 1
"""


def test_an_experiment_tells_what_they_meet_and_theory_agrees(hub: AgentHub, tmp_path: Path) -> None:
    trials = run(hub, EXPERIMENT, tmp_path / "run").trials
    assert wrong(trials) == []
    assert len(trials) == 8
    for trial in trials:
        is_atomic, is_dropped = trial.levels["df"] == "atomic", trial.levels["drop"] == "fragments"
        fragments, first = trial.evidence.fragments, trial.evidence.segments[0]
        assert fragments.agrees, trial.notes
        assert first.atomic_fragments == (sum(first.stacks.values()) if is_atomic else 0)
        inner_bytes = 1000 + 8 + (8 if is_atomic else 0) + 40
        middle_bytes = inner_bytes + (20 if trial.path == "tunnel" else 0)
        behind = [(), ()] if is_atomic and is_dropped else [(middle_bytes,), (inner_bytes,)]
        assert [link.sizes_bytes for link in fragments.links] == [(inner_bytes,), *behind]
        if is_atomic and is_dropped:
            [lost] = trial.evidence.losses.located
            assert (lost.node, lost.what, lost.datagrams) == ("r1", "a filter", 100)
            continue
        counted = fragments.nodes.get("h2", {}).get("ipv6", {})
        assert counted == ({"collected": 100, "reassembled": 100} if is_atomic else {})


REVERSE = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], mtu: 1300}
    - {endpoints: [r1, h2]}
between: [h1, h2]
paths: {native: native6}
workloads: [{udp-stream: {datagram: 1245B, packet-rate: 100pps, count: 50, direction: reverse, df: [set, atomic]}}]
blocks: 1
"""


def test_a_server_that_sends_them_learns_the_path_mtu_and_counts_the_fragment_header(
    hub: AgentHub, tmp_path: Path
) -> None:
    trials = {trial.levels["df"]: trial for trial in run(hub, REVERSE, tmp_path / "run").trials}
    assert wrong(list(trials.values())) == []
    # 1245 bytes and 48 of UDP and IPv6 fit in 1300, and 8 more do not.
    assert trials["set"].metrics["refused_ratio"] == 0
    assert trials["set"].metrics["loss_ratio"] == 0
    assert trials["atomic"].metrics["refused_ratio"] > 0
    assert trials["atomic"].metrics["loss_ratio"] == 1
