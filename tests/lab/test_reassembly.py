"""Fragments that wait for others which never come: they take no more memory than they may, and are counted."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratory
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

LIMIT_BYTES = 65536
LARGEST_FRAGMENT_BYTES = 4096
"""Most memory of the kernel that one fragment of 1500 bytes takes."""
SENT = 200

NETWORK = f"""
topology:
  chain: 3
  nodes:
    r1: {{drop: later-fragments}}
    h2:
      sysctl:
        net.ipv4.ipfrag_low_thresh: {LIMIT_BYTES // 2}
        net.ipv4.ipfrag_high_thresh: {LIMIT_BYTES}
        net.ipv6.ip6frag_low_thresh: {LIMIT_BYTES // 2}
        net.ipv6.ip6frag_high_thresh: {LIMIT_BYTES}
"""


@pytest.fixture
def lab(hub: AgentHub) -> Laboratory:
    """A router that lets first fragments through only, and a server that keeps few of them."""
    return Laboratory(hub, Blueprint(topology=read_topology_only(parse_yaml(NETWORK, "test.yaml"))))


def counters(lab: Laboratory) -> dict[str, Any]:
    return lab.agents["h2"].call("counters")


@pytest.mark.parametrize(
    ("family", "group", "server"), [("ipv4", "Ip", "198.18.1.2"), ("ipv6", "Ip6", "2001:2:0:1::2")]
)
def test_a_flood_of_first_fragments_is_bounded_and_counted(
    lab: Laboratory, family: str, group: str, server: str
) -> None:
    before = counters(lab)
    assert before["reassembly"][family] == {"queues": 0, "memory_bytes": 0}
    argv = ["ping", "-n", "-q", "-c", str(SENT), "-i", "0.002", "-W", "0.1", "-s", "2000", server]
    lab.agents["h1"].call("exec", argv=argv)
    after = counters(lab)
    rise = {name: after["snmp"][group][name] - before["snmp"][group][name] for name in before["snmp"][group]}
    waiting = after["reassembly"][family]
    assert 0 < waiting["queues"] < SENT
    assert LARGEST_FRAGMENT_BYTES < waiting["memory_bytes"] <= LIMIT_BYTES + LARGEST_FRAGMENT_BYTES
    assert (rise["ReasmReqds"], rise["ReasmOKs"]) == (SENT, 0)
    assert rise["ReasmFails"] == SENT - waiting["queues"]
