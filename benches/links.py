"""Emulated links: what our emulator carries beside the same link without, and how late delayed packets leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from measure import ROUNDS, SECONDS, WARMUP_S, our_trial, show_figures, topology_of
from tunnels import BETWEEN, goodput_bps, packets_pps

from sixbench.agent import AgentHub
from sixbench.mechanisms import install
from sixbench.model.network import Network
from sixbench.model.path import Path
from sixbench.run.emulation import begin
from sixbench.run.laboratory import Laboratory

DELAY = "10ms"
LATENESS_DELAYS = ("1ms", "10ms", "100ms")
PACED_PPS, PACED_BYTES = 20_000, 200
OFFERED_PPS = 250_000
"""Of which the receiver, which shares two cores with a sender and the emulator, takes a part."""
SMALL_BYTES = 64
LINK = "link"
FIGURES: tuple[tuple[str, Callable[[Laboratory, Network], float], float, str], ...] = (
    ("thousand 64-byte packets/s received", packets_pps, 1e3, ""),
    ("Gbit/s of full-size TCP", goodput_bps, 1e9, ">= 1"),
)
LATENESS_TARGETS_US = {"p50": "< 60", "p99": "< 250"}


def bench_links(hub: AgentHub) -> None:
    """Both families."""
    for family in (4, 6):
        path = Path(name=f"IPv{family}", mechanism=f"native{family}", family=family)
        carried(hub, path)
    for delay in LATENESS_DELAYS:
        lateness(hub, delay)
    forwarded(hub)


def carried(hub: AgentHub, path: Path) -> None:
    """Through an emulated link with a delay, and over the same link without, in alternation."""
    with_delay, without = (
        Lab(hub, path, settings) for settings in (f"delay: {DELAY}, emulator: user", "offload: false")
    )
    try:
        for name, measure, unit, target in FIGURES:
            emulated, ratios = [], []
            for round_ in range(ROUNDS):
                pair = (with_delay, without) if round_ % 2 else (without, with_delay)
                values = {lab: measure(lab.laboratory, lab.network) for lab in pair}
                emulated.append(values[with_delay] / unit)
                ratios.append(values[with_delay] / values[without])
            show_figures(f"link of {DELAY}, {path.name}, {name}", emulated, target)
            show_figures("... / the same link without", ratios, "")
    finally:
        with_delay.close()
        without.close()


def lateness(hub: AgentHub, delay: str) -> None:
    """Having left after the moment that was due, of paced packets."""
    lab = Lab(hub, Path(name="IPv6", mechanism="native6", family=6), f"delay: {delay}, emulator: user")
    try:
        found = [lab.lateness_us() for _ in range(ROUNDS)]
        for quantile, target in LATENESS_TARGETS_US.items():
            show_figures(f"delay {delay}, lateness {quantile}, us", [one[quantile] for one in found], target)
    finally:
        lab.close()


def forwarded(hub: AgentHub) -> None:
    """What leaves the emulator of small packets at a rate beyond its target, and how late."""
    lab = Lab(hub, Path(name="IPv4", mechanism="native4", family=4), f"delay: {DELAY}, emulator: user")
    try:
        records = [lab.record(SMALL_BYTES, OFFERED_PPS) for _ in range(ROUNDS)]
    finally:
        lab.close()
    name = f"{OFFERED_PPS // 1000} thousand {SMALL_BYTES}-byte packets/s offered"
    rates = [record["lateness"]["count"] / (WARMUP_S + SECONDS) / 1000 for record in records]
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
        self.network = install(path, topology, BETWEEN)
        self.laboratory = Laboratory(hub, self.network)
        begin(self.laboratory, "bench")
        self.laboratory.check_reachable(*BETWEEN, self.network.ends)

    def lateness_us(self) -> dict[str, float]:
        """Quantiles over the packets of one trial."""
        record = self.record(PACED_BYTES, PACED_PPS)["lateness"]
        return {quantile: record[quantile] / 1000 for quantile in LATENESS_TARGETS_US}

    def record(self, datagram_bytes: int, rate_pps: int) -> dict[str, Any]:
        """What the emulator did to the datagrams of one trial."""
        emulator = self.laboratory.emulator
        assert emulator is not None
        emulator.call("emulate-record", link=LINK, restart=True)
        ends = self.network.ends
        agents = (self.laboratory.agents[name] for name in BETWEEN)
        params = {"datagram_bytes": datagram_bytes, "rate_pps": rate_pps}
        our_trial(*agents, str(ends.client), str(ends.server), "udp-stream", params)
        return dict(emulator.call("emulate-record", link=LINK)["forward"])

    def close(self) -> None:
        """Takes it down."""
        self.laboratory.close()
