"""Queues before rates, as the Linux kernel takes them: that of user-mode Linux, which has CoDel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kernel_peer import UmlPeer
from kernel_peer.process import execute

from sixbench.agent import Agent
from sixbench.lab.queues import queue_lines
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

TOPOLOGY = "nodes: {{h1: host, h2: host}}\nlinks: [{{endpoints: [h1, h2], rate: 10Mbit, {settings}}}]\n"


@pytest.fixture(scope="module")
def peer(router: Agent) -> Iterator[UmlPeer]:
    execute(router.pid, "ip", "tuntap", "add", "dev", "tap0", "mode", "tap", "vnet_hdr")
    with UmlPeer.boot(router.pid, ["tap0"], ["sch_tbf", "sch_codel", "sch_fq_codel", "dummy"], first=True) as peer:
        peer.run("ip link add eth0 type dummy && ip link set eth0 up")
        yield peer


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ("queue: 30 packets", "pfifo 2: parent 1:1 limit 30p"),
        ("queue-discipline: codel", "codel 2: parent 1:1 limit 1000p target 5ms interval 100ms"),
        (
            "queue: 200 packets, queue-discipline: codel, queue-target: 10ms, queue-interval: 150ms, queue-ecn: true",
            "codel 2: parent 1:1 limit 200p target 10ms interval 150ms ecn",
        ),
        (
            "queue-discipline: fq_codel",
            "fq_codel 2: parent 1:1 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms "
            "memory_limit 32Mb ecn",
        ),
        (
            "queue: 250ms, queue-discipline: fq_codel, queue-target: 8ms, queue-ecn: false",
            "fq_codel 2: parent 1:1 limit 206p flows 1024 quantum 1514 target 8ms interval 100ms memory_limit 32Mb",
        ),
    ],
)
def test_the_kernel_makes_the_queue_that_was_asked_for(peer: UmlPeer, settings: str, shown: str) -> None:
    link = read_topology_only(parse_yaml(TOPOLOGY.format(settings=settings), "peers.yaml")).wires[0]
    texts = [f"tc {line}" for line in queue_lines(link, link.ends[0])]
    peer.run(" && ".join(["{ tc qdisc del dev eth0 root 2>/dev/null || true; }", *texts]))
    lines = [" ".join(line.split()) for line in peer.run("tc qdisc show dev eth0").stdout.splitlines()]
    assert f"qdisc {shown}" in [line.partition(" drop_batch")[0] for line in lines]
