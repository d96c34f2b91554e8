"""Changes of links in the midst of a trial: those that happened, and those that did not."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.evidence import Evidence
from ...model.evidence.events import LinkEvent
from ...model.experiment import LinkChange
from ...model.reason import Reason, ReasonKind
from ...model.units import format_duration
from ..proof.case import Case, Testimony
from ..setting import TrialSetting
from .witness import Witness


class EventWitness(Witness):
    """Compares the changes that happened with those of the experiment."""

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        return bool(setting.events)

    def judge(self, case: Case) -> Testimony:
        failures = event_failures(case.due, case.happened)
        return Testimony(
            evidence=Evidence(events=case.happened),
            reasons=[Reason(kind=ReasonKind.EVENT_FAILED, text=words) for words in failures],
        )


def event_failures(due: Sequence[LinkChange], happened: Sequence[LinkEvent]) -> list[str]:
    """The events that failed, and those that did not happen, in words."""
    failed = [f"the event of {done.link} failed: {done.failed}" for done in happened if done.failed is not None]
    missing = [
        f"the event of {event.link} after {format_duration(event.at_ns)} did not happen: the trial was over"
        for event in due[len(happened) :]
    ]
    return failed + missing
