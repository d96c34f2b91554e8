"""`vectors/flow` against the definitions of the RFCs, with fractions: what the agent must compute is right."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.computes

VECTORS = Path(__file__).parents[2] / "vectors" / "flow"
FILES = sorted(VECTORS.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_values_are_those_of_the_definitions(path: Path) -> None:
    vector = json.loads(path.read_text())
    computed = _compute(vector["sent"], vector["arrivals"])
    expected = vector["expected"]
    assert {name: computed.get(name) for name in expected} == expected
    assert not [name for name in vector.get("absent", []) if name in computed]


def test_every_definition_has_a_vector() -> None:
    named = {name for path in FILES for name in json.loads(path.read_text())["expected"]}
    assert named == set(_compute(3, [[0, 0, 5], [1, 2, 9]]))


def _compute(sent: int, arrivals: list[list[int]]) -> dict[str, Any]:
    delays: dict[int, int] = {}
    transits: list[int] = []
    reordered, duplicate = [], []
    for sequence, sent_ns, received_ns in arrivals:
        if sequence in delays:
            duplicate.append(sequence)
            continue
        if delays and sequence < max(delays):
            reordered.append(sequence)
        delays[sequence] = received_ns - sent_ns
        transits.append(received_ns - sent_ns)
    highest = max(delays, default=-1)
    lost = [sequence for sequence in range(sent) if sequence not in delays]
    differences = sorted(delays[k + 1] - delays[k] for k in delays if k + 1 in delays)
    result: dict[str, Any] = {
        "received": len(arrivals),
        "unique": len(delays),
        "duplicates": len(duplicate),
        "reordered": len(reordered),
        "lost_middle": sum(sequence < highest for sequence in lost),
        "lost_tail": sum(sequence > highest for sequence in lost),
        "one_way_delay": _buckets(delay for delay in transits if delay >= 0),
        "one_way_delay_negative": sum(delay < 0 for delay in transits),
        "ipdv": _buckets(abs(difference) for difference in differences),
        "pdv": _buckets(delay - min(transits) for delay in transits),
        "sequences": {
            name: {"ranges": _ranges(set(numbers)), "omitted": 0}
            for name, numbers in (("lost", lost), ("duplicate", duplicate), ("reordered", reordered))
        },
    }
    if delays:
        result["highest_sequence"] = highest
        result["measured_ns"] = max(a[2] for a in arrivals) - arrivals[0][2]
    if differences:
        result["ipdv_signed"] = {
            "count": len(differences),
            "min_ns": differences[0],
            "p50_ns": differences[(len(differences) - 1) // 2],
            "max_ns": differences[-1],
        }
    if len(transits) > 1:
        jitter = Fraction(0)
        for before, after in pairwise(transits):
            jitter += (abs(after - before) - jitter) / 16
        result["jitter_rfc3550_ns"] = float(jitter)
    return result


def _buckets(values: Any) -> list[list[int]]:
    return [list(item) for item in sorted(Counter(values).items())]


def _ranges(numbers: set[int]) -> list[list[int]]:
    firsts = sorted(number for number in numbers if number - 1 not in numbers)
    lasts = sorted(number for number in numbers if number + 1 not in numbers)
    return [list(pair) for pair in zip(firsts, lasts, strict=True)]
