"""A run whose directory is open for its trials."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..agent import AgentHub
from ..model.experiment import Experiment
from ..model.trial import TrialRecord
from ..store import RunWriter
from .laboratory import Laboratories
from .other_runs import Presence
from .trial import Theory


@dataclass(frozen=True, kw_only=True)
class OpenRun:
    """A run that is to be measured, from its beginning or from where it was interrupted.

    Attributes:
        writer: of its directory.
        done: the trials recorded before.
        hub: starts the agents of its nodes.
        theory: gives the values that a trial should have.
        presence: this run among others of the machine, for the records; None: others are not looked for.
        kept: networks of the same topologies that outlast this run; None: it builds and removes its own.
    """

    experiment: Experiment
    writer: RunWriter
    done: list[TrialRecord] = field(default_factory=list)
    hub: AgentHub
    theory: Theory
    presence: Presence | None = None
    kept: Laboratories | None = None
