"""Queues before rates: what a file may ask for, and what tc is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.lab.queues import queue_bytes, queue_lines
from sixbench.model.direction import RateQueue
from sixbench.model.experiment import Experiment
from sixbench.model.topology import Link

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

TEXT = """
topology:
  nodes: {{h1: host, h2: host}}
  links: [{{endpoints: [h1, h2], {link}}}]
paths: {{ipv4: native4, ipv6: native6}}
workloads: [ping: {{count: 10}}]
"""
TBF = "qdisc add dev eth0 root handle 1: tbf rate 1000000bit burst 3076"


def link_of(read: Read, link: str) -> Link:
    return read(TEXT.format(link=link)).topologies[0].links[0]


@pytest.mark.parametrize(
    ("settings", "queue"),
    [
        ("rate: 1Mbit", RateQueue()),
        ("rate: 1Mbit, queue: 20ms", RateQueue(limit_ns=20_000_000)),
        ("rate: 1Mbit, queue: 64KiB", RateQueue(limit_bytes=65536)),
        ("rate: 1Mbit, queue: 1 packet", RateQueue(limit_packets=1)),
        ("rate: 1Mbit, queue: 100packets", RateQueue(limit_packets=100)),
        ("rate: 1Mbit, queue-discipline: fq_codel", RateQueue(discipline="fq_codel")),
        (
            "rate: 1Mbit, queue-discipline: codel, queue-target: 10ms, queue-interval: 200ms, queue-ecn: true",
            RateQueue(discipline="codel", target_ns=10_000_000, interval_ns=200_000_000, ecn=True),
        ),
    ],
)
def test_what_a_file_may_ask_for(read: Read, settings: str, queue: RateQueue) -> None:
    assert [direction.queue for direction in link_of(read, settings).directions] == [queue, queue]


def test_a_direction_may_have_a_queue_of_its_own(read: Read) -> None:
    link = link_of(read, "rate: 1Mbit, queue: 20ms, reverse: {rate: 4Mbit, queue: 5 packets}")
    assert [direction.queue for direction in link.directions] == [
        RateQueue(limit_ns=20_000_000),
        RateQueue(limit_packets=5),
    ]
    assert [line.split(" limit ")[1].split()[0] for line in queue_lines(link, link.ends[0])] == ["5576"]
    assert queue_lines(link, link.ends[1])[1] == "qdisc add dev eth0 parent 1:1 handle 2: pfifo limit 5"


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ("mtu: 1500", []),
        ("rate: 1Mbit", [f"{TBF} limit 134148 overhead 24 mpu 84"]),
        ("rate: 1Mbit, queue: 64KiB", [f"{TBF} limit 68612 overhead 24 mpu 84"]),
        (
            "rate: 1Mbit, queue: 10 packets",
            [f"{TBF} limit 18216 overhead 24 mpu 84", "qdisc add dev eth0 parent 1:1 handle 2: pfifo limit 10"],
        ),
        (
            "rate: 1Mbit, queue-discipline: codel, queue-target: 10ms, queue-ecn: true",
            [
                f"{TBF} limit 1517076 overhead 24 mpu 84",
                "qdisc add dev eth0 parent 1:1 handle 2: codel limit 1000 target 10000us ecn",
            ],
        ),
        (
            "rate: 1Mbit, queue: 64KiB, queue-discipline: fq_codel, queue-interval: 50ms, queue-ecn: false",
            [
                f"{TBF} limit 68178 overhead 24 mpu 84",
                "qdisc add dev eth0 parent 1:1 handle 2: fq_codel limit 43 interval 50000us noecn",
            ],
        ),
        (
            "rate: 1Mbit, queue: 10 packets, delay: 1ms, emulator: netem",
            [
                "qdisc add dev eth0 root handle 10: netem delay 1000us limit 100000",
                f"{TBF.replace('root', 'parent 10:1')} limit 18216 overhead 24 mpu 84",
                "qdisc add dev eth0 parent 1:1 handle 2: pfifo limit 10",
            ],
        ),
    ],
)
def test_what_tc_is_told(read: Read, settings: str, lines: list[str]) -> None:
    link = link_of(read, settings)
    assert queue_lines(link, link.ends[0]) == lines


@pytest.mark.parametrize(
    ("settings", "held_bytes"),
    [
        ("rate: 1Mbit, queue: 10 packets", 15_140),
        ("rate: 8Mbit, queue: 100ms", 100_000),
        ("rate: 1Mbit, queue-discipline: codel", 1_514_000),
    ],
)
def test_what_a_queue_can_hold(read: Read, settings: str, held_bytes: int) -> None:
    link = link_of(read, settings)
    assert queue_bytes(link, link.directions[0]) == held_bytes


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ("queue: 20ms", "queue", "queue needs rate: add it, or leave queue out"),
        ("rate: 1Mbit, queue: 0 packets", "queue", '"0 packets" is not a queue: give a time (50ms), a size (100KiB)'),
        ("rate: 1Mbit, queue: 2000000 packets", "queue", "at most 60min, 1GiB or 1000000 packets"),
        (
            "rate: 1Mbit, queue: 1537B",
            "queue",
            "a queue of 1537B holds 1537 bytes, which is less than one packet of the MTU",
        ),
        (
            "rate: 1Mbit, queue: 12ms",
            "queue",
            "a queue of 12ms at 1Mbit holds 1500 bytes, which is less than one packet of the MTU with its frame, "
            "1538B; give at least 12304us",
        ),
        ("rate: 10Gbit, queue: 10s", "queue", "holds 12500000000 bytes, which is too large; give at most 1GiB"),
        ("rate: 1Mbit, reverse: {queue: 1ms}", "reverse.queue", "less than one packet"),
        ("queue-discipline: codel", "queue-discipline", "needs rate"),
        (
            "rate: 1Mbit, queue-discipline: red",
            "queue-discipline",
            '"red" is not one of tail-drop, codel',
        ),
        ("rate: 1Mbit, queue-target: 5ms", "queue-target", "needs a queue-discipline of codel or fq_codel"),
        ("rate: 1Mbit, queue-discipline: codel, queue-target: 0ms", "queue-target", "at least 1us"),
        (
            "rate: 1Mbit, queue-discipline: codel, queue-target: 100ms",
            "queue-target",
            "a target of 100ms must be shorter than the interval of 100ms",
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(problems: Problems, settings: str, key: str, message: str) -> None:
    [problem] = problems(TEXT.format(link=settings))
    assert problem.startswith(f"test.yaml:4: topology.links.0.{key}: ")
    assert message in problem
