"""Which processors carry the packets of emulated links.

A packet that our emulator sends runs the whole path of the node that receives it before the next one is sent, 10 to 20
us each, unless another processor does that (receive packet steering, Documentation/networking/scaling.rst of Linux). So
where a link is fast the emulator keeps one processor, that with the fewest interrupts of devices, and the nodes at its
ends receive on the others. Measured over access networks of 166 to 240 Mbit/s: the 99th percentile of lateness was 130
to 1100 us without, 50 to 90 us with it. But another processor has to be woken: where packets are few, that takes 20 to
70 us more, so slow links, and those without a rate, are left as they are.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..model.errors import AgentError
from ..model.topology import Link, Topology
from .build import NodeHandle
from .emulation import EMULATOR, emulated_links

TIMEOUT_S = 10.0

FAST_BPS = 50 * 10**6
"""From which rate on packets of an emulated link are steered: full-size ones then come every 0.25 ms."""

RPS_DEFAULT_MASK = "net.core.rps_default_mask"
"""Of the interfaces that come into being in a network namespace (Linux 6.3)."""


@dataclass(frozen=True, kw_only=True)
class Steering:
    """Of a network with emulated links.

    Attributes:
        emulator: the processor of the emulator.
        receivers: the processors on which nodes at emulated links receive.
    """

    emulator: int
    receivers: tuple[int, ...]

    @property
    def sysctl(self) -> dict[str, str]:
        """What is set in the nodes at emulated links before they have interfaces."""
        mask = sum(1 << processor for processor in self.receivers)
        words = [f"{mask >> shift & 0xFFFFFFFF:08x}" for shift in range(0, max(1, mask.bit_length()), 32)]
        return {RPS_DEFAULT_MASK: ",".join(reversed(words))}


def steering() -> Steering | None:
    """What this machine can do; None with one processor, or an older kernel."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2 or not Path("/proc/sys", *RPS_DEFAULT_MASK.split(".")).exists():
        return None
    interrupts = device_interrupts(Path("/proc/interrupts").read_text())
    emulator = min(processors, key=lambda processor: interrupts.get(processor, 0))
    return Steering(emulator=emulator, receivers=tuple(one for one in processors if one != emulator))


def device_interrupts(text: str) -> dict[int, int]:
    """By processor, how many interrupts of devices it took so far: what they do comes before every thread.

    Args:
        text: of `/proc/interrupts`: a heading with processors, then lines whose label is a number for a device.
    """
    heading, *lines = text.splitlines() or [""]
    processors = [int(name.removeprefix("CPU")) for name in heading.split()]
    counts = dict.fromkeys(processors, 0)
    for line in lines:
        label, *words = line.split()
        if label.rstrip(":").isdigit():
            for processor, word in zip(processors, words, strict=False):
                counts[processor] += int(word)
    return counts


def is_fast(link: Link) -> bool:
    """Whether its packets may come so close together that each has to wait for what those before it are taken for."""
    return any((direction.rate_bps or 0) >= FAST_BPS for state in link.states for direction in state)


def steer(topology: Topology, nodes: Mapping[str, NodeHandle]) -> None:
    """Gives emulator and nodes their processors, before the network is built. What cannot be done is left: lateness
    shows it."""
    links = [link for _, link in emulated_links(topology) if is_fast(link)]
    found = steering() if links else None
    if found is None:
        return
    with contextlib.suppress(OSError):
        # Its first thread, which starts the one that carries the packets.
        os.sched_setaffinity(nodes[EMULATOR].pid, {found.emulator})
    settings = [nodes[name].set_sysctl(found.sysctl) for name in {end.node for link in links for end in link.ends}]
    for setting in settings:
        with contextlib.suppress(AgentError):
            setting.result(timeout=TIMEOUT_S)
