"""The relays in a trial: what they passed on, and the sessions that they refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from ...model.evidence.relays import RelayCounters
from ...model.evidence.sessions import TrackedSessions
from ...model.network import Network
from ...model.observation import RelayAnswer
from ...model.reason import Reason, ReasonKind
from ...model.workload import Traffic

TOO_MANY = "sessions"
"""The reason of a relay that has as many sessions as it may."""

REMARK_WORDS: Mapping[str, str] = {
    "no-server": "for addresses of no server",
    "system": "for which the kernel gave no socket",
    "unreachable": "whose server could not be reached or refused",
    "errors": "errors about datagrams, which it did not pass on",
    "not_sent": "datagrams that the kernel did not take",
}
"""Words of a remark for each outcome of sessions and datagrams besides being passed on. That connections are reset is
how some applications end them."""

Answers = Mapping[str, RelayAnswer]
"""The answers to `relay-counters`, by node."""


@dataclass(frozen=True, kw_only=True)
class RelayEvidence:
    """The findings.

    Attributes:
        relays, sessions: what a record keeps, by node.
        notes: remarks.
        invalid: the reasons against the trial.
    """

    relays: dict[str, RelayCounters]
    sessions: dict[str, TrackedSessions]
    notes: list[str] = field(default_factory=list)
    invalid: list[Reason] = field(default_factory=list)


def relay_evidence(
    network: Network, before: Answers, after: Answers, traffic: Traffic, *, is_meant: bool
) -> RelayEvidence:
    """Counts of the relays of a network between two looks, compared with the arrived bytes.

    Args:
        is_meant: whether the workload fills tables to see what happens.
    """
    evidence = RelayEvidence(relays={}, sessions={})
    for near, far in pairwise(network.parts):
        node = far.legs[0].near
        if node in network.answering:
            continue
        if node not in before or node not in after:
            words = f"{node} could not be asked for the counters of its relay"
            evidence.invalid.append(Reason(kind=ReasonKind.NOT_COUNTED, text=words))
            continue
        early, late = before[node], after[node]
        refused = _rises(early.refused, late.refused)
        too_many = refused.pop(TOO_MANY, 0)
        counted = _difference(early, late, refused)
        evidence.relays[node] = counted
        evidence.sessions[node] = TrackedSessions(
            before=_open(early), after=_open(late), most=late.most, failed={TOO_MANY: too_many} if too_many else {}
        )
        evidence.notes.extend(_notes(node, counted))
        if too_many:
            words = f"{node} refused {too_many} sessions: its relay has at most {late.most}"
            if is_meant:
                evidence.notes.append(words)
            else:
                evidence.invalid.append(Reason(kind=ReasonKind.SESSIONS_REFUSED, text=words))
        for family, payload_bytes in (
            (far.legs[0].family, traffic.forward_payload_bytes),
            (near.legs[-1].family, traffic.reverse_payload_bytes),
        ):
            passed_bytes = counted.bytes_to(family)
            if passed_bytes < payload_bytes:
                words = (
                    f"{payload_bytes} bytes of payload arrived, but the relay of {node} passed only {passed_bytes} "
                    f"bytes on to IPv{family}: they went another way"
                )
                evidence.invalid.append(Reason(kind=ReasonKind.RELAY_COUNTERS, text=words))
    return evidence


def _difference(early: RelayAnswer, late: RelayAnswer, refused: Mapping[str, int]) -> RelayCounters:
    tcp, udp = _rises(vars(early.tcp), vars(late.tcp)), _rises(vars(early.udp), vars(late.udp))
    others = {name: {**tcp, **udp}.get(name, 0) for name in ("reset", "unreachable", "errors", "not_sent")}
    return RelayCounters(
        connections=tcp["opened"],
        pairs=udp["opened"],
        bytes_to_ipv6=tcp["bytes_to_ipv6"] + udp["bytes_to_ipv6"],
        bytes_to_ipv4=tcp["bytes_to_ipv4"] + udp["bytes_to_ipv4"],
        datagrams_to_ipv6=udp["datagrams_to_ipv6"],
        datagrams_to_ipv4=udp["datagrams_to_ipv4"],
        failed={name: count for name, count in {**refused, **others}.items() if count},
    )


def _rises(early: Mapping[str, int], late: Mapping[str, int]) -> dict[str, int]:
    return {name: max(0, count - early.get(name, 0)) for name, count in late.items()}


def _open(answer: RelayAnswer) -> int:
    return answer.tcp.open + answer.udp.open


def _notes(node: str, counted: RelayCounters) -> Iterable[str]:
    for name, count in counted.failed.items():
        if name in ("errors", "not_sent"):
            yield f"the relay of {node} counted {count} {REMARK_WORDS[name]}"
        elif name in REMARK_WORDS:
            yield f"the relay of {node} ended {count} sessions {REMARK_WORDS[name]}"
