"""Processors of emulated links."""

from __future__ import annotations

import os

import pytest

from sixbench.lab.steering import RPS_DEFAULT_MASK, Steering, steering


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


def test_one_processor_is_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert steering() is None


def test_the_emulator_has_one_of_several_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 3, 5})
    monkeypatch.setattr("pathlib.Path.exists", lambda _: True)
    assert steering() == Steering(emulator=5, receivers=(1, 3))
    monkeypatch.setattr("pathlib.Path.exists", lambda _: False)
    assert steering() is None
