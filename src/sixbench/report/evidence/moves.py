"""Moves of clients that lost an address, over the trials of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median

from ...model.evidence.moves import ConnectionMove
from ...model.json_object import JsonObject
from ...model.trial import TrialRecord
from .. import words
from ..tables import ColumnOf, Table, number_column, table_of, words_column
from .evidence_sum import EvidenceSection, EvidenceSum, PathSums


@dataclass(frozen=True, kw_only=True)
class MoveTotal:
    """The moves from one address to another, over the trials of a workload.

    Attributes:
        from_address, to_address: of the client.
        links: those of the way from then on.
        outages_ns: of each trial.
    """

    workload: str
    from_address: str
    to_address: str
    links: tuple[str, ...]
    outages_ns: tuple[int, ...] = ()

    def with_trial(self, move: ConnectionMove) -> MoveTotal:
        """The same sum with one more move."""
        return replace(self, outages_ns=(*self.outages_ns, move.outage_ns))


class MoveSum(EvidenceSum):
    """The moves of clients, added up one trial at a time."""

    def __init__(self) -> None:
        """No move was seen so far."""
        self._moves: dict[tuple[str, str, str], MoveTotal] = {}

    def add(self, trial: TrialRecord) -> None:
        for move in trial.evidence.moves or ():
            key = trial.workload, move.from_address, move.to_address
            known = self._moves.get(key) or MoveTotal(
                workload=trial.workload,
                from_address=move.from_address,
                to_address=move.to_address,
                links=move.links,
            )
            self._moves[key] = known.with_trial(move)

    @property
    def moves(self) -> list[MoveTotal]:
        """The moves of each workload, in the order of the records."""
        return sorted(self._moves.values(), key=lambda item: item.workload)

    def to_json(self) -> JsonObject:
        return {"moves": [asdict(item) for item in self.moves]}


_COLUMNS: tuple[ColumnOf[tuple[PathSums, MoveTotal]], ...] = (
    words_column("path", lambda item: item[0].path),
    words_column("traffic", lambda item: item[1].workload),
    words_column("from", lambda item: item[1].from_address),
    words_column("to", lambda item: item[1].to_address),
    words_column("over", lambda item: words.listing(item[1].links)),
    number_column("trials", lambda item: str(len(item[1].outages_ns))),
    number_column("shortest outage", lambda item: words.duration(min(item[1].outages_ns))),
    number_column("median", lambda item: words.duration(median(item[1].outages_ns))),
    number_column("longest", lambda item: words.duration(max(item[1].outages_ns))),
)
_BRIEF = tuple(column for column in _COLUMNS if column.name not in ("from", "over"))


def moves_table(paths: Sequence[PathSums], *, is_brief: bool = False) -> Table | None:
    """A row for each move of each workload; None where no client moved.

    Args:
        is_brief: whether the page is too narrow for all columns.
    """
    items = [(sums, item) for sums in paths for item in sums.of(MoveSum).moves]
    return table_of("Moves of the client", _BRIEF if is_brief else _COLUMNS, items)


MoveSum.section = EvidenceSection(
    name="moves",
    table=lambda data: moves_table(data.paths),
    brief=lambda data: moves_table(data.paths, is_brief=True),
    entries="moves",
    about="An event took a link from the client, or its addresses at the link. The columns give the address that it "
    "lost, the one from which it went on, and the links that its packets crossed since then. An outage is the time "
    "from the last byte that the server read before the move to the first one after it.",
)
