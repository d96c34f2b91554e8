"""Places of lost packets, in words, over the trials of a path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from ...model.evidence.losses import Losses
from ...model.json_object import JsonObject
from ...model.trial import TrialRecord
from .. import words
from ..tables import ColumnOf, Table, number_column, table_of, words_column
from .evidence_sum import EvidenceSection, EvidenceSum, PathSums

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


class LossSum(EvidenceSum):
    """Losses of the trials of a path, added up one trial at a time."""

    def __init__(self) -> None:
        """Nothing was lost so far."""
        self._places: dict[tuple[str, str], LostAt] = {}
        self._not_told: dict[str, None] = {}

    def add(self, trial: TrialRecord) -> None:
        losses = trial.evidence.losses
        if losses is None:
            return
        if losses.not_told is not None and losses.lost:
            self._not_told.setdefault(losses.not_told)
        for where, what, datagrams, others in _places(losses):
            known = self._places.get((where, what)) or LostAt(where=where, what=what)
            self._places[where, what] = replace(
                known,
                datagrams=known.datagrams + datagrams,
                other_packets=known.other_packets + others,
                trials=known.trials + 1,
            )

    @property
    def places(self) -> list[LostAt]:
        """The places that lost most first; losses at an unknown place are among them."""
        return sorted(self._places.values(), key=lambda place: (-place.datagrams, -place.other_packets))

    @property
    def not_told(self) -> list[str]:
        """The reasons why the kernel did not say where, each once."""
        return list(self._not_told)

    def to_json(self) -> JsonObject:
        return {"losses": {"places": [asdict(place) for place in self.places], "not_told": self.not_told}}


def _places(losses: Losses) -> Iterable[tuple[str, str, int, int]]:
    for place in losses.located or ():
        # Fewer packets may be counted than located, because the counters were read earlier.
        yield place.where, place.what, place.datagrams, max(0, place.other_packets)
    if losses.unlocated:
        yield UNSEEN, "", losses.unlocated, 0
    for error, datagrams in (losses.refused or {}).items():
        yield "at the sender's socket, before they were sent", error, datagrams, 0


@dataclass(frozen=True, kw_only=True)
class _LossRow:
    """A place of losses on a path, or a reason why it is not known."""

    path: str
    place: LostAt | None = None
    not_told: str = ""


_COLUMNS: tuple[ColumnOf[_LossRow], ...] = (
    words_column("path", lambda row: row.path),
    words_column("where", lambda row: row.place.where if row.place else "not known"),
    words_column("why", lambda row: row.place.what if row.place else row.not_told),
    number_column(
        "datagrams", lambda row: words.whole(row.place.datagrams) if row.place and row.place.datagrams else ""
    ),
    number_column(
        "unnamed packets",
        lambda row: words.whole(row.place.other_packets) if row.place and row.place.other_packets else "",
    ),
    number_column("trials", lambda row: str(row.place.trials) if row.place else ""),
)


def losses_table(paths: Sequence[PathSums]) -> Table | None:
    """A row for each place at which trials of a path lost something; None where nothing was lost."""
    rows = []
    for sums in paths:
        rows += [_LossRow(path=sums.path, place=place) for place in sums.of(LossSum).places]
        rows += [_LossRow(path=sums.path, not_told=reason) for reason in sums.of(LossSum).not_told]
    return table_of("Where packets were lost", _COLUMNS, rows)


LossSum.section = EvidenceSection(
    name="losses",
    table=lambda data: losses_table(data.paths),
    entries="places of losses",
    about="These packets were lost in the valid trials of each path. The kernel reports every packet that it "
    "drops, with the reason. Datagrams of the trial are recognised by their sequence numbers. Unnamed "
    "packets have the trial's protocol but no such number: TCP segments and later fragments.",
)
