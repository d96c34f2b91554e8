"""Where packets were lost, in words, over the trials of a path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

UNSEEN = "where nobody saw it"


@dataclass(frozen=True, kw_only=True)
class LostAt:
    """A place at which a path's trials lost something, and why.

    Attributes:
        where: such as `by r1, going to core`.
        what: why.
        datagrams: those of the trials, by name.
        other_packets: packets of the same protocol that nobody can name: segments, later fragments.
        trials: in how many.
    """

    where: str
    what: str
    datagrams: int = 0
    other_packets: int = 0
    trials: int = 0


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What the trials of a path lost.

    Attributes:
        places: those that lost most first; what was lost where nobody saw it is among them.
        not_told: why the kernel did not say where, each reason once.
    """

    places: list[LostAt] = field(default_factory=list)
    not_told: list[str] = field(default_factory=list)


def losses(of_trials: Iterable[Any]) -> Losses:
    """Adds up. `of_trials`: `losses` of their evidence."""
    found = LossSum()
    for evidence in of_trials:
        found.add(evidence)
    return found.told()


class LossSum:
    """What the trials of a path lost, added up one trial at a time."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], LostAt] = {}
        self._not_told: dict[str, None] = {}

    def add(self, evidence: Any) -> None:
        """Adds `losses` of a trial's evidence."""
        if not isinstance(evidence, Mapping):
            return
        if isinstance(evidence.get("not_told"), str) and evidence.get("lost"):
            self._not_told.setdefault(evidence["not_told"])
        for where, what, datagrams, others in _places(evidence):
            known = self._found.get((where, what)) or LostAt(where=where, what=what)
            self._found[where, what] = replace(
                known,
                datagrams=known.datagrams + datagrams,
                other_packets=known.other_packets + others,
                trials=known.trials + 1,
            )

    def told(self) -> Losses:
        """The sum."""
        places = sorted(self._found.values(), key=lambda place: (-place.datagrams, -place.other_packets))
        return Losses(places=places, not_told=list(self._not_told))


def _places(evidence: Mapping[str, Any]) -> Iterable[tuple[str, str, int, int]]:
    located = evidence.get("located")
    for place in located if isinstance(located, list) else []:
        if isinstance(place, Mapping) and isinstance(place.get("where"), str):
            counts = _whole(place.get("datagrams")), _whole(place.get("other_packets"))
            yield place["where"], str(place.get("what")), *counts
    if _whole(evidence.get("unlocated")):
        yield UNSEEN, "", _whole(evidence["unlocated"]), 0
    refused = evidence.get("refused")
    for error, datagrams in refused.items() if isinstance(refused, Mapping) else ():
        yield "at the sender's socket, before they were sent", str(error), _whole(datagrams), 0


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
