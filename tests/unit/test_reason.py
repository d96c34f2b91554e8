"""Reasons that make a trial invalid, their excuses, and their form in records."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.model.reason import Excuse, Reason, ReasonKind, sentences
from sixbench.model.workload import TrialMeasurements
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes

EXCUSES = {
    Excuse.FORETOLD_LOSS: {ReasonKind.NOTHING_ARRIVED},
    Excuse.DF_POLICY: {ReasonKind.NOTHING_ARRIVED},
}
"""Reasons that an excuse covers: if no datagram can arrive, none did. A ledger that does not add up, packets on another
way, a link that went down, a clock that was stepped and all else are as wrong as ever."""


@pytest.mark.parametrize("excuse", Excuse)
@pytest.mark.parametrize("kind", ReasonKind)
def test_only_what_follows_from_an_excuse_becomes_a_remark(kind: ReasonKind, excuse: Excuse) -> None:
    measured = TrialMeasurements()
    measured.reject(kind, "what is wrong")
    measured.excuse(excuse)
    is_excused = kind in EXCUSES[excuse]
    assert (sentences(measured.invalid), measured.notes) == (
        ("", ["what is wrong"]) if is_excused else ("what is wrong", [])
    )


def test_a_foretold_loss_does_not_excuse_a_ledger_that_does_not_add_up() -> None:
    """No datagram arrives, as theory says, but the server says that fewer were lost than were sent."""
    client = {"sent": 10, "measured_ns": 10**9, "scheduled_ns": 10**9}
    server: dict[str, Any] = {"unique": 0, "duplicates": 0, "reordered": 0, "lost_middle": 0, "lost_tail": 3}
    measured = WORKLOADS["udp-stream"].summarise({"datagram_bytes": 1000}, client, server)
    measured.excuse(Excuse.FORETOLD_LOSS)
    assert [reason.kind for reason in measured.invalid] == [ReasonKind.LEDGER]
    assert measured.notes == ["none of 10 datagrams arrived"]


@pytest.mark.parametrize("kind", ReasonKind)
def test_a_reason_is_read_as_it_was_written(kind: ReasonKind) -> None:
    reason = Reason(kind=kind, text="h1: peer-lost")
    assert Reason.from_json(reason.to_json()) == reason


@pytest.mark.parametrize(
    "data", ["text", {"kind": "ledger"}, {"kind": "ledger", "text": 1}, {"kind": "x", "text": "y"}]
)
def test_what_is_no_reason_is_refused(data: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Reason.from_json(data)
