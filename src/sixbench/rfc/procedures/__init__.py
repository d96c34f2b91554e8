"""The tests there are, in the order in which they are run and shown. A new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..rfc_test import RfcTest
from . import (
    back_to_back,
    capacity,
    dns64,
    establishment,
    frame_loss_rate,
    ipdv,
    latency,
    overload,
    pdv,
    recovery,
    teardown,
    throughput,
)

TESTS: Mapping[str, RfcTest] = {
    test.name: test
    for test in (
        throughput.TEST,
        latency.TEST,
        pdv.TEST,
        ipdv.TEST,
        frame_loss_rate.TEST,
        back_to_back.TEST,
        recovery.TEST,
        overload.TEST,
        establishment.TEST,
        capacity.TEST,
        teardown.TEST,
        dns64.TEST,
    )
}


def with_needed(names: Iterable[str]) -> tuple[str, ...]:
    """These tests and those that they need, in the order in which they are run."""
    texts, left = set[str](), list(names)
    while left:
        name = left.pop()
        if name not in texts:
            texts.add(name)
            left.extend(TESTS[name].needs)
    return tuple(name for name in TESTS if name in texts)
