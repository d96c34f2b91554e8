"""The events of a run, as `--events FILE` has them: one JSON object a line (docs/run-events.md).

An event says what a run does at a moment. It is not an event of an experiment, which changes a link in the middle of a
trial (`model.experiment.LinkChange`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError

from .experiment import Experiment
from .form import ABSENT, MAX_ITEMS, Form, Name, Natural, Number, Scalar, Text, Time, Whole, words_of
from .metric import METRICS
from .observer import StopRule
from .trial import TrialRecord
from .workloads import WORKLOADS

RUN_EVENTS_SCHEMA = "sixbench.run-event/1"


class _Event(Form):
    at_realtime_ns: Time


class _OfTrial(_Event):
    """`repeat`: which repeat of its trial it is, from 1."""

    key: Name
    block: Natural
    combination: Name
    path: Name
    repeat: Natural = ABSENT


class _OfFlow(_Event):
    key: Name
    flow: Name
    direction: Literal["forward", "reverse"]


class PlannedPath(Form):
    """A path of the experiment. `aa_of`: the path that it repeats as the A/A comparison."""

    name: Name
    mechanism: Name
    family: Literal[4, 6]
    aa_of: Name = ABSENT


class PlannedCombination(Form):
    """A combination of levels. `column` and `unit`: of the metric that stands first for its workload. `paths`: those
    that it goes over; absent: all of them, as in logs of earlier versions."""

    name: Name
    workload: Name
    levels: dict[Name, Scalar]
    column: Name
    unit: Name
    paths: list[Name] = ABSENT


class Planned(_Event):
    """A run begins, or goes on after `done` trials."""

    event: Literal["planned"]
    version: Name = Field(alias="schema")
    experiment: Name
    title: Text
    directory: Text
    baseline: Name
    paths: Annotated[list[PlannedPath], Field(max_length=MAX_ITEMS)]
    combinations: Annotated[list[PlannedCombination], Field(max_length=MAX_ITEMS)]
    blocks_min: Natural
    blocks_max: Natural
    done: Natural


class NetworkBuilt(_Event):
    """A network was built, because a trial on that path needed it first. `topology`: its form, from 0."""

    event: Literal["built"]
    path: Name
    topology: Natural
    elapsed_ns: Natural


class TrialStarted(_OfTrial):
    """A trial begins; `done` of `expected` trials have ended, and the others take `remaining_ns`."""

    event: Literal["trial-started"]
    done: Natural
    expected: Natural
    remaining_ns: Natural
    decided: Natural = ABSENT


class Values(_OfFlow):
    """Data that arrived at a receiver between two moments of a trial, by its own clock."""

    event: Literal["values"]
    from_ns: Natural
    to_ns: Natural
    received_bytes: Natural
    datagrams: Natural = ABSENT
    lost_middle: Whole = ABSENT
    jitter_rfc3550_ns: Number = ABSENT


class SenderValues(_OfFlow):
    """State of the senders of TCP at a moment of a trial, by their own clock."""

    event: Literal["sender-values"]
    t_ns: Natural
    rtt_ns: Natural = ABSENT
    cwnd_packets: Number = ABSENT
    retransmits: Natural = ABSENT


class EventReason(Form):
    """The reason why a trial is not `ok`: its kind and the sentence."""

    kind: Name
    text: Text


class TrialEnded(_OfTrial):
    """A trial was recorded. `value`: of the metric that stands first for its workload."""

    event: Literal["trial-ended"]
    status: Literal["ok", "invalid", "failed"]
    reasons: Annotated[list[EventReason], Field(max_length=MAX_ITEMS)]
    elapsed_ns: Natural
    value: Number = ABSENT


class BlockDone(_Event):
    """Each combination that takes part in the block has all its trials."""

    event: Literal["block-done"]
    block: Natural


class Stopped(_Event):
    """A combination needs no more blocks, by these rules."""

    event: Literal["stopped"]
    combination: Name
    rules: Annotated[list[StopRule], Field(min_length=1, max_length=6)]
    blocks: Natural


class ReportWritten(_Event):
    """The report of the run is there."""

    event: Literal["report-written"]
    file: Text


class Ended(_Event):
    """The run is over, in the state that its manifest has."""

    event: Literal["ended"]
    state: Literal["complete", "partial", "interrupted"]
    trials: Natural


_Kinds = (
    Planned
    | NetworkBuilt
    | TrialStarted
    | Values
    | SenderValues
    | TrialEnded
    | BlockDone
    | Stopped
    | ReportWritten
    | Ended
)
RunEvent = Annotated[_Kinds, Field(discriminator="event")]
RUN_EVENTS: tuple[type[Form], ...] = get_args(_Kinds)
"""In the order in which a run has them."""

_ANY: TypeAdapter[Any] = TypeAdapter(RunEvent)


def check_event(data: Any) -> dict[str, Any]:
    """An event as it was read, without keys that this version does not know. Raises `ValueError`, whose words say what
    is wrong."""
    try:
        event = _ANY.validate_python(data)
    except ValidationError as error:
        raise ValueError(next(words_of(error))) from None
    if isinstance(event, Planned) and event.version != RUN_EVENTS_SCHEMA:
        raise ValueError(f"its schema is {event.version}, and this sixbench reads {RUN_EVENTS_SCHEMA}")
    read: dict[str, Any] = event.model_dump(by_alias=True, exclude_none=True)
    return read


def planned_event(experiment: Experiment, directory: str, done: int, at_realtime_ns: int) -> dict[str, Any]:
    """The first event of a run."""
    return {
        "event": "planned",
        "at_realtime_ns": at_realtime_ns,
        "schema": RUN_EVENTS_SCHEMA,
        "experiment": experiment.name,
        "title": experiment.title,
        "directory": directory,
        "baseline": experiment.baseline,
        "paths": [
            {"name": path.name, "mechanism": path.mechanism, "family": path.family}
            | ({} if path.aa_of is None else {"aa_of": path.aa_of})
            for path in experiment.paths
        ],
        "combinations": [
            {
                "name": combination.name,
                "workload": combination.workload.kind,
                "levels": combination.levels,
                "column": METRICS[WORKLOADS[combination.workload.kind].primary].column,
                "unit": METRICS[WORKLOADS[combination.workload.kind].primary].unit,
                "paths": [path.name for path in experiment.paths_of(combination)],
            }
            for combination in experiment.combinations
        ],
        "blocks_min": experiment.blocks.minimum,
        "blocks_max": experiment.blocks.maximum,
        "done": done,
    }


def trial_ended_event(record: TrialRecord, at_realtime_ns: int) -> dict[str, Any]:
    """The event of a recorded trial."""
    value = record.metrics.get(METRICS[WORKLOADS[record.workload].primary].column)
    known = {"value": value, "repeat": record.repeat}
    return {
        "event": "trial-ended",
        "at_realtime_ns": at_realtime_ns,
        "key": record.key,
        "block": record.block,
        "combination": record.combination,
        "path": record.path,
        "status": record.status,
        "reasons": [reason.to_json() for reason in record.reasons],
        "elapsed_ns": record.elapsed_ns,
    } | {name: item for name, item in known.items() if item is not None}


def stopped_event(combination: str, rules: Sequence[str], blocks: int, at_realtime_ns: int) -> dict[str, Any]:
    """The event of a combination that needs no more blocks."""
    return {
        "event": "stopped",
        "at_realtime_ns": at_realtime_ns,
        "combination": combination,
        "rules": list(rules),
        "blocks": blocks,
    }
