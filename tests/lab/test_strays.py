"""Strangers that flood a trial's socket or forge its segments: the trial is invalid, whatever it measured."""

from __future__ import annotations

import subprocess
import sys

import pytest
from lab.experiments import read
from reasons import kinds

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratories
from sixbench.bench.record import TrialTask
from sixbench.bench.trial import References, run_trial
from sixbench.model.reason import ReasonKind
from sixbench.model.trial import TrialRecord
from sixbench.plan.schedule import block_order
from sixbench.theory import expected_amid_changes

EXPERIMENT = """
topology:
  nodes: {h1: host, h2: host}
  links: [{endpoints: [h1, h2]}]
paths: {ipv4: native4}
workloads: [{udp-rr: {duration: 500ms, warmup: 50ms}}]
blocks: 1
"""

FLOOD = """
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setblocking(False)
while True:
    with open("/proc/net/udp") as sockets:
        ends = [line.split()[2] for line in sockets.readlines()[1:]]
    for address, port in (end.split(":") for end in ends):
        target = socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)
        for _ in range(1000 if target[1] else 0):
            try:
                sender.sendto(bytes(64), target)
            except OSError:
                pass
"""
"""Sends datagrams to the peers of all connected UDP sockets of its namespace, which is the client's."""


TCP = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: 50Mbit}
    - {endpoints: [r1, h2], rate: 50Mbit}
paths: {ipv4: native4}
workloads: [{tcp-stream: {duration: 500ms, warmup: 50ms}}]
blocks: 1
"""

FORGE = """
import socket, struct, sys
RST, ACK = 4, 16
def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
taken = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
forged = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
while True:
    packet, (_, _, kind, *_) = taken.recvfrom(65535)
    if kind != socket.PACKET_HOST or packet[9] != socket.IPPROTO_TCP or len(packet) < 1000:
        continue
    ports, (sequence, acknowledged) = packet[20:24], struct.unpack("!II", packet[24:32])
    if sys.argv[1] == "replayed":
        forged.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
        continue
    flags, offset = {"reset": (RST, 2**31), "reset in the window": (RST, 5000), "outside": (ACK, -2**30)}[sys.argv[1]]
    numbers = struct.pack("!IIBBHHH", (sequence + offset) % 2**32, acknowledged, 5 << 4, flags, 512, 0, 0)
    segment = bytearray(ports + numbers)
    segment[16:18] = struct.pack("!H", checksum(packet[12:20] + struct.pack("!HH", 6, len(segment)) + bytes(segment)))
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, packet[8] - 1, 6, 0) + packet[12:20]
    forged.sendto(header + segment, (socket.inet_ntoa(packet[16:20]), 0))
"""
"""Forges a segment in the client's name for each full one that comes to its namespace, which is the router's."""


def trial_beside(hub: AgentHub, text: str, node: str, program: str, *arguments: str) -> TrialRecord:
    """A trial during which a program runs in the namespace of a node."""
    experiment = read(hub, text)
    laboratories = Laboratories(hub, experiment)
    try:
        laboratory, network = laboratories.get(experiment.paths[0], 0)
        inside = ["nsenter", "--target", str(laboratory.agents[node].pid), "--net"]
        stranger = subprocess.Popen([*inside, sys.executable, "-I", "-c", program, *arguments])
        try:
            (planned,) = block_order(experiment, 1)
            trial = TrialTask(
                experiment=experiment, combination=experiment.combinations[0], planned=planned, sequence=1
            )
            return run_trial(trial, laboratory, network, References(theory=expected_amid_changes)).record
        finally:
            stranger.kill()
            stranger.wait()
    finally:
        laboratories.close()


def test_a_flooded_trial_is_invalid(hub: AgentHub) -> None:
    record = trial_beside(hub, EXPERIMENT, "h1", FLOOD)
    assert record.status == "invalid"
    assert ReasonKind.STRAYS in kinds(record.reasons)


@pytest.mark.parametrize("what", ["reset", "reset in the window", "outside", "replayed"])
def test_a_trial_with_many_forged_segments_is_invalid(hub: AgentHub, what: str) -> None:
    record = trial_beside(hub, TCP, "r1", FORGE, what)
    assert record.status == "invalid"
    assert ReasonKind.STRAYS in kinds(record.reasons)
    assert record.evidence.arrived is not None
    server = record.evidence.arrived["h2"]
    assert server.strays > 100, server
    assert server.arrived > server.sent
    if what == "reset in the window":
        assert server.refused["TCPChallengeACK"] + server.refused.get("TCPACKSkippedChallenge", 0) > 100


def test_forged_resets_among_super_packets_are_counted_by_the_kernels_reports(hub: AgentHub) -> None:
    record = trial_beside(hub, TCP.replace(", rate: 50Mbit", ""), "r1", FORGE, "reset")
    assert record.evidence.arrived is not None
    assert record.evidence.losses is not None
    if record.evidence.losses.not_told is None:
        server = record.evidence.arrived["h2"]
        assert server.strays > 100, server
        assert "TCP_INVALID_SEQUENCE" in server.refused


def test_a_trial_without_strangers_has_no_strays(hub: AgentHub) -> None:
    record = trial_beside(hub, TCP, "r1", "import signal; signal.pause()")
    assert record.evidence.arrived is not None
    assert [item.strays for item in record.evidence.arrived.values()] == [0, 0]
    assert ReasonKind.STRAYS not in kinds(record.reasons)
