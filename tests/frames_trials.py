"""Records of trials of `frames`, as a search of a throughput reads them."""

from __future__ import annotations

from stored import bare_record

from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.trial import TrialRecord


def trial(load_pps: int, lost: int = 0, *kinds: ReasonKind, duration_s: float = 60.0) -> TrialRecord:
    """At that rate in both directions, with so many of 1,000 frames lost on the way to the server."""
    sender, receiver = {"sent": 1000}, {"unique": 1000 - lost}
    return bare_record(
        "frames",
        params={"rate_pps": load_pps, "duration_ns": round(duration_s * 1e9)},
        status="invalid" if kinds else "ok",
        reasons=[Reason(kind=kind, text=kind.value) for kind in kinds],
        client={"forward_sender": sender, "reverse_receiver": {"unique": 1000}},
        server={"forward_receiver": receiver, "reverse_sender": sender},
    )
