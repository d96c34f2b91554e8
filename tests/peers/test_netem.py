"""Our emulator beside the kernel's netem: the same settings of a link, the same frames at the same time, both families.

netem is that of user-mode Linux (a router between two TAP devices); it is told what `lab` would tell a kernel that has
it. Its choices are its own, so that shares and distributions are compared, not frames: with bounds that chance passes
once in a million, and with room for what the machine does to the timers of both.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt
from statistics import quantiles

import pytest
from kernel_peer import UmlPeer
from kernel_peer.process import execute
from link_traffic import (
    DESTINATIONS,
    FAMILIES,
    RECEIVER_MAC,
    SEES_NOTHING,
    SENDER_MAC,
    SOURCES,
    FrameLink,
    Outcome,
    frame,
    packet_socket,
    send,
)

from sixbench.agent import Agent, AgentHub
from sixbench.bench.emulation import begin
from sixbench.bench.laboratory import Laboratory
from sixbench.lab.netem import unfit
from sixbench.lab.render import render
from sixbench.model.emulation import GilbertElliott, Impairments
from sixbench.model.network import Blueprint
from sixbench.model.topology import Topology
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

TOPOLOGY = """
nodes: {{h1: host, h2: host}}
links: [{{endpoints: [h1, h2], name: link, emulator: {emulator}, {settings}}}]
"""
FRAMES = 3000
RATE_PER_S = 2500
UNDER_WAY_S = 0.3
DEVIATIONS = 5.0
"""Standard deviations of a binomial count that are allowed: beyond by chance once in 1.7 million."""
KOLMOGOROV = sqrt(log(2 / 1e-6) / 2)
"""Times sqrt(1/n + 1/m): what the distance of two empirical distributions exceeds once in a million."""
ROOM_NS = 500_000
"""Beside what the machine was late with a constant delay ..."""
DISTURBED = 0.03
"""... which so large a share of the frames may be beyond."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Both links, or rather all that is the same for each setting of them."""

    hub: AgentHub
    router: Agent
    peer: UmlPeer

    def compare(self, settings: str, count: int = FRAMES) -> tuple[Impairments, Outcome, Outcome]:
        """Impairments that were asked for, their outcome with our emulator, and that with netem."""
        ours, theirs = (_topology(settings, emulator) for emulator in ("user", "netem"))
        assert unfit(theirs.wires[0]) is None
        self._tell_peer(render(theirs)["h1"].queues)
        with ExitStack() as opened:
            laboratory = Laboratory(self.hub, Blueprint(topology=ours))
            opened.callback(laboratory.close)
            begin(laboratory, "peers")
            pids = [laboratory.agents[name].pid for name in ("h1", "h2")]
            links = [self._our_link(opened, *pids), self._link_of_peer(opened)]
            arrivals = send(links, count, RATE_PER_S, UNDER_WAY_S)
        return ours.wires[0].impairments[0], arrivals[0], arrivals[1]

    def _tell_peer(self, lines: Sequence[str]) -> None:
        texts = [
            f"TC_LIB_DIR=/distributions tc {line.replace('dev eth0', 'dev vec1')}"
            for line in lines
            if "dev eth0" in line
        ]
        self.peer.run(" && ".join(["{ tc qdisc del dev vec1 root 2>/dev/null || true; }", *texts]))

    def _our_link(self, opened: ExitStack, near: int, far: int) -> FrameLink:
        def sent(number: int) -> bytes:
            return frame(number, SENDER_MAC, RECEIVER_MAC)

        return FrameLink(
            sender=opened.enter_context(packet_socket(near, "eth0", SEES_NOTHING)),
            entrance=opened.enter_context(packet_socket(near, "eth0")),
            exit=opened.enter_context(packet_socket(far, "eth0")),
            sent=sent,
            arriving=sent,
        )

    def _link_of_peer(self, opened: ExitStack) -> FrameLink:
        macs = [bytes.fromhex(self._mac(device).replace(":", "")) for device in ("vec0", "vec1")]
        return FrameLink(
            sender=opened.enter_context(packet_socket(self.router.pid, "tap0", SEES_NOTHING)),
            entrance=opened.enter_context(packet_socket(self.router.pid, "tap0")),
            exit=opened.enter_context(packet_socket(self.router.pid, "tap1")),
            sent=lambda number: frame(number, SENDER_MAC, macs[0]),
            arriving=lambda number: frame(number, macs[1], RECEIVER_MAC, hops=63),
        )

    def _mac(self, device: str) -> str:
        return self.peer.run(f"cat /sys/class/net/{device}/address").stdout.strip()


