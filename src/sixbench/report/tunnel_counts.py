"""What the ends of tunnels did: packets in and out, by the fast and the slow path, and what was dropped and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Count:
    """Packets and the bytes in them."""

    packets: int = 0
    bytes: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(packets=self.packets + other.packets, bytes=self.bytes + other.bytes)


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
    encapsulated: Count = Count()
    decapsulated: Count = Count()
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


def tunnel_ends(of_trials: Iterable[Mapping[str, Any]]) -> list[TunnelEnd]:
    """The ends in the order of the records, each over all trials. `of_trials`: `tunnels` of their evidence."""
    found = TunnelSum()
    for tunnels in of_trials:
        found.add(tunnels)
    return found.ends()


class TunnelSum:
    """The ends of tunnels, added up one trial at a time."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], TunnelEnd] = {}

    def add(self, tunnels: Mapping[str, Any]) -> None:
        """Adds `tunnels` of a trial's evidence."""
        for node, devices in tunnels.items():
            for device, counted in devices.items():
                known = self._found.get((node, device)) or TunnelEnd(node=node, device=device)
                self._found[node, device] = _with(known, counted)

    def ends(self) -> list[TunnelEnd]:
        """The ends in the order of the records."""
        return list(self._found.values())


def total(counts: Iterable[Mapping[str, Count]]) -> dict[str, Count]:
    """Counts by reason of several ends, the most frequent first."""
    summed: dict[str, Count] = {}
    for by_reason in counts:
        summed = _with_reasons(summed, by_reason)
    return summed


def _with(end: TunnelEnd, counted: Mapping[str, Any]) -> TunnelEnd:
    return replace(
        end,
        trials=end.trials + 1,
        encapsulated=end.encapsulated + _count(counted["encapsulated"]),
        decapsulated=end.decapsulated + _count(counted["decapsulated"]),
        slow_encapsulated=_sum(end.slow_encapsulated, counted.get("slow_encapsulated")),
        slow_decapsulated=_sum(end.slow_decapsulated, counted.get("slow_decapsulated")),
        slow=_with_reasons(end.slow, _counts(counted.get("slow", {}))),
        drops=_with_reasons(end.drops, _counts(counted.get("drops", {}))),
    )


def _sum(total: Count | None, counted: Mapping[str, int] | None) -> Count | None:
    return total if counted is None else (total or Count()) + _count(counted)


def _with_reasons(total: Mapping[str, Count], counts: Mapping[str, Count]) -> dict[str, Count]:
    summed = dict(total)
    for reason, count in counts.items():
        summed[reason] = summed.get(reason, Count()) + count
    return dict(sorted(summed.items(), key=lambda item: -item[1].packets))


def _counts(counted: Mapping[str, Mapping[str, int]]) -> dict[str, Count]:
    return {reason: _count(count) for reason, count in counted.items()}


def _count(counted: Mapping[str, int]) -> Count:
    """What rose. A counter that began anew in the midst of a trial is lower than before, and says nothing."""
    return Count(packets=max(0, counted["packets"]), bytes=max(0, counted["bytes"]))
