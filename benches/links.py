"""Emulated links: what our emulator carries beside the same link without, and how late delayed packets leave."""

from __future__ import annotations

from collections.abc import Callable

from measure import ROUNDS, our_trial, show_figures, topology_of
from tunnels import BETWEEN, goodput_bps, packets_pps

from sixbench.agent import AgentHub
from sixbench.mechanisms import install
from sixbench.model.network import Network
from sixbench.model.path import Path
from sixbench.run.emulation import begin
from sixbench.run.laboratory import Laboratory

DELAY = "10ms"
LATENESS_DELAYS = ("1ms", "10ms", "100ms")
PACED_PPS = 20_000
LINK = "link"
FIGURES: tuple[tuple[str, Callable[[Laboratory, Network], float], float, str], ...] = (
    ("thousand 64-byte packets/s", packets_pps, 1e3, ">= 200"),
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
        emulator = self.laboratory.emulator
        assert emulator is not None
        emulator.call("emulate-record", link=LINK, restart=True)
        ends = self.network.ends
        agents = (self.laboratory.agents[name] for name in BETWEEN)
        our_trial(
            *agents, str(ends.client), str(ends.server), "udp-stream", {"datagram_bytes": 200, "rate_pps": PACED_PPS}
        )
        record = emulator.call("emulate-record", link=LINK)["forward"]["lateness"]
        return {quantile: record[quantile] / 1000 for quantile in LATENESS_TARGETS_US}

    def close(self) -> None:
        """Takes it down."""
        self.laboratory.close()
