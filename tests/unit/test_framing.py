"""Framings of links: the bytes of a rate that a packet takes, in theory and for the kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.lab.emulation import change_on
from sixbench.lab.queues import queue_lines
from sixbench.model.experiment import Experiment
from sixbench.model.framing import FRAMINGS, framing_of, is_framing
from sixbench.model.headers import wire_bytes
from sixbench.model.topology import Link
from sixbench.theory.expected import expected

pytestmark = pytest.mark.computes

EXPERIMENT = """
title: A line
topology:
  nodes: {{h1: host, h2: host}}
  links:
    - {{endpoints: [h1, h2], rate: 10Mbit, {settings}}}
paths: {{ipv4: native4, ipv6: native6}}
workloads: [{{tcp-stream: {{duration: 1s}}}}]
"""


Read = Callable[[str], Experiment]


def link_of(read: Read, settings: str) -> Link:
    return read(EXPERIMENT.format(settings=settings)).topologies[0].links[0]


@pytest.mark.parametrize("size", [20, 45, 46, 47, 576, 1500])
def test_ethernets_framing_is_the_wire_of_ethernet(size: int) -> None:
    assert FRAMINGS["ethernet"].wire_bytes(size) == wire_bytes(size)
    assert FRAMINGS["vlan"].wire_bytes(size) == wire_bytes(size, tag_bytes=4)


@pytest.mark.parametrize(
    ("overhead", "packet_bytes", "on_wire_bytes"),
    [
        ("pppoe", 1492, 1538),  # as long as 1500 bytes on Ethernet: 8 of 1500 are PPPoE's
        ("docsis", 40, 64),
        ("docsis", 1500, 1518),
        ("pppoe-llcsnap", 40, 2 * 53),  # an acknowledgement: 80 bytes in two cells
        ("pppoe-llcsnap", 1492, 32 * 53),  # 1532 bytes in 32 cells
        ("pppoa-llc", 1478, 32 * 53),  # 1492 bytes in 31.08 cells
        ("44B", 1500, 1544),
    ],
)
def test_a_packet_takes_the_bytes_of_its_framing(overhead: str, packet_bytes: int, on_wire_bytes: int) -> None:
    assert framing_of(overhead).wire_bytes(packet_bytes) == on_wire_bytes


@pytest.mark.parametrize("overhead", ["pppox", "13B", "1025B", "44", "-4B", "", "1e3B", "\n44B"])
def test_what_is_no_framing_is_refused(overhead: str) -> None:
    assert not is_framing(overhead)
    with pytest.raises(ValueError, match="14B to 1024B"):
        framing_of(overhead)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("mtu: 1500", "overhead 24 mpu 84"),
        ("mtu: 1500, overhead: pppoe", "overhead 32 mpu 84"),
        ("mtu: 1500, overhead: docsis", "overhead 4 mpu 64"),
        ("mtu: 1500, overhead: pppoe-llcsnap", "overhead 26 linklayer atm"),
        ("mtu: 1500, overhead: 44B", "overhead 30"),
    ],
)
def test_the_kernels_limiter_counts_as_the_framing_does(read: Read, settings: str, words: str) -> None:
    link = link_of(read, settings)
    (line,) = queue_lines(link, link.ends[0])
    assert line.endswith(words)


def test_pppoe_has_the_mtu_of_rfc_2516_unless_another_is_given(read: Read) -> None:
    assert link_of(read, "overhead: pppoe").mtu_bytes == 1492
    assert link_of(read, "overhead: pppoe, mtu: 1500").mtu_bytes == 1500
    assert link_of(read, "overhead: vlan").mtu_bytes == 1500


@pytest.mark.parametrize(("overhead", "on_wire_bytes"), [("pppoe", 1538), ("pppoe-llcsnap", 32 * 53), ("docsis", 1510)])
def test_theory_counts_the_framing(read: Read, overhead: str, on_wire_bytes: int) -> None:
    experiment = read(EXPERIMENT.format(settings=f"overhead: {overhead}, mtu: 1492"))
    path = next(path for path in experiment.paths if path.name == "ipv4")
    limits = expected("tcp-stream", {"duration_ns": 10**9}, path, experiment.topologies[0], ("h1", "h2"))
    assert limits["goodput_bps"] == pytest.approx(10**7 * 1440 / on_wire_bytes)


def test_the_emulator_spaces_packets_no_slower_than_the_limiter_sends_them(read: Read) -> None:
    link = link_of(read, "overhead: docsis, delay: 1ms")
    spacing_bps = change_on(link.name, link.directions)["forward"]["wire_bps"]
    for size in range(20, 1501):
        assert wire_bytes(size) / spacing_bps <= FRAMINGS["docsis"].wire_bytes(size) / 10**7
