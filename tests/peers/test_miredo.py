"""Teredo by Debian's miredo: a client to an IPv6 host through a relay, and two clients directly."""

from __future__ import annotations

import os
import shutil
import subprocess
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from lab.experiments import Finished, run, wrong

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
        assert {one.teredo for one in clients} == {(SERVERS[0], IPv4Address(host)) for host in hosts}


FIELDS = ("ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "icmpv6.type", "ipv6.nxt")
NO_TRIAL = ("133", "134")


def read(file: Path) -> list[dict[str, str]]:
    """What tshark finds in the Teredo packets of a capture that are not empty, which bubbles are."""
    words = ["tshark", "-r", str(file), "-d", "udp.port==3545,teredo", "-Y", "teredo && ipv6.nxt != 59", "-T", "fields"]
    fields = [word for name in FIELDS for word in ("-e", name)]
    done = subprocess.run([*words, *fields], capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
