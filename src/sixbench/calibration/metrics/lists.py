"""Lists of packets that a link drops, sends twice or holds back. The ledger must give them back exactly."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from ..metric import CalibratedMetric, Level, MatchReading, ReadingSource

COUNT = 2000
RATE_PPS = 10_000
EACH = 12
LATE_BY = 3
SPACING = 8
"""The least distance between listed packets, so that a packet that is held back waits for packets that are not listed
themselves."""

LISTS = 6
QUICK = 2


@dataclass(frozen=True, kw_only=True)
class Lists:
    """The numbers of the listed packets, in order."""

    dropped: tuple[int, ...]
    duplicated: tuple[int, ...]
    reordered: tuple[int, ...]


def lists(number: int) -> Lists:
    """The lists of that number, which are always the same. The dropped packets include the first, the last and a row
    of packets, because losses at the ends of a flow are the hard ones."""
    random = Random(number)
    places = list(range(SPACING, COUNT - 2 * SPACING, SPACING))
    random.shuffle(places)
    kinds = [sorted(places[kind * EACH : (kind + 1) * EACH]) for kind in range(3)]
    row = range(kinds[0][0], kinds[0][0] + SPACING // 2)
    return Lists(
        dropped=tuple(sorted({0, COUNT - 1, *row, *kinds[0]})),
        duplicated=tuple(kinds[1]),
        reordered=tuple(kinds[2]),
    )


def _link(of_truth: Lists) -> dict[str, Any]:
    return {
        "lost-packets": " ".join(map(str, of_truth.dropped)),
        "duplicated-packets": " ".join(map(str, of_truth.duplicated)),
        "late-packets": " ".join(map(str, of_truth.reordered)),
        "late-by": LATE_BY,
        "emulator": "user",
    }


def _read(trial: ReadingSource) -> MatchReading | None:
    result = trial.record.server.get("sequences")
    if result is None:
        return None
    of_truth = lists(int(trial.level.truth))
    differences = []
    for key, words, numbers in (
        ("lost", "dropped", of_truth.dropped),
        ("duplicate", "duplicated", of_truth.duplicated),
        ("reordered", "reordered", of_truth.reordered),
    ):
        ranges = result[key]["ranges"]
        listed = sum(any(first <= number <= last for first, last in ranges) for number in numbers)
        answer = sum(max(0, last - first + 1) for first, last in ranges)
        if not listed == answer == len(numbers):
            differences.append(f"{words}: {len(numbers) - listed} not found, {answer - listed} that are not listed")
    return MatchReading(difference="; ".join(differences) or None)


LISTED = CalibratedMetric(
    name="lists",
    label="Exact lists",
    column="list_number",
    workload="udp-stream",
    metrics=("loss_ratio", "duplicates_ratio", "reordered_ratio"),
    levels=tuple(
        Level(
            truth=float(number),
            link=_link(lists(number)),
            workload={"udp-stream": {"datagram": "64B", "packet-rate": f"{RATE_PPS}pps", "count": COUNT}},
            is_quick=number <= QUICK,
        )
        for number in range(1, LISTS + 1)
    ),
    scale="absolute",
    read=_read,
    note="A trial is exact if the ledger names just the packets that were dropped, duplicated and held back",
)
