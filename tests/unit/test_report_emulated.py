"""Reports on links with a known truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from stored import bare_record
from synthetic import standard

from sixbench.model.emulation import ChosenPackets, GilbertElliott, Impairments
from sixbench.model.evidence import evidence_from_json
from sixbench.model.experiment import Experiment
from sixbench.report.evidence.emulation import emulation_table
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
        ({"loss": ChosenPackets(ratio=0.001)}, "loss 0.1 %"),
        ({"loss": ChosenPackets(packets=(3,))}, "loss of 1 listed packet"),
        ({"loss": GilbertElliott(to_bad=0.0625, to_good=0.25)}, "loss 20 % in bursts"),
        (
            {
                "duplicate": ChosenPackets(ratio=0.01),
                "corrupt": ChosenPackets(packets=(1, 2)),
                "overtaking": ChosenPackets(ratio=0.5),
            },
            "duplicates 1 %, corruption of 2 listed packets, overtaking 50 %",
        ),
        ({"late": (4, 9), "late_by": 3}, "2 listed packets late by 3"),
    ],
)
def test_what_was_configured_in_words(settings: dict[str, Any], words: str) -> None:
    assert impairments_words(Impairments(**settings)) == words


EMULATED = """
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2], delay: 10ms}]}
paths: {ipv4: native4, ipv6: native6}
workloads: [ping]
"""


def test_each_direction_of_an_emulated_link_has_a_row_over_all_trials(read: Callable[[str], Experiment]) -> None:
    """The trial that is not valid counts as well, because the emulator did its work in it."""
    direction = {"packets": 1000, "lost": 5, "delay": {"p50": 10_000_000}, "lateness": {"p50": 2_000, "p99": 9_000}}
    evidence = evidence_from_json({"emulation": {"h1-h2": {"emulator": "user", "forward": direction, "reverse": {}}}})
    trials = [bare_record("ping", evidence=evidence), bare_record("ping", evidence=evidence, status="invalid")]
    run = standard(blocks=1).in_memory()
    run = replace(run, manifest=replace(run.manifest, experiment=read(EMULATED)), trials=trials)
    table = emulation_table(run)
    assert table is not None
    assert [dict(zip([column.name for column in table.columns], row, strict=True)) for row in table.rows] == [
        {
            "link": "h1-h2",
            "from": "h1",
            "emulator": "user",
            "configured": "delay 10ms",
            "trials": "2",
            "packets": "2\u00a0000",
            "lost": "10 (0.500 %)",
            "delay": "10.00 ms",
            "late by": "2.000 µs",
            "late by, 99 %": "9.000 µs",
        },
        {
            "link": "h1-h2",
            "from": "h2",
            "emulator": "user",
            "configured": "delay 10ms",
            "trials": "2",
            "packets": "",
            "lost": "",
            "delay": "",
            "late by": "",
            "late by, 99 %": "",
        },
    ]
    brief = emulation_table(run, brief=True)
    assert brief is not None
    names = [column.name for column in brief.columns]
    assert names == ["link", "from", "configured", "lost", "delay", "late by", "late by, 99 %"]
