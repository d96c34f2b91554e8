"""A trial that is to be judged, and the testimony of each of its witnesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from ...model.evidence import NO_EVIDENCE, Evidence
from ...model.evidence.events import LinkEvent
from ...model.experiment import LinkChange
from ...model.network import Network
from ...model.observation import TranslatorState
from ...model.parameter import Scalar
from ...model.path import Path
from ...model.reason import Excuse, Reason
from ...model.workload import Result, Traffic, Transport, TrialMeasurements, WorkloadKind
from .viewpoints import Viewpoint

Observation = TypeVar("Observation")


class Observations:
    """The observations that the witnesses of a trial share, each of another type."""

    def __init__(self, observations: Iterable[object | None] = ()) -> None:
        self._by_type = {type(item): item for item in observations if item is not None}

    def of(self, form: type[Observation]) -> Observation:
        """The observation of that type; an empty one where nobody made any."""
        known = self._by_type.get(form)
        return known if isinstance(known, form) else form()


@dataclass(frozen=True, kw_only=True)
class EndResults:
    """The results of both ends of a trial's traffic: all that is known between two machines with no network of ours.

    Attributes:
        params: of the workload, with those that witnesses added.
        client, server: the agents' results.
        traffic: the traffic that must have crossed the links.
    """

    kind: WorkloadKind
    params: dict[str, Scalar]
    client: Result
    server: Result
    traffic: Traffic


@dataclass(frozen=True, kw_only=True)
class Case(EndResults):
    """A trial that was performed on a path, without anybody who could be asked.

    Attributes:
        network: with the path installed.
        views: where it was observed, from client to server.
        between: client and server.
        nodes: the nodes by the numbers of their namespaces.
        margin: the share within which differences count as none.
        transports: those of all its flows.
        due, happened: the changes of links.
        forgotten: the last counters of translators that were taken away meanwhile.
        observations: those that witnesses share.
        unreached: the links that no packet of the trial reaches, as theory has it.
    """

    path: Path
    network: Network
    views: Sequence[Viewpoint]
    between: tuple[str, str]
    nodes: Mapping[int, str]
    margin: float
    transports: frozenset[Transport]
    due: tuple[LinkChange, ...] = ()
    happened: tuple[LinkEvent, ...] = ()
    forgotten: tuple[TranslatorState, ...] = ()
    observations: Observations = field(default_factory=Observations)
    unreached: frozenset[str] = frozenset()

    @property
    def carried(self) -> Traffic:
        """The traffic of the path's own family."""
        return self.traffic.of(self.network.family)

    def seen(self, form: type[Observation]) -> Observation:
        """The observation of that type; an empty one where nobody made any."""
        return self.observations.of(form)

    def after(self, testimony: Testimony) -> Case:
        """The same case for the witnesses after the one that said this."""
        return replace(self, unreached=self.unreached | testimony.unreached)


@dataclass(frozen=True, kw_only=True)
class Testimony:
    """The judgement of one witness on a trial.

    Attributes:
        evidence: its part of the record, and nothing else.
        reasons: why the trial is invalid.
        notes: remarks that do not make it invalid.
        metrics: by column.
        excuses: those that make remarks of other reasons.
        unreached: links that no packet of the trial reaches, as theory has it.
        limited_by: what was the limit of the traffic, unless that was the path; None: this witness does not know.
        measured: the measurements by what this witness saw, in place of those that the workload makes of both ends'
            results; None: these are right.
    """

    evidence: Evidence = NO_EVIDENCE
    reasons: Iterable[Reason] = ()
    notes: Iterable[str] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    excuses: Iterable[Excuse] = ()
    unreached: frozenset[str] = frozenset()
    limited_by: Literal["cpu"] | None = None
    measured: TrialMeasurements | None = None
