"""Checks whether links with a known truth did what they claim, and which packets they lost as configured."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ...lab.netem import netem
from ...model.emulation import WAYS
from ...model.evidence.emulation import EmulatedLink, emulated_way
from ...model.evidence.losses import LostPlace
from ...model.observation import EmulateAnswer, EmulatorRecord
from ...model.reason import Reason, ReasonKind
from ...model.topology import Topology

MAX_LATENESS_P99_NS = 250_000
"""An emulator is behind when a hundredth of the packets leave more than this after they were due ..."""
MAX_LATENESS_SHARE = 0.02
"""... and by more than this share of the configured delay."""


@dataclass(frozen=True, kw_only=True)
class Emulated:
    """The impairments of a trial's packets, as they really were.

    Attributes:
        links: by name.
        invalid: why the links were not what they claim.
    """

    links: dict[str, EmulatedLink]
    invalid: list[Reason]


def assess(topology: Topology, records: Mapping[str, EmulateAnswer], taken: Collection[str] = ()) -> Emulated:
    """Checks whether the links did what they claim.

    Args:
        taken: the links that an event took down. What the emulator cannot send then is lost with the link.
    """
    links: dict[str, EmulatedLink] = {}
    invalid: list[Reason] = []
    for link in topology.wires:
        if not link.is_emulated:
            continue
        if link.emulator == "netem":
            settings = {
                direction: netem(impairments) for direction, impairments in zip(WAYS, link.impairments, strict=True)
            }
            links[link.name] = EmulatedLink(emulator="netem", settings=settings)
            continue
        record = records.get(link.name)
        if record is None:
            words = f"the emulator of {link.name} did not report what it did"
            invalid.append(Reason(kind=ReasonKind.EMULATOR_SILENT, text=words))
            continue
        forward, reverse = map(emulated_way, record.ways)
        links[link.name] = EmulatedLink(emulator="user", forward=forward, reverse=reverse)
        for number, (direction, done) in enumerate(zip(WAYS, record.ways, strict=True)):
            delays_ns = [state[number].impairments.mean_delay_ns for state in link.states]
            reason = _behind(min(filter(None, delays_ns), default=0), done, is_taken=link.name in taken)
            if reason is not None:
                words = f"the emulator of {link.name} ({direction}) {reason}"
                invalid.append(Reason(kind=ReasonKind.EMULATOR_LATE, text=words))
    return Emulated(links=links, invalid=invalid)


def lost_places(topology: Topology, records: Mapping[str, EmulateAnswer]) -> list[LostPlace]:
    """The places where links lost packets as configured."""
    places = []
    for link in topology.wires:
        if link.name not in records:
            continue
        for record, end in zip(records[link.name].ways, link.ends, strict=True):
            if not record.lost:
                continue
            sequences = [(first, last) for first, last in record.lost_sequences or []]
            datagrams = sum(last - first + 1 for first, last in sequences) + (record.lost_sequences_omitted or 0)
            places.append(
                LostPlace(
                    where=f"on {link.name}, coming from {end.node}",
                    what="the link is configured to lose them",
                    datagrams=datagrams,
                    other_packets=record.lost - datagrams,
                    sequences=tuple(sequences),
                    node=end.node,
                    link=link.name,
                    side="emulated",
                    reason="EMULATED",
                )
            )
    return places


def _not_sent(record: EmulatorRecord) -> str:
    codes = ", ".join(record.send_errors_by_code or {})
    return f"could not send packets ({codes})" if codes else "could not send packets"


def _behind(delay_ns: int, record: EmulatorRecord, *, is_taken: bool) -> str | None:
    """The reason why the emulator did not do what was configured, in words; None if it did.

    Args:
        delay_ns: the least that was configured, 0 where none was.
        is_taken: whether an event took the link down.
    """
    for count, words in (
        (record.socket_drops, "lost packets that it could not take in time"),
        (record.no_room, "dropped packets for want of memory"),
        (0 if is_taken else record.send_errors, _not_sent(record)),
    ):
        if count:
            return f"{words}: {count}"
    lateness = record.lateness
    if not lateness.count or not delay_ns:
        return None
    limit_ns = max(MAX_LATENESS_P99_NS, MAX_LATENESS_SHARE * delay_ns)
    if lateness.count >= 100 and lateness.p99 > limit_ns:
        return f"fell behind: 1 % of the packets were late by {lateness.p99 / 1e6:.3g} ms or more"
    return None
