"""Records of trials of `frames`, as a search of a throughput reads them."""

from __future__ import annotations

from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.trial import TrialRecord


def trial(load_pps: int, lost: int = 0, *kinds: ReasonKind, duration_s: float = 60.0) -> TrialRecord:
    """At that rate in both directions, with so many of 1,000 frames lost on the way to the server."""
    sender, receiver = {"sent": 1000}, {"unique": 1000 - lost}
    return TrialRecord(
        key="b001-c0001-ipv4",
        sequence=1,
        block=1,
        combination="c0001",
        path="ipv4",
        mechanism="native4",
        engine="kernel",
        workload="frames",
        params={"rate_pps": load_pps, "duration_ns": round(duration_s * 1e9)},
        levels={},
        status="invalid" if kinds else "ok",
        reasons=[Reason(kind=kind, text=kind.value) for kind in kinds],
        started_realtime_ns=0,
        elapsed_ns=0,
        client={"forward_sender": sender, "reverse_receiver": {"unique": 1000}},
        server={"forward_receiver": receiver, "reverse_sender": sender},
    )
