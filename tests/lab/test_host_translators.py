"""Translators in the client itself: an IPv4 program on a host whose links carry IPv6 alone, by 464XLAT and by bih."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab.experiments import run, wrong

from sixbench.agent import AgentHub

NETWORK = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2], mtu: {mtu}}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths:
  phone: {{464xlat: {{nodes: [h1, r2], engine: ebpf}}}}
  bump: {{bih: {{nodes: [h1], engine: ebpf}}}}
{more}baseline: phone
blocks: 1
"""
WORKLOADS = """
workloads:
  - ping: {count: 10, interval: 1ms}
  - udp-rr: {message: 200B, duration: 20ms, warmup: 0s}
  - tcp-stream: {bytes: 1MB, direction: [forward, reverse], warmup: 0s}
  - udp-stream: {datagram: 3000B, rate: 5Mbit, duration: 20ms, warmup: 0s}
"""
BY_USER_SPACE = "  slow: {464xlat: {nodes: [h1, r2], engine: user}}\n"
CLAT = "2001:db8:c1a7::c000:2"
SOURCES = {"phone": CLAT, "slow": CLAT, "bump": "2001:db8:b1b::ac15:7001"}


def test_every_workload_with_evidence(hub: AgentHub, tmp_path: Path) -> None:
    finished = run(hub, NETWORK.format(mtu=1500, more=BY_USER_SPACE) + WORKLOADS, tmp_path / "run")
    assert wrong(finished.trials) == []
    for trial in finished.trials:
        source = SOURCES[trial.path]
        first, *_, last = trial.evidence.segments or ()
        assert set(first.stacks) <= {"ipv6", "fragment of ipv6"}, trial.key
        assert all(source in pair.split(" > ") for pair in first.outer), (trial.key, first.outer)
        assert last.claimed == ("ipv6" if trial.path == "bump" else "ipv4")
        for segment in (first, last):
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)
        [counted] = (trial.evidence.translators or {})["h1"].values()
        slow = sum(count.packets for count in counted.slow.values())
        if trial.engine == "ebpf" and trial.workload in ("ping", "udp-rr"):
            assert slow < 10 <= counted.to_ipv6.packets, "packets of the host itself take the fast path, both ways"


def test_path_mtus_are_learned_by_the_host(hub: AgentHub, tmp_path: Path) -> None:
    finished = run(hub, NETWORK.format(mtu=1300, more="") + "workloads: [pmtu]\n", tmp_path / "run")
    assert wrong(finished.trials) == []
    collected = {}
    for trial in finished.trials:
        record = json.loads((finished.directory / "trials" / trial.key / "trial.json").read_text())
        forward, reverse = record["client"]["forward"], record["server"]["reverse"]
        collected[trial.path] = [forward["kernel_bytes"], forward["probed_bytes"], reverse["kernel_bytes"]]
    assert collected == {"phone": [1280, 1280, 1280], "bump": [1280, 1280, 1300]}


BY_NAME = """\
topology:
  nodes: {client: host, r1: router, server: host}
  links: [{endpoints: [client, r1]}, {endpoints: [r1, server]}]
between: [client, server]
paths: {bump: {bih: [client]}}
workloads: [ping]
"""
NAME = "bump-by-name"
ASKING = """
getent ahostsv4 server | head -n 1
getent ahostsv6 server | head -n 1
getent hosts 172.21.112.4
ping -4 -c 1 -W 20 server | head -n 1
"""


def test_an_ipv4_program_finds_an_ipv6_server_by_its_name(sixbench: Any, tmp_path: Path) -> None:
    file = tmp_path / "office.yaml"
    file.write_text(BY_NAME)
    up = sixbench("lab", "up", file, "--path", "bump", "--lab", NAME)
    assert up.returncode == 0, up.stderr
    try:
        done = sixbench("lab", "exec", "--lab", NAME, "client", "--", "sh", "-c", ASKING)
        elsewhere = sixbench("lab", "exec", "--lab", NAME, "r1", "--", "getent", "ahostsv4", "server")
    finally:
        assert sixbench("lab", "down", "--lab", NAME).returncode == 0
    assert done.stderr == ""
    ipv4, ipv6, pointer, echoed = done.stdout.splitlines()
    assert ipv4.split() == ["172.21.112.4", "STREAM", "server"]
    assert ipv6.split()[0] == "2001:2:0:1::2"
    assert pointer.split() == ["172.21.112.4", "server"]
    assert "(172.21.112.4)" in echoed
    assert elsewhere.stdout == "", "the addresses of the pool are the client's alone"
