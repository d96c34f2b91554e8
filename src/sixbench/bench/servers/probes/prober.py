"""The type of a prober: how a workload goes to a server of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ....agent import Agent
from ....agent.server_answers import ServerAttempt
from ....model.json_object import JsonObject
from ....model.parameter import Params
from ....model.quantity import FAILURES
from ....model.server import TOO_MANY, UNAVAILABLE, Server
from ....model.topology import Family
from ....model.trial import TrialRecord
from ....model.workload import TrialMeasurements
from ....model.workloads.common import histogram_of

SECOND_NS = 10**9
PACE_NS = SECOND_NS
"""The shortest time from one connection to the next to a server of others."""
REST_NS = 40 * SECOND_NS
"""The longest rest of a server after an attempt: for an object of 1 MiB, and as much again on its way, at 64 KiB a
second (docs/protocol.md)."""
ROOM_S = 120.0
"""Time that an agent may take beyond the attempts themselves: those of other requests at the same address come first,
each a second after the one before, and their objects have rests."""
REFUSALS = frozenset({"refused"})
UNSENT = "no-route"
"""The outcome of an attempt that this machine did not send."""


@dataclass(frozen=True, kw_only=True)
class ProbedServer:
    """Where the attempts of a trial go.

    Attributes:
        resolver: that is asked for the name. None: that of the system.
    """

    server: Server
    address: str
    family: Family
    mine: bool
    resolver: str | None = None

    @property
    def name(self) -> str | None:
        """The name of the server, for TLS and look-ups. None: it has none."""
        return self.server.host_name


@dataclass(frozen=True, kw_only=True)
class Probed:
    """The attempts of a trial.

    Attributes:
        attempts: each with its outcome.
        result: the answer as a record keeps it.
        strays: packets of somebody else.
        refused: whether the server asked to be left alone.
    """

    attempts: Sequence[ServerAttempt]
    result: JsonObject
    strays: int = 0
    refused: bool = False

    @property
    def answered(self) -> int:
        """Number of attempts that did what was asked."""
        return sum(attempt.outcome == "answered" for attempt in self.attempts)

    @property
    def is_unsent(self) -> bool:
        """True if this machine sent nothing, which says nothing of the server."""
        return bool(self.attempts) and all(attempt.outcome == UNSENT for attempt in self.attempts)

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of attempts by outcome."""
        return dict(Counter(attempt.outcome for attempt in self.attempts))

    @property
    def sources(self) -> list[str]:
        """The addresses that attempts left from, where they are known."""
        return self._of_this_end("source")

    @property
    def source(self) -> str | None:
        """The first of them."""
        return next(iter(self.sources), None)

    @property
    def interface(self) -> str | None:
        """The interface that has the first of them, where it is known."""
        return next(iter(self._of_this_end("interface")), None)

    def _of_this_end(self, name: str) -> list[str]:
        """The values that the attempts, or their list as a whole, have of this end."""
        values = [self.result.get(name), *(getattr(attempt, name, None) for attempt in self.attempts)]
        return list(dict.fromkeys(value for value in values if isinstance(value, str)))


@dataclass(frozen=True, kw_only=True)
class Prober:
    """A workload towards a server.

    Attributes:
        workload: its name.
        ask: asks the agent and waits. Raises `AgentError`.
        summarise: the metrics of attempts of which one at least was answered.
        failures: the column of the share of attempts that failed.
    """

    workload: str
    ask: Callable[[Agent, ProbedServer, Params], Probed]
    summarise: Callable[[Params, Probed, TrialMeasurements], None]
    failures: str = f"{FAILURES}_ratio"

    def measurements(self, params: Params, probed: Probed) -> TrialMeasurements:
        """The measurements of a trial. Attempts that failed are a result: a family that does not work is a finding."""
        measured = TrialMeasurements()
        total = len(probed.attempts)
        if total:
            measured.metrics[self.failures] = (total - probed.answered) / total
        if probed.answered:
            self.summarise(params, probed, measured)
        measured.notes.extend(failure_notes(probed))
        return measured


def failure_notes(probed: Probed) -> list[str]:
    """Sentences on what failed, each kind once."""
    total = len(probed.attempts)
    groups: dict[tuple[str, str], int] = {}
    for attempt in probed.attempts:
        if attempt.outcome != "answered":
            key = (attempt.outcome, attempt.reason or "")
            groups[key] = groups.get(key, 0) + 1
    return [
        f"{count} of {total}: {outcome}" + (f" ({reason})" if reason else "")
        for (outcome, reason), count in groups.items()
    ]


def add_times(measured: TrialMeasurements, name: str, times_ns: Sequence[int | None], *statistics: str) -> None:
    """Adds the times that are known, as a histogram and as metrics.

    Args:
        name: the prefix of the metrics.
        statistics: those that are metrics.
    """
    known = [time_ns for time_ns in times_ns if time_ns is not None]
    if not known:
        return
    values = histogram_of(known)
    measured.histograms[name] = values
    for statistic in statistics:
        measured.metrics[f"{name}_{statistic}_ns"] = float(values[statistic])


def waits_s(count: int, timeout_ns: int, interval_ns: int = PACE_NS) -> float:
    """The longest time that an answer about so many attempts may take."""
    return (count + 1) * max(timeout_ns, interval_ns) / SECOND_NS + ROOM_S


MOST_REFUSALS = 3
"""Trials in a row that were refused, after which a server is asked no more."""
ENOUGH_FAILURES = 20
"""Trials in a row of which none was answered, after which a family that fails is decided."""


@dataclass(kw_only=True)
class FailureCount:
    """Trials in a row of which nothing was answered, by combination and path."""

    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    failed: dict[tuple[str, str], int] = field(default_factory=dict)

    def note(self, combination: str, path: str, probed: Probed) -> None:
        """Counts a trial, or begins anew where something was answered."""
        self._note((combination, path), refused=probed.refused, answered=bool(probed.answered))

    def _note(self, key: tuple[str, str], *, refused: bool, answered: bool) -> None:
        self.refused[key] = self.refused.get(key, 0) + 1 if refused else 0
        self.failed[key] = 0 if answered else self.failed.get(key, 0) + 1

    def recount(self, records: Iterable[TrialRecord]) -> None:
        """Counts the trials of a run that goes on, so that a server that has refused is not asked anew."""
        for record in sorted(records, key=lambda record: record.sequence):
            lists = [value for value in record.client.values() if isinstance(value, list)]
            attempts = [item for items in lists for item in items if isinstance(item, Mapping)]
            outcomes = {
                "refused" if attempt.get("status") in (TOO_MANY, UNAVAILABLE) else str(attempt.get("outcome"))
                for attempt in attempts
            }
            if outcomes and outcomes != {UNSENT}:
                key = (record.combination, record.path)
                self._note(key, refused=outcomes <= REFUSALS, answered="answered" in outcomes)

    def is_refused(self, combination: str) -> bool:
        """True if the server has refused often enough."""
        return _reach(self.refused, combination, MOST_REFUSALS)

    def has_failed(self, combination: str) -> bool:
        """True if a path has failed often enough that more trials say no more."""
        return _reach(self.failed, combination, ENOUGH_FAILURES)


def _reach(counts: dict[tuple[str, str], int], combination: str, number: int) -> bool:
    return any(count >= number for (name, _), count in counts.items() if name == combination)
