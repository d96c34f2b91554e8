"""Emulated links: what our emulator carries beside the same link without, and how late delayed packets leave.

Nothing is pinned: two hosts and the emulator share what processors there are, as they do in a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import paired
from measure import ROUNDS, our_trial, show_figures, topology_of
from tunnels import BETWEEN, native

from sixbench.agent import AgentHub
from sixbench.mechanisms import install
from sixbench.model.path import Path
from sixbench.run.emulation import begin
from sixbench.run.laboratory import Laboratory

DELAY = "10ms"
LATENESS_DELAYS = ("1ms", "100ms")
PACED_PPS, PACED_BYTES = 20_000, 200
OFFERED_PPS = 250_000
"""Of which the receiver, which shares two cores with a sender and the emulator, takes a part."""
SMALL_BYTES = 64
STREAM_BYTES = 128 * 1024
LINK = "link"
SECONDS, WARMUP_S = 0.2, 0.4
"""TCP has to find its window on a link of 10 ms first."""
LATENESS_SECONDS, LATENESS_WARMUP_S = 1.0, 0.2
ROUNDS_OF_PAIRS = 2
LATENESS_TARGETS_US = {"p50": "< 60", "p99": "< 250"}


def bench_links(hub: AgentHub) -> None:
    """Both families."""
    for family in (4, 6):
        carried(hub, native(family))
    for delay in LATENESS_DELAYS:
        lateness(hub, delay)
    forwarded(hub)


def carried(hub: AgentHub, path: Path) -> None:
    """Through an emulated link with a delay, and over the same link without, in pairs."""
    figures: tuple[tuple[str, Callable[[Lab], float], float, str], ...] = (
        ("thousand 64-byte packets/s received", Lab.packets_pps, 1e3, ""),
        ("Gbit/s of full-size TCP", Lab.goodput_bps, 1e9, ">= 1"),
    )
    for name, take, unit, target in figures:
        emulated: list[float] = []

        @contextmanager
        def build(take: Callable[[Lab], float] = take, seen: list[float] = emulated) -> Iterator[paired.Pair]:
            with ExitStack() as stack:
                one = stack.enter_context(Lab(hub, path, f"delay: {DELAY}, emulator: user"))
                other = stack.enter_context(Lab(hub, path, "offload: false"))

                def through() -> float:
                    seen.append(take(one))
                    return seen[-1]

                yield through, lambda: take(other)

        found = paired.ratios(build, rounds=ROUNDS_OF_PAIRS)
        show_figures(f"link of {DELAY}, {path.name}, {name}", [value / unit for value in emulated], target)
        show_figures("... / the same link without", found, "")


def lateness(hub: AgentHub, delay: str) -> None:
    """Having left after the moment that was due, of paced packets."""
    with Lab(hub, native(6), f"delay: {delay}, emulator: user") as lab:
        found = [lab.record(PACED_BYTES, PACED_PPS)["lateness"] for _ in range(ROUNDS)]
    for quantile, target in LATENESS_TARGETS_US.items():
        show_figures(f"delay {delay}, lateness {quantile}, us", [one[quantile] / 1000 for one in found], target)


def forwarded(hub: AgentHub) -> None:
    """What leaves the emulator of small packets at a rate beyond its target, and how late."""
    with Lab(hub, native(4), f"delay: {DELAY}, emulator: user") as lab:
        records = [lab.record(SMALL_BYTES, OFFERED_PPS) for _ in range(ROUNDS)]
    name = f"{OFFERED_PPS // 1000} thousand {SMALL_BYTES}-byte packets/s offered"
    rates = [record["lateness"]["count"] / (LATENESS_WARMUP_S + LATENESS_SECONDS) / 1000 for record in records]
    show_figures(f"{name}, thousand/s forwarded", rates, ">= 200")
    for quantile, target in LATENESS_TARGETS_US.items():
        late_us = [record["lateness"][quantile] / 1000 for record in records]
        show_figures(f"... lateness {quantile}, us", late_us, target)


class Lab:
    """Two hosts on one link, up until it is closed."""

    def __init__(self, hub: AgentHub, path: Path, settings: str) -> None:
        topology = topology_of(
            f"nodes: {{h1: host, h2: host}}\nlinks: [{{endpoints: [h1, h2], name: {LINK}, {settings}}}]\n"
        )
        self._network = install(path, topology, BETWEEN)
        self._laboratory = Laboratory(hub, self._network)
        try:
            begin(self._laboratory, "bench")
            self._laboratory.check_reachable(self._network.legs)
        except BaseException:
            self._laboratory.close()
            raise

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self._laboratory.close()

    def goodput_bps(self) -> float:
        """Of one TCP stream."""
        served = self._served("tcp-stream", {"message_bytes": STREAM_BYTES}, SECONDS, WARMUP_S)["forward_receiver"]
        return served["measured_bytes"] * 8e9 / served["measured_ns"]

    def packets_pps(self) -> float:
        """Datagrams of 64 bytes that arrive of a flood, each sent by a system call of its own."""
        flood = {"datagram_bytes": SMALL_BYTES, "segmentation": "never", "batch": 1}
        served = self._served("udp-stream", flood, SECONDS, WARMUP_S)
        return served["measured_bytes"] / SMALL_BYTES * 1e9 / served["measured_ns"]

    def record(self, datagram_bytes: int, rate_pps: int) -> dict[str, Any]:
        """What the emulator did to the datagrams of one trial."""
        emulator = self._laboratory.emulator
        assert emulator is not None
        emulator.call("emulate-record", link=LINK, restart=True)
        params = {"datagram_bytes": datagram_bytes, "rate_pps": rate_pps}
        self._served("udp-stream", params, LATENESS_SECONDS, LATENESS_WARMUP_S)
        return dict(emulator.call("emulate-record", link=LINK)["forward"])

    def _served(self, workload: str, params: dict[str, object], seconds: float, warmup_s: float) -> dict:
        [leg] = self._network.legs
        agents = (self._laboratory.agents[name] for name in BETWEEN)
        addresses = str(leg.source), str(leg.destination)
        _, served = our_trial(*agents, *addresses, workload, params, seconds=seconds, warmup_s=warmup_s)
        return served
