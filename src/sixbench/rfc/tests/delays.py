"""What the tests of delays share: repetitions at the throughput rate, and a value of each direction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...model.parameter import Scalar
from ...model.trial import TrialRecord
from ..lengths import Lengths
from ..test import Ask, Place, Value, asked, summary

NO_THROUGHPUT = "no throughput is known at which to measure"


def repeat(ask: Ask, place: Place, params: dict[str, Scalar]) -> None:
    """Asks for the repetitions at the throughput rate, where there is one."""
    if place.throughput_pps is None:
        return
    for _ in range(place.own.repetitions):
        asked(ask, {"rate_pps": place.throughput_pps, **params})


def of_both_directions(
    records: Sequence[TrialRecord], place: Place, quantities: Iterable[tuple[str, str, str]]
) -> list[Value]:
    """The values of the quantities, by direction.

    Args:
        quantities: the name, the metric's column from client to server, and the one from server to client.
    """
    valid = [record for record in records if record.status == "ok"]
    remark = remark_of(records, place)
    found = []
    for name, *columns in quantities:
        for direction, column in zip(("forward", "reverse"), columns, strict=True):
            values = [record.metrics[column] for record in valid if column in record.metrics]
            called = f"{name}, {direction}"
            found.append(summary(called, "ns", values, place=place, rate_pps=place.throughput_pps, remark=remark))
    return found


def remark_of(records: Sequence[TrialRecord], place: Place) -> str:
    """Why there is no delay, or the loss in the midst of the trials, which are at a rate that lost nothing before."""
    if place.throughput_pps is None:
        return NO_THROUGHPUT
    valid = [record for record in records if record.status == "ok"]
    if records and not valid:
        return "no trial counts" + "".join(f": {one.text}" for one in records[-1].reasons[:1])
    worst = max(
        (max(record.metrics.get(name, 0.0) for name in ("loss_ratio", "loss_reverse_ratio")) for record in valid),
        default=0.0,
    )
    return f"up to {100 * worst:.2g} % of the frames were lost" if worst > 0 else ""


def in_words(repetitions: int, seconds: float) -> str:
    """Repetitions and their length."""
    return f"{repetitions} repetitions of {seconds:g} s"


def lasts(own: Lengths, seconds: float) -> tuple[int, float]:
    """How many trials there are, and how long each is."""
    return own.repetitions, seconds
