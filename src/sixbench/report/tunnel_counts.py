"""Counts of the ends of tunnels and of translators: packets by the fast and the slow path, and what was dropped and
why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..model.evidence.devices import Count, TranslatorCounters, TunnelCounters

NOTHING = Count(packets=0, bytes=0)


@dataclass(frozen=True, kw_only=True)
class TunnelEnd:
    """One end of a tunnel over the trials of a path.

    Attributes:
        trials: how many say something of it.
        encapsulated, decapsulated: by the fast path.
        slow_encapsulated, slow_decapsulated: by the slow path; None: the engine has none (`kernel`).
        slow: why packets were given to the slow path.
        drops: by reason.
    """

    node: str
    device: str
    trials: int = 0
    encapsulated: Count = NOTHING
    decapsulated: Count = NOTHING
    slow_encapsulated: Count | None = None
    slow_decapsulated: Count | None = None
    slow: dict[str, Count] = field(default_factory=dict)
    drops: dict[str, Count] = field(default_factory=dict)

    @property
    def slow_packets(self) -> int | None:
        """Packets that the slow path carried; None where there is none."""
        if self.slow_encapsulated is None and self.slow_decapsulated is None:
            return None
        return sum(count.packets for count in (self.slow_encapsulated, self.slow_decapsulated) if count is not None)

    @property
    def carried_packets(self) -> int:
        """Packets that went into the tunnel or came out of it, by either path."""
        return self.encapsulated.packets + self.decapsulated.packets + (self.slow_packets or 0)

    @property
    def dropped_packets(self) -> int:
        """The packets dropped for any reason."""
        return sum(count.packets for count in self.drops.values())


Tunnels = Mapping[str, Mapping[str, TunnelCounters]]
"""The ends of tunnels by node and device: `tunnels` of a trial's evidence."""


class TunnelSum:
    """The ends of tunnels, added up one trial at a time."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], TunnelEnd] = {}

    def add(self, tunnels: Tunnels) -> None:
        for node, devices in tunnels.items():
            for device, counted in devices.items():
                known = self._found.get((node, device)) or TunnelEnd(node=node, device=device)
                self._found[node, device] = _with(known, counted)

    def ends(self) -> list[TunnelEnd]:
        """The ends in the order of the records."""
        return list(self._found.values())


@dataclass(frozen=True, kw_only=True)
class TranslatorSum:
    """A translator over the trials of a path.

    Attributes:
        trials: how many say something of it.
        to_ipv6, to_ipv4: the packets that it translated.
        slow: of these, those that user space translated, by clause.
        answered: those whose source was told of an error, by clause.
        drops: by clause.
        waiting: fragments that still waited for the first one of their packet when a trial ended; None: not counted.
    """

    node: str
    device: str
    trials: int = 0
    to_ipv6: Count = NOTHING
    to_ipv4: Count = NOTHING
    slow: dict[str, Count] = field(default_factory=dict)
    answered: dict[str, Count] = field(default_factory=dict)
    drops: dict[str, Count] = field(default_factory=dict)
    waiting: Count | None = None

    @property
    def slow_packets(self) -> int:
        """The packets that user space translated."""
        return sum(count.packets for count in self.slow.values())

    @property
    def translated_packets(self) -> int:
        """All packets that were translated."""
        return self.to_ipv6.packets + self.to_ipv4.packets

    def with_trial(self, counted: TranslatorCounters) -> TranslatorSum:
        """The same sum with what the translator did in one more trial."""
        return replace(
            self,
            trials=self.trials + 1,
            to_ipv6=self.to_ipv6 + _risen(counted.to_ipv6),
            to_ipv4=self.to_ipv4 + _risen(counted.to_ipv4),
            slow=_with_reasons(self.slow, _by_reason(counted.slow)),
            answered=_with_reasons(self.answered, _by_reason(counted.answered)),
            drops=_with_reasons(self.drops, _by_reason(counted.drops)),
            waiting=_sum(self.waiting, counted.waiting),
        )


def total(counts: Iterable[Mapping[str, Count]]) -> dict[str, Count]:
    """Counts by reason of several ends, the most frequent first."""
    summed: dict[str, Count] = {}
    for by_reason in counts:
        summed = _with_reasons(summed, by_reason)
    return summed


def _with(end: TunnelEnd, counted: TunnelCounters) -> TunnelEnd:
    return replace(
        end,
        trials=end.trials + 1,
        encapsulated=end.encapsulated + _risen(counted.encapsulated),
        decapsulated=end.decapsulated + _risen(counted.decapsulated),
        slow_encapsulated=_sum(end.slow_encapsulated, counted.slow_encapsulated),
        slow_decapsulated=_sum(end.slow_decapsulated, counted.slow_decapsulated),
        slow=_with_reasons(end.slow, _by_reason(counted.slow or {})),
        drops=_with_reasons(end.drops, _by_reason(counted.drops)),
    )


def _sum(total: Count | None, counted: Count | None) -> Count | None:
    return total if counted is None else (total or NOTHING) + _risen(counted)


def _with_reasons(total: Mapping[str, Count], counts: Mapping[str, Count]) -> dict[str, Count]:
    summed = dict(total)
    for reason, count in counts.items():
        summed[reason] = summed.get(reason, NOTHING) + count
    return dict(sorted(summed.items(), key=lambda item: -item[1].packets))


def _by_reason(counts: Mapping[str, Count]) -> dict[str, Count]:
    return {reason: _risen(count) for reason, count in counts.items()}


def _risen(count: Count) -> Count:
    """The increases. A counter that began anew in the midst of a trial is lower than before, and says nothing."""
    return Count(packets=max(0, count.packets), bytes=max(0, count.bytes))
