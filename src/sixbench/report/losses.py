"""Places of lost packets, in words, over the trials of a path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..model.evidence import losses as of_trial

UNSEEN = "at an unknown place"


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
    """Losses of the trials of a path.

    Attributes:
        places: those that lost most first; losses at an unknown place are among them.
        not_told: why the kernel did not say where, each reason once.
    """

    places: list[LostAt] = field(default_factory=list)
    not_told: list[str] = field(default_factory=list)


class LossSum:
    """Losses of the trials of a path, added up one trial at a time."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], LostAt] = {}
        self._not_told: dict[str, None] = {}

    def add(self, lost: of_trial.Losses) -> None:
        if lost.not_told is not None and lost.lost:
            self._not_told.setdefault(lost.not_told)
        for where, what, datagrams, others in _places(lost):
            known = self._found.get((where, what)) or LostAt(where=where, what=what)
            self._found[where, what] = replace(
                known,
                datagrams=known.datagrams + datagrams,
                other_packets=known.other_packets + others,
                trials=known.trials + 1,
            )

    def told(self) -> Losses:
        places = sorted(self._found.values(), key=lambda place: (-place.datagrams, -place.other_packets))
        return Losses(places=places, not_told=list(self._not_told))


def _places(lost: of_trial.Losses) -> Iterable[tuple[str, str, int, int]]:
    for place in lost.located or ():
        # Fewer packets may be counted than located, because the counters were read earlier.
        yield place.where, place.what, place.datagrams, max(0, place.other_packets)
    if lost.unlocated:
        yield UNSEEN, "", lost.unlocated, 0
    for error, datagrams in (lost.refused or {}).items():
        yield "at the sender's socket, before they were sent", error, datagrams, 0