def _topology(settings: str, emulator: str) -> Topology:
    return read_topology_only(parse_yaml(TOPOLOGY.format(emulator=emulator, settings=settings), "peers.yaml"))


@pytest.fixture(scope="module")
def bench(router: Agent, hub: AgentHub) -> Iterator[Bench]:
    for tap in ("tap0", "tap1"):
        execute(router.pid, "ip", "tuntap", "add", "dev", tap, "mode", "tap", "vnet_hdr")
        execute(router.pid, *["ip", "link", "set", tap, "txqueuelen", str(FRAMES), "up"])
    with UmlPeer.boot(router.pid, ["tap0", "tap1"], ["sch_netem", "sch_tbf"], first=True) as peer:
        receiver = ":".join(f"{byte:02x}" for byte in RECEIVER_MAC)
        peer.run("echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
        for device, ends in (("vec0", SOURCES), ("vec1", DESTINATIONS)):
            lengths = {4: 24, 6: 64}
            for family, address in ends.items():
                peer.run(f"ip address add {address - 1}/{lengths[family]} dev {device}")
            peer.run(f"ip link set {device} up")
        for address in DESTINATIONS.values():
            peer.run(f"ip neighbour add {address} lladdr {receiver} dev vec1")
        yield Bench(hub=hub, router=router, peer=peer)


@pytest.fixture(scope="module")
def room_ns(bench: Bench) -> int:
    """Lateness of this machine's timers: all but a hundredth of the frames with a constant delay are less late."""
    impairments, *both = bench.compare("delay: 50ms")
    late = [sorted(late_by(outcome, impairments)) for outcome in both]
    return ROOM_NS + max(values[len(values) * 99 // 100] for values in late)


def late_by(outcome: Outcome, impairments: Impairments) -> list[int]:
    return [delay_ns - impairments.delay_ns for copies in outcome.delays_ns.values() for delay_ns in copies]


def assert_share(result: int, count: int, ratio: float) -> None:
    """That a count is one of so many, each with this probability."""
    assert abs(result - count * ratio) <= DEVIATIONS * sqrt(count * ratio * (1 - ratio)) + 1, (result, count, ratio)


def distance(first: list[int], other: list[int], room_ns: int) -> float:
    """Distance of two empirical distributions, as Kolmogorov's, where neither value counts as the later for so
    little."""
    first, other = sorted(first), sorted(other)
    return max(_ahead(first, other, room_ns), _ahead(other, first, room_ns))


def _ahead(item: list[int], other: list[int], room_ns: int) -> float:
    return max(
        (at + 1) / len(item) - bisect_right(other, value + room_ns) / len(other) for at, value in enumerate(item)
    )


def width(values: list[int]) -> int:
    """From the first decile to the last."""
    deciles = quantiles(values, n=10)
    return round(deciles[-1] - deciles[0])


def widths(asked: list[int], count: int) -> tuple[int, int]:
    """Between which that of so many values lies but by a chance of one in a million. Where few values are, as in the
    tail of a Pareto distribution, a decile scatters more."""
    off, ordered = DEVIATIONS * sqrt(0.1 * 0.9 / count), sorted(asked)

    def between(low: float, high: float) -> int:
        return ordered[round(high * (len(ordered) - 1))] - ordered[round(low * (len(ordered) - 1))]

    return between(0.1 + off, 0.9 - off), between(0.1 - off, 0.9 + off)


def test_a_delay_is_never_cut_short(bench: Bench) -> None:
    impairments, *both = bench.compare("delay: 20ms", count=500)
    for outcome in both:
        assert [len(outcome.of(family)) for family in FAMILIES] == [250, 250]
        assert outcome.order == sorted(outcome.order)
        late_ns = sorted(late_by(outcome, impairments))
        # The clock that stamps packets is put in step with the one that timers have: on a busy machine by 0.1 ms.
        assert late_ns[0] >= -0.01 * impairments.delay_ns
        assert late_ns[len(late_ns) // 100] >= -0.001 * impairments.delay_ns


@pytest.mark.parametrize(
    "settings",
    [
        "delay: 60ms, jitter: 30ms",
        "delay: 60ms, jitter: 15ms, jitter-distribution: normal",
        "delay: 60ms, jitter: 15ms, jitter-distribution: pareto",
    ],
)
def test_jitter_has_the_same_distribution(bench: Bench, room_ns: int, settings: str) -> None:
    impairments, ours, theirs = bench.compare(settings)
    asked = [impairments.delay_ns + jitter_ns for jitter_ns in impairments.quantiles_ns()]
    for family in FAMILIES:
        delays = [outcome.of(family) for outcome in (ours, theirs)]
        bound = KOLMOGOROV * sqrt(2 / FRAMES) + DISTURBED
        assert [distance(values, asked, room_ns) < bound for values in delays] == [True, True]
        assert distance(*delays, room_ns) < KOLMOGOROV * sqrt(4 / FRAMES) + DISTURBED
        # Where most of it is, the width says more of a scale than the distance does.
        narrow, wide = widths(asked, FRAMES // 2)
        assert all(narrow - room_ns < width(values) < wide + room_ns for values in delays)
    assert all(outcome.order != sorted(outcome.order) for outcome in (ours, theirs))


def test_a_share_is_lost(bench: Bench) -> None:
    _, *both = bench.compare("loss: 10%")
    for outcome in both:
        for family in FAMILIES:
            assert_share(outcome.lost(family), FRAMES // 2, 0.10)


def test_losses_come_in_the_same_bursts(bench: Bench) -> None:
    impairments, *both = bench.compare("gilbert-elliott: 4% 20% 1% 60%")
    assert isinstance(impairments.loss, GilbertElliott)
    states = impairments.loss
    # By Bayes, the share of losses that fall in the bad state; then one step of the chain.
    bad = states.to_bad / (states.to_bad + states.to_good)
    bad_at_loss = bad * states.loss_in_bad / states.ratio
    bad_after = bad_at_loss * (1 - states.to_good) + (1 - bad_at_loss) * states.to_bad
    again = bad_after * states.loss_in_bad + (1 - bad_after) * states.loss_in_good
    for outcome in both:
        is_lost = [number not in outcome.delays_ns for number in range(FRAMES)]
        followers = [after for before, after in pairwise(is_lost) if before]
        assert_share(sum(followers), len(followers), again)
        # The states of neighbours are correlated, so that a share of losses varies as that of fewer frames.
        kept = 1 - states.to_bad - states.to_good
        independent = (1 - kept) / (1 + kept)
        assert_share(round(sum(is_lost) * independent), round(FRAMES * independent), impairments.loss_ratio)


def test_a_share_comes_twice(bench: Bench) -> None:
    _, *both = bench.compare("delay: 5ms, duplicate: 20%")
    for outcome in both:
        for family in FAMILIES:
            copies = [len(times) for number, times in outcome.delays_ns.items() if FAMILIES[number % 2] == family]
            assert (len(copies), set(copies)) == (FRAMES // 2, {1, 2})
            assert_share(copies.count(2), len(copies), 0.20)


def test_a_share_overtakes(bench: Bench) -> None:
    impairments, *both = bench.compare("delay: 100ms, reorder: 25%")
    for outcome in both:
        for family in FAMILIES:
            at_once = sum(delay_ns < impairments.delay_ns // 2 for delay_ns in outcome.of(family))
            assert_share(at_once, FRAMES // 2, 0.25)


def test_a_share_is_corrupted(bench: Bench) -> None:
    _, *both = bench.compare("corrupt: 20%")
    for outcome in both:
        assert_share(outcome.corrupted, FRAMES, 0.20)
        assert outcome.corrupted + len(outcome.order) == FRAMES
        for family in FAMILIES:
            assert_share(outcome.lost(family), FRAMES // 2, 0.20)


def test_behind_a_rate_the_queue_is_as_long(bench: Bench) -> None:
    # 2500 frames of 624 bytes a second are 12.5 Mbit/s: what the rate leaves fills the queue, then one in five is lost.
    _, ours, theirs = bench.compare("rate: 10Mbit, queue: 100ms, delay: 50ms")
    for family in FAMILIES:
        lost = [outcome.lost(family) / (FRAMES // 2) for outcome in (ours, theirs)]
        assert min(lost) > DISTURBED
        assert abs(lost[0] - lost[1]) < DISTURBED
