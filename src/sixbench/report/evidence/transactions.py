"""Bytes of transactions on every link beside theory, over the trials of a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

from ...model.evidence.transactions import TransactionLink
from ...model.json_object import JsonObject
from ...model.names import levels
from ...model.parameter import Scalar
from ...model.trial import TrialRecord
from .. import rows, words
from ..tables import ColumnOf, Table, number_column, table_of, words_column
from .evidence_sum import EvidenceSection, EvidenceSum, PathSums


@dataclass(frozen=True, kw_only=True)
class TransactionBytes:
    """The bytes of a transaction on the wire of a link, over the trials of one combination of levels.

    Attributes:
        trials: how many have theory for it.
        least_sent, least_received: the least by theory, to the server and from it.
        sent, received: what the link's counters tell of each trial; none: they do not tell packets on the wire.
    """

    link: str
    workload: str
    levels: Mapping[str, Scalar]
    trials: int = 0
    least_sent: float
    least_received: float
    sent: tuple[float, ...] = ()
    received: tuple[float, ...] = ()

    def with_trial(self, counted: TransactionLink) -> TransactionBytes:
        """The same sum with one more trial."""
        return replace(
            self,
            trials=self.trials + 1,
            sent=self.sent if counted.sent is None else (*self.sent, counted.sent),
            received=self.received if counted.received is None else (*self.received, counted.received),
        )


class TransactionSum(EvidenceSum):
    """The bytes of transactions, added up one trial at a time."""

    def __init__(self) -> None:
        """No trial was seen so far."""
        self._links: dict[tuple[str, str], TransactionBytes] = {}

    def add(self, trial: TrialRecord) -> None:
        for counted in trial.evidence.transactions or ():
            known = self._links.get((trial.combination, counted.link)) or TransactionBytes(
                link=counted.link,
                workload=trial.workload,
                levels=trial.levels,
                least_sent=counted.least_sent,
                least_received=counted.least_received,
            )
            self._links[trial.combination, counted.link] = known.with_trial(counted)

    @property
    def links(self) -> list[TransactionBytes]:
        """The links of each combination of levels, in the order of the experiment."""
        return [self._links[key] for key in sorted(self._links, key=lambda key: key[0])]

    def to_json(self) -> JsonObject:
        return {"transactions": [asdict(item) for item in self.links]}


def _mean(values: Sequence[float]) -> str:
    return words.whole(round(fmean(values))) if values else words.MISSING


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A line of the table. `traffic`: the workload, with those of its levels that vary."""

    path: str
    traffic: str
    on_link: TransactionBytes


_COLUMNS: tuple[ColumnOf[_Row], ...] = (
    words_column("path", lambda row: row.path),
    words_column("traffic", lambda row: row.traffic),
    words_column("link", lambda row: row.on_link.link),
    number_column("trials", lambda row: str(row.on_link.trials)),
    number_column("sent, at least", lambda row: words.whole(round(row.on_link.least_sent))),
    number_column("sent", lambda row: _mean(row.on_link.sent)),
    number_column("received, at least", lambda row: words.whole(round(row.on_link.least_received))),
    number_column("received", lambda row: _mean(row.on_link.received)),
)


def transactions_table(paths: Sequence[PathSums]) -> Table | None:
    """A row for each link of each combination of levels; None where no transaction has theory."""
    items = [(sums.path, item) for sums in paths for item in sums.of(TransactionSum).links]
    varying = {
        workload: rows.varying(item for _, item in items if item.workload == workload)
        for workload in dict.fromkeys(item.workload for _, item in items)
    }
    lines = [_Row(path=path, traffic=_traffic(item, varying[item.workload]), on_link=item) for path, item in items]
    return table_of("Bytes of a transaction on each link", _COLUMNS, lines)


def _traffic(item: TransactionBytes, columns: Sequence[str]) -> str:
    return ", ".join(text for text in (item.workload, levels(item.levels, columns)) if text)


TransactionSum.section = EvidenceSection(
    name="transactions",
    table=lambda data: transactions_table(data.paths),
    entries="links",
    about="The bytes on the wire that a transaction of an application takes on each link, to the server and from it: "
    "the least by theory, and the mean of what the link's counters tell. That mean includes acknowledgements, "
    "retransmissions and all else that crossed the link. A link with segmentation offload tells nothing.",
)
