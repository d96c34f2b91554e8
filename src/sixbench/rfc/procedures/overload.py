"""Overload scalability (RFC 8219 section 10.2.1): the throughput of many flows at once against that of one."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.network import Network
from ...model.path import Path
from ...model.trial import TrialRecord
from .. import throughput as search
from ..rfc_test import Ask, RfcPlace, RfcTest, Value
from ..state import keeps_state
from . import throughput

FLOWS = 256
"""Pairs of pseudo-random ports, which take turns (RFC 4814)."""


def _run(ask: Ask, place: RfcPlace) -> None:
    search.run(throughput.loads(ask), place.lengths, place.most_pps)


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    result = search.read(records, place.lengths.goals[:1])[0]
    many, number = result.bounds.lower_pps, place.throughput_pps
    remark = result.failed or ("no rate meets the goal" if many is None else "")
    if not result.is_settled and result.refused_why:
        remark = f"not settled: {result.refused_why}"
    elif many is not None and result.is_testers:
        remark = "the tester was the limit"
    degradation = None if many is None or number is None else (number - many) / number
    return [
        Value(name=name, unit=unit, value=value, trials=result.trials, remark=remark, is_testers=result.is_testers)
        for name, unit, value in (
            ("throughput of 1 flow", "frames/s", number),
            (f"throughput of {FLOWS} flows", "frames/s", many),
            ("degradation", "1", degradation),
        )
    ]


def _unfit(path: Path, network: Network) -> str | None:
    if not keeps_state(network):
        return None
    return "a device that keeps state takes frames from the server only to ports that it knows"


TEST = RfcTest(
    name="overload",
    title="Overload scalability",
    doc=f"the throughput of {FLOWS} flows against that of one",
    profiles=frozenset({"8219"}),
    lasts=throughput.TEST.lasts,
    shortened=throughput.shortened,
    run=_run,
    values=_values,
    needs=("throughput",),
    params=lambda lengths: {"ports": "pseudo-random", "flows": FLOWS},
    over_traffics=False,
    needs_search=True,
    unfit=_unfit,
)
