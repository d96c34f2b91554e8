"""The sessions of nodes that keep state, by Linux's connection tracking: how many, and what the table refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...model.evidence.sessions import TrackedSessions
from ...model.form import ABSENT
from ...model.observation import TrackingAnswer
from ...model.reason import Reason, ReasonKind

FAILURES: Mapping[str, str] = {
    "insert_failed": "no entry could be made, because no address and port were left for it or another one had them",
    "drop": "packets were dropped for want of an entry",
    "early_drop": "sessions were ended to make room for others",
}
"""The kernel's counters of what went wrong with sessions, and what each means (conntrack-tools, conntrack(8), -S)."""

LEAST_SESSIONS = 10_000
"""The least rise of sessions of which the memory is told. Processors keep some hundred entries at hand, which count as
used: of these sessions that is a few percent."""

LEAST_TORN_DOWN = 500
"""The least number of sessions whose forgetting is timed. Forgetting none takes some ten microseconds."""

Answers = Mapping[str, TrackingAnswer]
"""The answers to `connection-tracking`, by node."""

Sessions = Mapping[str, TrackedSessions]
"""The sessions by node."""


def session_evidence(before: Answers, after: Answers) -> dict[str, TrackedSessions]:
    """The sessions of each node at the beginning and at the end, and what failed in between. A node whose kernel tracks
    nothing is absent."""
    tracked_sessions = {}
    for node, late in after.items():
        early = before.get(node)
        if early is None or ABSENT in (early.sessions, late.sessions):
            continue
        first, last = early.slab, late.slab
        tracked_sessions[node] = TrackedSessions(
            before=early.sessions,
            after=late.sessions,
            most=late.most,
            failed=_failures(early.statistics, late.statistics),
            object_bytes=None if ABSENT in (first, last) else last.object_bytes,
            objects=None if ABSENT in (first, last) else last.objects - first.objects,
        )
    return tracked_sessions


def _failures(early: Mapping[str, int] | None, late: Mapping[str, int] | None) -> dict[str, int] | None:
    if early is None or late is None:
        return None
    rises = {name: late[name] - early.get(name, 0) for name in FAILURES if name in late}
    return {name: rise for name, rise in rises.items() if rise > 0}


def judge_sessions(
    nodes: Iterable[str], sessions: Sessions, before: Answers, *, is_meant: bool
) -> tuple[list[str], list[Reason]]:
    """Remarks, and the reasons against the trial: nodes whose table refused sessions.

    Args:
        nodes: those that track connections.
        is_meant: whether the workload fills the table to see what happens.
    """
    notes: list[str] = []
    reasons: list[Reason] = []
    for node in nodes:
        tracked_sessions = sessions.get(node)
        if tracked_sessions is None:
            words = f"{node} could not be asked for its sessions"
            reasons.append(Reason(kind=ReasonKind.NOT_COUNTED, text=words))
            continue
        if tracked_sessions.before and before[node].forgotten is False:
            notes.append(
                f"{node} had {tracked_sessions.before} sessions before the trial, which its kernel could not remove: "
                "it has no "
                "nf_conntrack_netlink"
            )
        if tracked_sessions.failed:
            text = "; ".join(f"{name} {count}: {FAILURES[name]}" for name, count in tracked_sessions.failed.items())
            words = (
                f"{node} refused sessions, with {tracked_sessions.after} of at most {tracked_sessions.most} at the "
                f"end ({text})"
            )
            if is_meant:
                notes.append(words)
            else:
                reasons.append(Reason(kind=ReasonKind.SESSIONS_REFUSED, text=words))
    return notes, reasons


def session_memory_bytes(sessions: Sessions) -> float | None:
    """The memory that one more session at a node took, by the entries of the whole machine; None where too few came, or
    where the kernel does not tell."""
    rise = sum(tracked_sessions.rise for tracked_sessions in sessions.values())
    pairs = [(tracked_sessions.objects, tracked_sessions.object_bytes) for tracked_sessions in sessions.values()]
    if rise < LEAST_SESSIONS or not pairs:
        return None
    # All nodes of a trial read the counters of the same machine.
    objects, object_bytes = pairs[0]
    return None if objects is None or object_bytes is None else objects * object_bytes / rise


def teardown_rate_per_s(sessions: Sessions, torn_down: Answers) -> float | None:
    """Number of sessions a second that the slowest node forgot on command to forget all (RFC 9693); None where there
    were too few, or where the kernel cannot forget."""
    rates = [
        tracked_sessions.after / answer.forget_ns * 1e9
        for node, tracked_sessions in sessions.items()
        if tracked_sessions.after >= LEAST_TORN_DOWN
        and (answer := torn_down.get(node)) is not None
        and answer.forgotten
        and answer.forget_ns
    ]
    return min(rates, default=None)
