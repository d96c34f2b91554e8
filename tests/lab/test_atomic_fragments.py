"""IPv6 packets that are whole and have a Fragment header all the same (atomic fragments, RFC 6946, RFC 8021): how
captures call them, what the kernel counts, and what routers make of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from sixbench.agent import AgentHub
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml
from sixbench.run.drop_watch import rule_counters
from sixbench.run.laboratory import Laboratory

CLIENT, SERVER = "2001:2::1", "2001:2:0:1::2"
SENT = 10
DISCARD_PORT = 9
PATIENCE_S = 20
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
    until = time.monotonic() + PATIENCE_S
    while True:
        dropped = rule_counters(lab.topology, {"r1": lab.agents["r1"]}).get("r1", {}).get("fragments", 0)
        if counted(lab)["NoPorts"] - arrived + dropped >= SENT:
            return
        assert time.monotonic() < until, "packets that neither arrived nor were dropped"


def sent(lab: Laboratory) -> tuple[dict[str, int], list[dict[str, Any] | None]]:
    """What h2 counted of them, and what is said of each one's fragment header where it arrives."""
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
