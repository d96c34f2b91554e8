"""The sessions of nodes that keep state, over the trials of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from ...model.evidence.sessions import TrackedSessions
from ...model.json_object import JsonObject
from ...model.trial import TrialRecord
from .. import words
from ..tables import ColumnOf, Table, number_column, table_of, words_column
from .evidence_sum import EvidenceSection, EvidenceSum, PathSums


@dataclass(frozen=True, kw_only=True)
class SessionTotal:
    """A node that tracks connections, over the trials of a path.

    Attributes:
        trials: how many say something of it.
        before: the most that a trial began with.
        after: the most that a trial ended with.
        most: how many there may be.
        failed: what its table refused or gave up, by the kernel's counter. None: no trial tells.
    """

    node: str
    trials: int = 0
    before: int = 0
    after: int = 0
    most: int = 0
    failed: dict[str, int] | None = None

    @property
    def failed_text(self) -> str:
        """Such as `insert_failed 2, drop 0`."""
        return words.MISSING if self.failed is None else ", ".join(f"{name} {n}" for name, n in self.failed.items())

    def with_trial(self, sessions: TrackedSessions) -> SessionTotal:
        """The same sum with the sessions of one more trial."""
        failed = self.failed
        if sessions.failed is not None:
            names = dict.fromkeys([*(failed or {}), *sessions.failed])
            failed = {name: (failed or {}).get(name, 0) + sessions.failed.get(name, 0) for name in names}
        return replace(
            self,
            trials=self.trials + 1,
            before=max(self.before, sessions.before),
            after=max(self.after, sessions.after),
            most=sessions.most,
            failed=failed,
        )


class SessionSum(EvidenceSum):
    """The nodes that keep state, added up one trial at a time."""

    def __init__(self) -> None:
        """No node was counted so far."""
        self._nodes: dict[str, SessionTotal] = {}

    def add(self, trial: TrialRecord) -> None:
        for node, sessions in (trial.evidence.sessions or {}).items():
            self._nodes[node] = (self._nodes.get(node) or SessionTotal(node=node)).with_trial(sessions)

    @property
    def nodes(self) -> list[SessionTotal]:
        """The nodes in the order of the records."""
        return list(self._nodes.values())

    def to_json(self) -> JsonObject:
        return {"sessions": [asdict(node) for node in self.nodes]}


_COLUMNS: tuple[ColumnOf[tuple[PathSums, SessionTotal]], ...] = (
    words_column("path", lambda item: item[0].path),
    words_column("node", lambda item: item[1].node),
    number_column("trials", lambda item: str(item[1].trials)),
    number_column("before", lambda item: words.whole(item[1].before)),
    number_column("at the end", lambda item: words.whole(item[1].after)),
    number_column("at most", lambda item: words.whole(item[1].most)),
    words_column("refused or given up", lambda item: item[1].failed_text),
)


def sessions_table(paths: Sequence[PathSums]) -> Table | None:
    """A row for each node that tracks connections; None where there is none."""
    items = [(sums, node) for sums in paths for node in sums.of(SessionSum).nodes]
    return table_of("Sessions of nodes that keep state", _COLUMNS, items)


SessionSum.section = EvidenceSection(
    name="sessions",
    table=lambda data: sessions_table(data.paths),
    entries="nodes that keep state",
    about="Nodes that translate addresses and ports track connections, and a relay keeps its own sessions. The "
    "columns give the highest number at the start and at the end of any valid trial, the number that a node "
    "may have, and the sessions that it refused or gave up. The kernel or the relay counted them.",
)
