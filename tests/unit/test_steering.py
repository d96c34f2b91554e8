"""Processors of emulated links."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from synthetic import chain

from sixbench.lab.steering import RPS_DEFAULT_MASK, Steering, device_interrupts, is_fast, steering, usable_processors
from sixbench.model.direction import LinkDirection

pytestmark = pytest.mark.computes


@pytest.mark.parametrize(
    ("receivers", "mask"),
    [
        ((0,), "00000001"),
        ((0, 2), "00000005"),
        (tuple(range(39)), "0000007f,ffffffff"),
        ((64,), "00000001,00000000,00000000"),
    ],
)
def test_a_mask_has_words_of_32_processors(receivers: tuple[int, ...], mask: str) -> None:
    assert Steering(emulator=99, receivers=receivers).sysctl == {RPS_DEFAULT_MASK: mask}


def test_one_processor_is_not_divided() -> None:
    assert steering((3,)) is None


def test_interrupts_of_devices_are_counted_by_processor() -> None:
    text = """           CPU0       CPU2
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 36:          0    3190125 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:   44458417   46288313   Local timer interrupts
ERR:          0
"""
    assert device_interrupts(text) == {0: 1, 2: 3190125}
    assert device_interrupts("") == {}


def test_the_emulator_has_the_one_of_several_processors_with_the_fewest(monkeypatch: pytest.MonkeyPatch) -> None:
    table = "      CPU0 CPU1 CPU3 CPU5\n 24:  0  7  3  4  device\n"
    monkeypatch.setattr("pathlib.Path.read_text", lambda _: table)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 3, 5})
    assert usable_processors() == (3, 5, 1)
    assert steering(usable_processors()) == Steering(emulator=3, receivers=(1, 5))


@pytest.mark.parametrize(
    ("forward_bps", "reverse_bps", "expected"), [(None, None, False), (10**7, 10**6, False), (10**6, 10**8, True)]
)
def test_packets_of_fast_links_are_steered(forward_bps: int | None, reverse_bps: int | None, expected: bool) -> None:
    link = chain().links[0]
    directions = (LinkDirection(rate_bps=forward_bps), LinkDirection(rate_bps=reverse_bps))
    assert is_fast(replace(link, directions=directions)) is expected
