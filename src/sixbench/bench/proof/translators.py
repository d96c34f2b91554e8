"""The translators in a trial: packets of each family, and what was answered or dropped by which clause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...model.evidence.counts import CountIncrease
from ...model.evidence.translators import TranslatorCounters
from ...model.network import Network
from ...model.observation import TranslatorState
from ...model.reason import Reason, ReasonKind
from ...model.workload import Traffic
from .rises import NO_PACKETS, rise, rises

QUIET_CLAUSES = frozenset({"not-unicast"})
"""Clauses that mean nothing: packets that a node itself sends to groups, such as multicast listener reports."""

Counters = Mapping[str, Mapping[str, TranslatorState]]
"""The answers to `translator-counters`, by node and device."""

NOTHING = TranslatorState(to_ipv6=NO_PACKETS, to_ipv4=NO_PACKETS, slow={}, answered={}, drops={}, waiting=NO_PACKETS)
"""Counts of a new translator."""

Translators = Mapping[str, Mapping[str, TranslatorCounters]]
"""Counts of translators, by node and device."""


def translator_evidence(
    network: Network, before: Counters, after: Counters, forgotten: Sequence[TranslatorState] = ()
) -> dict[str, dict[str, TranslatorCounters]]:
    """Counts of the translators of a network between two looks, by node and device.

    Args:
        forgotten: the last counters of the translator that learns its prefix, each time that it was taken away.
    """
    counters: dict[str, dict[str, TranslatorCounters]] = {}
    for device in network.translators:
        late = after.get(device.node, {}).get(device.device)
        if late is not None:
            early = before.get(device.node, {}).get(device.device, NOTHING)
            ends = [*forgotten, late] if device.discovery is not None else [late]
            # A translator that was removed and created again counts from 0.
            counted = [_difference(NOTHING if number else early, then) for number, then in enumerate(ends)]
            counters.setdefault(device.node, {})[device.device] = _sum(counted)
    return counters


def check_translators(network: Network, counted: Translators, traffic: Traffic) -> list[Reason]:
    """The reasons against the trial: translators on the way that did not translate what arrived."""
    return [Reason(kind=kind, text=text) for kind, text in _wrong(network, counted, traffic)]


def _wrong(network: Network, counted: Translators, traffic: Traffic) -> Iterator[tuple[ReasonKind, str]]:
    by_node = {device.node: device.device for device in network.translators}
    for before, behind in zip(network.legs, network.legs[1:], strict=False):
        if before.family == behind.family:
            continue
        node = behind.near
        device = by_node.get(node)
        counters = None if device is None else counted.get(node, {}).get(device)
        if counters is None:
            yield ReasonKind.NOT_COUNTED, f"{node} could not be asked for the counters of its translator {device}"
            continue
        for family, payload_bytes in (
            (behind.family, traffic.forward_payload_bytes),
            (before.family, traffic.reverse_payload_bytes),
        ):
            translated = counters.to(family)
            if translated.bytes < payload_bytes:
                yield (
                    ReasonKind.TRANSLATOR_COUNTERS,
                    f"{payload_bytes} bytes of payload arrived, but {device} of {node} translated only "
                    f"{translated.bytes} bytes to IPv{family}: they went another way",
                )


def translation_notes(counted: Translators) -> list[str]:
    """Remarks on packets that were dropped, or whose source was told of an error."""
    names = []
    for node, devices in counted.items():
        for device, counters in devices.items():
            names += [
                f"{device} of {node} {what} {count.packets} packets: {clause}"
                for what, by_clause in (("dropped", counters.drops), ("answered", counters.answered))
                for clause, count in by_clause.items()
                if clause not in QUIET_CLAUSES
            ]
            if counters.waiting is not None and counters.waiting.packets:
                names.append(
                    f"{counters.waiting.packets} fragments still waited in {device} of {node} at the end for the first "
                    "one "
                    "of their packet"
                )
    return names


def _sum(counted: Sequence[TranslatorCounters]) -> TranslatorCounters:
    total, *others = counted
    for counters in others:
        total = TranslatorCounters(
            to_ipv6=total.to_ipv6 + counters.to_ipv6,
            to_ipv4=total.to_ipv4 + counters.to_ipv4,
            slow=_added(total.slow, counters.slow),
            answered=_added(total.answered, counters.answered),
            drops=_added(total.drops, counters.drops),
            waiting=_both(total.waiting, counters.waiting),
        )
    return total


def _both(count: CountIncrease | None, other: CountIncrease | None) -> CountIncrease | None:
    """Counts of a translator that was taken away, and of the new one in its place."""
    return count + other if count is not None and other is not None else None


def _added(counts: Mapping[str, CountIncrease], other: Mapping[str, CountIncrease]) -> dict[str, CountIncrease]:
    none = CountIncrease(packets=0, bytes=0)
    return {name: counts.get(name, none) + other.get(name, none) for name in {**counts, **other}}


def _difference(early: TranslatorState, late: TranslatorState) -> TranslatorCounters:
    return TranslatorCounters(
        to_ipv6=rise(early.to_ipv6, late.to_ipv6),
        to_ipv4=rise(early.to_ipv4, late.to_ipv4),
        slow=rises(early.slow, late.slow),
        answered=rises(early.answered, late.answered),
        drops=rises(early.drops, late.drops),
        waiting=rise(None, late.waiting),
    )
