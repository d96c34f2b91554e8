"""Teredo by Debian's miredo: a client to an IPv6 host through a relay, and two clients directly."""

from __future__ import annotations

import os
import shutil
import subprocess
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from lab.experiments import Finished, run, wrong
from lab.networks import Watched, built, execute

from sixbench.agent import AgentHub
from sixbench.mechanisms.teredo import SERVERS

EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths:
  to-ipv6: {teredo: [h1, r2]}
  directly: {teredo: {nodes: [h1, h2], server: r1}}
workloads:
  - ping: {count: 20, interval: 2ms}
  - udp-rr: {message: 200B, duration: 100ms, warmup: 0s}
  - tcp-stream: {duration: 200ms, warmup: 50ms}
blocks: 1
"""
OVER = "ipv6 in teredo in ipv4"
CARRIED = {"to-ipv6": [OVER, OVER, "ipv6"], "directly": [OVER] * 3}
OUTER = {"to-ipv6": {"198.18.0.1", "198.18.1.2"}, "directly": {"198.18.0.1", "198.18.2.2"}}


@pytest.fixture(autouse=True, scope="module")
def _miredo() -> None:
    path = f"{os.environ['PATH']}:/usr/sbin"
    missing = [name for name in ("miredo", "miredo-server") if shutil.which(name, path=path) is None]
    if missing:
        if os.environ.get("SIXBENCH_EXPECT_MIREDO") == "1":
            pytest.fail(f"{missing[0]} is not installed")
        pytest.skip(f"{missing[0]} is not installed; its package starts a client, so make does not install it")


@pytest.fixture(scope="module")
def finished(hub: AgentHub, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return run(hub, EXPERIMENT, tmp_path_factory.mktemp("teredo") / "run", whole_checksums=True)


def test_every_workload_goes_over_teredo_with_evidence(finished: Finished) -> None:
    assert wrong(finished.trials) == []
    assert {(trial.path, trial.engine) for trial in finished.trials} == {(path, "miredo") for path in CARRIED}
    for trial in finished.trials:
        segments = trial.evidence.segments or ()
        assert [segment.claimed for segment in segments] == CARRIED[trial.path]
        for segment in segments:
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)
        ends = {tunnel for devices in (trial.evidence.tunnels or {}).values() for tunnel in devices}
        assert ends == {"teredo-1"}, trial.key


def test_clients_have_the_addresses_that_captures_show_to_an_independent_reader(finished: Finished) -> None:
    """RFC 4380 section 4: the server, and the client's address as the server sees it."""
    for trial in finished.trials:
        decoded = [
            fields for fields in read(finished.captures(trial)["h1-r1"]) if fields["icmpv6.type"] not in NO_TRIAL
        ]
        assert decoded
        assert {fields["ip.src"] for fields in decoded} | {fields["ip.dst"] for fields in decoded} == OUTER[trial.path]
        clients = {
            address
            for fields in decoded
            for name in ("ipv6.src", "ipv6.dst")
            if (address := IPv6Address(fields[name])).teredo is not None
        }
        hosts = ("198.18.0.1",) if trial.path == "to-ipv6" else ("198.18.0.1", "198.18.2.2")
        assert {client.teredo for client in clients} == {(SERVERS[0], IPv4Address(host)) for host in hosts}


BEHIND_A_NAT = """
topology:
  nodes: {h1: host, n1: {kind: router, masquerade: true}, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, n1], ipv4: [192.168.1.2/24, 192.168.1.1/24]}
    - {endpoints: [n1, r1]}
    - {endpoints: [r1, r2]}
    - {endpoints: [r2, h2]}
between: [h1, h2]
paths: PATHS
"""
PRIVATE, OUTSIDE = "192.168.1.2", "198.18.1.1"
NO_NEXT_HEADER = 59
"""Next header of a bubble: an IPv6 packet without anything in it (RFC 4380 section 2.8)."""


