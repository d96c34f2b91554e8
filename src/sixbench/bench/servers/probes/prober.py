"""The type of a prober: how a workload goes to a server of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from ....agent import Agent
from ....agent.server_answers import ServerAttempt
from ....model.experiment import Combination
from ....model.json_object import JsonObject
from ....model.parameter import Params, Scalar
from ....model.quantity import FAILURES
from ....model.server import SERVER_COLUMN, TOO_MANY, UNAVAILABLE, VANTAGE_COLUMN, Server
from ....model.topology import Family
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
REFUSED: Final = "refused"
ANSWERED: Final = "answered"
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
    """

    attempts: Sequence[ServerAttempt]
    result: JsonObject
    strays: int = 0

    @property
    def answered(self) -> int:
        """Number of attempts that did what was asked."""
        return sum(attempt.outcome == ANSWERED for attempt in self.attempts)

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


Refuser = Literal["tcp", "udp", "http"]
"""The part of a server that refuses: its port of TCP or of UDP, by a reset or an ICMP error, or HTTP, by a status."""


@dataclass(frozen=True, kw_only=True)
class Prober:
    """A workload towards a server.

    Attributes:
        workload: its name.
        ask: asks the agent and waits. Raises `AgentError`.
        summarise: the metrics of attempts of which one at least was answered.
        failures: the column of the share of attempts that failed.
        refusers: by parameters, all that may refuse its attempts. Empty: nobody does.
    """

    workload: str
    ask: Callable[[Agent, ProbedServer, Params], Probed]
    summarise: Callable[[Params, Probed, TrialMeasurements], None]
    failures: str = f"{FAILURES}_ratio"
    refusers: Callable[[Params], tuple[Refuser, ...]] = lambda params: ()

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
        if attempt.outcome != ANSWERED:
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
"""Attempts in a row that were refused, after which a server is asked no more."""
ENOUGH_FAILURES = 20
"""Trials in a row of which none was answered, after which a family that fails is decided."""


_End = tuple[Scalar, Scalar | None]
"""A server, and the vantage that it is measured from; None: this machine."""


@dataclass(kw_only=True)
class FailureCount:
    """Failures in a row: attempts that a server refused, whichever workloads they are of, and trials of a workload of
    which nothing was answered. Each vantage has refusals of its own.

    Attributes:
        refused: number of attempts, by server and vantage, and then by path and what refused them.
        failed: number of trials, by combination and path.
    """

    refused: dict[_End, dict[tuple[str, Refuser], int]] = field(default_factory=dict)
    failed: dict[tuple[str, str], int] = field(default_factory=dict)

    def note(
        self, combination: Combination, path: str, refusers: Sequence[Refuser], attempts: Iterable[tuple[str, object]]
    ) -> None:
        """Counts the attempts of a trial, or begins anew where something else became of them.

        Args:
            refusers: those of the workload.
            attempts: the outcome of each, and its status.
        """
        known = list(attempts)
        if not known or all(outcome == UNSENT for outcome, _ in known):
            return
        counts = self.refused.setdefault(_end_of(combination), {})
        for outcome, status in known:
            for refuser in refusers:
                if refuser != "http" or status is not None:  # else HTTP was not asked
                    is_refused = _refuses(refuser, outcome, status)
                    counts[path, refuser] = counts.get((path, refuser), 0) + 1 if is_refused else 0
        is_answered = any(outcome == ANSWERED and not asks_for_rest(status) for outcome, status in known)
        key = (combination.name, path)
        self.failed[key] = 0 if is_answered else self.failed.get(key, 0) + 1

    def is_refused(self, combination: Combination, refusers: Sequence[Refuser]) -> bool:
        """True if the server has refused such attempts of this vantage often enough, over any path."""
        counts = self.refused.get(_end_of(combination), {})
        return any(count >= MOST_REFUSALS and refuser in refusers for (_, refuser), count in counts.items())

    def has_failed(self, combination: str) -> bool:
        """True if a path has failed often enough that more trials say no more."""
        return any(count >= ENOUGH_FAILURES for (name, _), count in self.failed.items() if name == combination)


def _end_of(combination: Combination) -> _End:
    return combination.levels[SERVER_COLUMN], combination.levels.get(VANTAGE_COLUMN)


def _refuses(refuser: Refuser, outcome: str, status: object) -> bool:
    """True if an attempt was refused by that part of the server."""
    return asks_for_rest(status) if refuser == "http" else outcome == REFUSED and status is None


def asks_for_rest(status: object) -> bool:
    """True if a server asks by this status to be left alone."""
    return status in (TOO_MANY, UNAVAILABLE)


def attempts_of(result: Mapping[str, object]) -> list[tuple[str, object]]:
    """The outcome and the status of each attempt in the result of a record."""
    lists = [value for value in result.values() if isinstance(value, list)]
    attempts = [item for items in lists for item in items if isinstance(item, Mapping)]
    return [(str(attempt.get("outcome")), attempt.get("status")) for attempt in attempts]
