"""Parts that the tests of delays share: repetitions at the throughput rate, and a value of each direction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...model.parameter import Scalar
from ...model.trial import TrialRecord
from ...model.workloads.frames_stamps import Stamped, stamped_flows
from ..lengths import Lengths
from ..rfc_test import Ask, RfcPlace, Value, asked, summary

NO_THROUGHPUT = "no throughput is known at which to measure"


def repeat(ask: Ask, place: RfcPlace, params: dict[str, Scalar]) -> None:
    """Asks for the repetitions at the throughput rate, where there is one."""
    if place.throughput_pps is None:
        return
    for _ in range(place.lengths.repetitions):
        asked(ask, {"rate_pps": place.throughput_pps, **params})


def of_both_directions(
    records: Sequence[TrialRecord],
    place: RfcPlace,
    quantities: Iterable[tuple[str, str, str]],
    *,
    may_be_stamped: bool = False,
) -> list[Value]:
    """The values of the quantities, by direction.

    Args:
        quantities: the name, the metric's column from client to server, and the one from server to client.
        may_be_stamped: whether they are by hardware where there is any. Then trials without it are left out.
    """
    valid = [record for record in records if record.status == "ok"]
    remark = remark_of(records, place)
    results = []
    for name, *columns in quantities:
        for direction, column in zip(("forward", "reverse"), columns, strict=True):
            stamped = _stamped(valid, direction) if may_be_stamped else []
            usable = [record for record, _ in stamped] or valid
            values = [record.metrics[column] for record in usable if column in record.metrics]
            called = f"{name}, {direction}"
            value = summary(called, "ns", values, place=place, rate_pps=place.throughput_pps, remark=remark)
            results.append(_by_hardware(value, [item for _, item in stamped]))
    return results


def _stamped(records: Sequence[TrialRecord], direction: str) -> list[tuple[TrialRecord, Stamped]]:
    """The trials in which hardware stamped the frames of a direction."""
    flows = [(record, stamped_flows(record.params, record.client, record.server)) for record in records]
    return [(record, results[direction]) for record, results in flows if direction in results]


def _by_hardware(value: Value, stamped: Sequence[Stamped]) -> Value:
    """The value of stamps by hardware, if there are any, with a remark that says so."""
    if not stamped:
        return value
    fewest = min(len(item.delays_ns) for item in stamped)
    words = f"hardware time stamps of {stamped[0].by}, of at least {fewest} frames a trial"
    return replace(value, stamped=fewest, remark="; ".join(filter(None, (value.remark, words))))


def remark_of(records: Sequence[TrialRecord], place: RfcPlace) -> str:
    """The reason why there is no delay, or the loss in the midst of the trials, which are at a rate that lost nothing
    before."""
    if place.throughput_pps is None:
        return NO_THROUGHPUT
    valid = [record for record in records if record.status == "ok"]
    if records and not valid:
        return "no trial counts" + "".join(f": {reason.text}" for reason in records[-1].reasons[:1])
    worst = max(
        (max(record.metrics.get(name, 0.0) for name in ("loss_ratio", "loss_reverse_ratio")) for record in valid),
        default=0.0,
    )
    return f"up to {100 * worst:.2g} % of the frames were lost" if worst > 0 else ""


def in_words(repetitions: int, seconds: float) -> str:
    """Repetitions and their length."""
    return f"{repetitions} repetitions of {seconds:g} s"


def lasts(lengths: Lengths, seconds: float) -> tuple[int, float]:
    """Number of trials, and the length of each."""
    return lengths.repetitions, seconds
