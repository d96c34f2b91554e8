"""Processors that carry the packets of emulated links.

A packet that our emulator sends runs the whole path of the node that receives it before the next one is sent, 10 to 20
us each, unless another processor does that (receive packet steering, Documentation/networking/scaling.rst of Linux).
The emulator therefore keeps one processor, the one with the fewest device interrupts, and nodes keep off it. Where a
link is fast, the nodes at its ends receive on the others. Measured over access networks of 166 to 240 Mbit/s: the 99th
percentile of lateness was 130 to 1100 us without, 50 to 90 us with it. But another processor has to be woken: where
packets are few, that takes 20 to 70 us more, so nodes at slow links, and at those without a rate, receive where they
are sent to.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..model.errors import AgentError
from ..model.topology import Link, Topology
from .build import NodeHandle
from .emulation import EMULATOR, emulated_links

TIMEOUT_S = 10.0

FAST_BPS = 50 * 10**6
"""The rate from which on packets of an emulated link are steered: full-size packets then come every 0.25 ms."""

INTERRUPTS = Path("/proc/interrupts")

RPS_DEFAULT_MASK = "net.core.rps_default_mask"
"""The default for interfaces that are made in a network namespace (Linux 6.3)."""


@dataclass(frozen=True, kw_only=True)
class Steering:
    """The processors of a network with emulated links.

    Attributes:
        emulator: the processor of the emulator.
        receivers: the processors on which nodes at emulated links receive.
    """

    emulator: int
    receivers: tuple[int, ...]

    @property
    def sysctl(self) -> dict[str, str]:
        """Settings of the nodes at emulated links before they have interfaces."""
        mask = sum(1 << processor for processor in self.receivers)
        words = [f"{mask >> shift & 0xFFFFFFFF:08x}" for shift in range(0, max(1, mask.bit_length()), 32)]
        return {RPS_DEFAULT_MASK: ",".join(reversed(words))}


def steering(usable: Sequence[int]) -> Steering | None:
    """Division of these processors, the best for the emulator; None where there is one only."""
    if len(usable) < 2:
        return None
    emulator, *receivers = usable
    return Steering(emulator=emulator, receivers=tuple(sorted(receivers)))


def usable_processors() -> tuple[int, ...]:
    """The processors that this process may use, the best first."""
    return best_first(os.sched_getaffinity(0), INTERRUPTS.read_text())


def best_first(processors: Iterable[int], interrupts: str) -> tuple[int, ...]:
    """Those with the fewest device interrupts first.

    Args:
        interrupts: the content of `INTERRUPTS`.
    """
    counts = device_interrupts(interrupts)
    return tuple(sorted(processors, key=lambda number: (counts.get(number, 0), number)))


def device_interrupts(text: str) -> dict[int, int]:
    """Number of device interrupts that each processor has taken so far. They come before every thread.

    Args:
        text: the content of `/proc/interrupts`: a heading with processors, then lines whose label is a number for a
            device.
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
    """True if packets may come so close together that each has to wait until the receiver is done with those before
    it."""
    return any((direction.rate_bps or 0) >= FAST_BPS for state in link.states for direction in state)


def steer(topology: Topology, nodes: Mapping[str, NodeHandle], usable: Sequence[int]) -> int | None:
    """Gives the emulator and the nodes their processors, before the network is built. What their machine refuses is
    left out: the measured lateness shows it.

    Args:
        usable: the processors that there are on the emulator's machine, the best first.

    Returns:
        the emulator's processor; None where it has none of its own.
    """
    emulated = [link for _, link in emulated_links(topology)]
    result = steering(usable) if emulated else None
    if result is None:
        return None
    try:
        # Before the emulator has the thread that carries the packets, which inherits the processor.
        nodes[EMULATOR].request("place", {"processors": [result.emulator]}).result(timeout=TIMEOUT_S)
    except (AgentError, TimeoutError):
        return None
    fast = {end.node for link in emulated if is_fast(link) for end in link.ends}
    settings = [nodes[name].set_sysctl(result.sysctl) for name in fast]
    for setting in settings:
        with contextlib.suppress(AgentError, TimeoutError):
            setting.result(timeout=TIMEOUT_S)
    return result.emulator
