"""Reports on links with a known truth."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.model.emulation import Chosen, GilbertElliott, Impairments
from sixbench.report.link_descriptions import impairments_words

pytestmark = pytest.mark.computes


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"delay_ns": 10_000_000}, "delay 10ms"),
        (
            {"delay_ns": 10_000_000, "jitter_ns": 2_000_000, "distribution": "normal", "jitter_correlation": 0.25},
            "delay 10ms, jitter 2ms normal, correlation 25 %",
        ),
        ({"delays_ns": (1_000_000, 3_000_000)}, "delays from a file, 2.000 ms on average"),
        ({"loss": Chosen(ratio=0.001)}, "loss 0.1 %"),
        ({"loss": Chosen(packets=(3,))}, "loss of 1 listed packet"),
        ({"loss": GilbertElliott(to_bad=0.0625, to_good=0.25)}, "loss 20 % in bursts"),
        (
            {"duplicate": Chosen(ratio=0.01), "corrupt": Chosen(packets=(1, 2)), "overtaking": Chosen(ratio=0.5)},
            "duplicates 1 %, corruption of 2 listed packets, overtaking 50 %",
        ),
        ({"late": (4, 9), "late_by": 3}, "2 listed packets late by 3"),
    ],
)
def test_what_was_configured_in_words(settings: dict[str, Any], words: str) -> None:
    assert impairments_words(Impairments(**settings)) == words