def test_a_client_behind_a_nat_is_known_by_its_mapped_address(hub: AgentHub, tmp_path: Path) -> None:
    """RFC 4380 sections 4 and 5.2: with evidence on both sides of the NAT."""
    _, _, workloads = EXPERIMENT.partition("workloads:")
    paths = "{to-ipv6: {teredo: [h1, r2]}, directly: {teredo: {nodes: [h1, h2], server: r1}}}"
    text = BEHIND_A_NAT.replace("PATHS", paths) + "workloads:" + workloads
    finished = run(hub, text, tmp_path / "run", whole_checksums=True)
    assert wrong(finished.trials) == []
    assert {trial.path for trial in finished.trials} == set(CARRIED)
    for trial in finished.trials:
        files = finished.captures(trial)
        for link, these in (("h1-n1", PRIVATE), ("n1-r1", OUTSIDE)):
            decoded = [fields for fields in read(files[link]) if fields["icmpv6.type"] not in NO_TRIAL]
            peer = "198.18.2.2" if trial.path == "to-ipv6" else "198.18.3.2"
            assert {fields[name] for fields in decoded for name in ("ip.src", "ip.dst")} == {these, peer}, trial.key
            inner = {IPv6Address(fields[name]) for fields in decoded for name in ("ipv6.src", "ipv6.dst")}
            assert (SERVERS[0], IPv4Address(OUTSIDE)) in {item.teredo for item in inner}
            # The obscured port is the one that the NAT sends from.
            ports = {fields["udp.srcport"].split(",")[0] for fields in decoded if fields["ip.src"] == these}
            obscured = {int(item) >> 32 & 0xFFFF for item in inner if item.teredo == (SERVERS[0], IPv4Address(OUTSIDE))}
            assert {str(port ^ 0xFFFF) for port in obscured} == ports


@pytest.mark.parametrize(
    ("path", "peer"),
    [("{teredo: [h1, r2]}", "198.18.2.2"), ("{teredo: {nodes: [h1, h2], server: r1}}", "198.18.3.2")],
)
def test_bubbles_open_the_nat(hub: AgentHub, tmp_path: Path, path: str, peer: str) -> None:
    """RFC 4380 sections 5.2.4 and 5.4.2: a NAT that lets nobody in who was not sent to is opened by bubbles, through
    the server and directly, before the first packet goes directly."""
    lab, network, _ = built(hub, BEHIND_A_NAT.replace("PATHS", f"{{p: {path}}}"))
    try:
        watched = Watched(lab.agents["n1"], "eth1")
        to = str(network.with_learned(lab.learned).legs[-1].destination)
        execute(lab.agents["h1"], "ping", "-c", "3", "-i", "0.2", "-W", "5", to)
        packets = datagrams(watched.file(tmp_path))
    finally:
        lab.close()
    bubbles = [(packet["ip.src"], packet["ip.dst"]) for packet in packets if packet["ipv6.nxt"] == str(NO_NEXT_HEADER)]
    direct = [packet for packet in packets if {packet["ip.src"], packet["ip.dst"]} == {OUTSIDE, peer}]
    assert direct, packets
    servers = {str(server) for server in SERVERS}
    assert any(servers & set(ends) for ends in bubbles) or any(peer in ends for ends in bubbles), packets
    first = packets.index(next(item for item in direct if item["ipv6.nxt"] != str(NO_NEXT_HEADER)))
    assert any(packet["ipv6.nxt"] == str(NO_NEXT_HEADER) for packet in packets[:first]), packets


FIELDS = ("ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "icmpv6.type", "ipv6.nxt", "udp.srcport")
NO_TRIAL = ("133", "134")


def read(file: Path) -> list[dict[str, str]]:
    """Fields of the Teredo packets of a capture that are not empty, which bubbles are."""
    return [packet for packet in datagrams(file) if packet["ipv6.nxt"] != str(NO_NEXT_HEADER)]


def datagrams(file: Path) -> list[dict[str, str]]:
    """Fields of all Teredo packets, by tshark."""
    words = ["tshark", "-r", str(file), "-d", "udp.port==3545,teredo", "-Y", "teredo", "-T", "fields"]
    fields = [word for name in FIELDS for word in ("-e", name)]
    done = subprocess.run([*words, *fields], capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
