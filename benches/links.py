"""Emulated links: what our emulator carries beside the same link without, and how late delayed packets leave.

Everything is where it is in a run: the emulator has a processor of its own, and the hosts are on others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import paired
from measure import ROUNDS, bytes_per_s, our_trial, topology_of
from table import Figure, Table
from tunnels import BETWEEN, native

from sixbench.agent import AgentHub
from sixbench.bench.emulation import begin
from sixbench.bench.laboratory import Laboratory
from sixbench.mechanisms import install
from sixbench.model.path import Path
from sixbench.model.workloads import WORKLOADS

DELAY = "10ms"
LATENESS_DELAYS = ("1ms", "100ms")
PACED_PPS, PACED_BYTES = 20_000, 200
OFFERED_PPS = 250_000
"""Rate that is offered. The receiver, which shares two cores with a sender and the emulator, takes a part of it."""
SMALL_BYTES = 64
STREAM_BYTES = 128 * 1024
LINK = "link"
STREAM_SECONDS, STREAM_WARMUP_S = 0.2, 0.4
"""TCP has to find its window on a link of 10 ms first."""
FLOOD_SECONDS, FLOOD_WARMUP_S = 0.1, 0.05
LATENESS_SECONDS, LATENESS_WARMUP_S = 0.25, 0.05
"""A virtual processor is taken away for some milliseconds now and then, and the packets that wait meanwhile are the
late ones of a trial. At 250,000 packets a second the 99th percentile was 77 to 313 us in 15 trials of a second, and 69
to 80 us in three quarters of 50 such short ones (2026-11-28)."""
ROUNDS_OF_PAIRS = 2
LATENESS_TARGETS_US = {"p50": "< 60", "p99": "< 250"}


def bench_links(hub: AgentHub, table: Table) -> None:
    """Both families."""
    for family in (4, 6):
        carried(hub, table, native(family))
    for delay in LATENESS_DELAYS:
        lateness(hub, table, delay)
    forwarded(hub, table)


def carried(hub: AgentHub, table: Table, path: Path) -> None:
    """Through an emulated link with a delay, and over the same link without, in pairs."""
    figures: tuple[tuple[str, Callable[[Lab], float], float, str], ...] = (
        ("thousand 64-byte packets/s received", Lab.packets_pps, 1e3, ""),
        ("Gbit/s of full-size TCP", Lab.goodput_bps, 1e9, ">= 1"),
    )
    for name, take, unit, target in figures:
        emulated = Figure(f"link of {DELAY}, {path.name}, {name}", target)
        ratio = Figure("... / the same link without")

        @contextmanager
        def build(
            take: Callable[[Lab], float] = take, unit: float = unit, emulated: Figure = emulated
        ) -> Iterator[paired.Pair]:
            with ExitStack() as stack:
                enter_context = stack.enter_context(Lab(hub, path, f"delay: {DELAY}, emulator: user"))
                other = stack.enter_context(Lab(hub, path, "offload: false"))

                def through() -> float:
                    value = take(enter_context)
                    emulated.values.append(value / unit)
                    return value

                yield through, lambda: take(other)

        def measure(build: Callable[[], AbstractContextManager[paired.Pair]] = build, ratio: Figure = ratio) -> None:
            ratio.values += paired.ratios(build, ROUNDS_OF_PAIRS)

        table.measure([emulated, ratio], measure, paired.BUILDS_WITHOUT_TARGET)


def lateness(hub: AgentHub, table: Table, delay: str) -> None:
    """Having left after the moment that was due, of paced packets."""
    late = {
        quantile: Figure(f"delay {delay}, lateness {quantile}, us", target)
        for quantile, target in LATENESS_TARGETS_US.items()
    }

    def measure() -> None:
        with Lab(hub, native(6), f"delay: {delay}, emulator: user") as lab:
            for _ in range(ROUNDS):
                lateness = lab.record(PACED_BYTES, PACED_PPS)["lateness"]
                for quantile, figure in late.items():
                    figure.values.append(lateness[quantile] / 1000)

    table.measure([*late.values()], measure)


def forwarded(hub: AgentHub, table: Table) -> None:
    """Rate and lateness of the small packets that leave the emulator, when more are offered than its target."""
    name = f"{OFFERED_PPS // 1000} thousand {SMALL_BYTES}-byte packets/s offered"
    rate = Figure(f"{name}, thousand/s forwarded", ">= 200")
    late = {
        quantile: Figure(f"... lateness {quantile}, us", target) for quantile, target in LATENESS_TARGETS_US.items()
    }

    def measure() -> None:
        with Lab(hub, native(4), f"delay: {DELAY}, emulator: user") as lab:
            for _ in range(ROUNDS):
                lateness = lab.record(SMALL_BYTES, OFFERED_PPS)["lateness"]
                rate.values.append(lateness["count"] / (LATENESS_WARMUP_S + LATENESS_SECONDS) / 1000)
                for quantile, figure in late.items():
                    figure.values.append(lateness[quantile] / 1000)

    table.measure([rate, *late.values()], measure)


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
        """Goodput of one TCP stream."""
        stream, length = {"message_bytes": STREAM_BYTES}, (STREAM_SECONDS, STREAM_WARMUP_S)
        return 8 * bytes_per_s(lambda: self._served("tcp-stream", stream, *length)["forward_receiver"], "a TCP stream")

    def packets_pps(self) -> float:
        """Datagrams of 64 bytes that arrive of a flood, each sent by a system call of its own."""
        flood = {"datagram_bytes": SMALL_BYTES, "segmentation": "never", "batch": 1}
        length = FLOOD_SECONDS, FLOOD_WARMUP_S
        return bytes_per_s(lambda: self._served("udp-stream", flood, *length), "a flood of datagrams") / SMALL_BYTES

    def record(self, datagram_bytes: int, rate_pps: int) -> dict[str, Any]:
        """Counts and lateness that the emulator recorded for the datagrams of one trial."""
        emulator = self._laboratory.emulator
        assert emulator is not None
        emulator.call("emulate-record", link=LINK, restart=True)
        params = {"datagram_bytes": datagram_bytes, "rate_pps": rate_pps}
        self._served("udp-stream", params, LATENESS_SECONDS, LATENESS_WARMUP_S)
        return dict(emulator.call("emulate-record", link=LINK)["forward"])

    def asked(self, workload: str, params: dict[str, object], seconds: float, warmup_s: float) -> dict:
        """The client's result of one trial."""
        return self._trial(workload, params, seconds, warmup_s)[0]

    def _served(self, workload: str, params: dict[str, object], seconds: float, warmup_s: float) -> dict:
        return self._trial(workload, params, seconds, warmup_s)[1]

    def _trial(self, workload: str, params: dict[str, object], seconds: float, warmup_s: float) -> tuple[dict, dict]:
        [leg] = self._network.legs
        self._laboratory.pin_nodes(WORKLOADS[workload].placement(params), BETWEEN)
        agents = (self._laboratory.agents[name] for name in BETWEEN)
        addresses = str(leg.source), str(leg.destination)
        return our_trial(*agents, *addresses, workload, params, seconds=seconds, warmup_s=warmup_s)
