"""Messages between orchestrator and workers: a block to be measured, and its outcome.

Texts are JSON as a run directory has it, and are read by the same readers.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from .. import __version__
from ..model.errors import StoreError
from ..model.form import MAX_ITEMS, Form, Name, Natural, Text, words_of
from ..model.json_object import JsonObject
from ..model.quoting import printable
from ..store import Manifest, WorkerMachine, manifest_from_text, worker_from_text, worker_to_text

JOB_SCHEMA = "sixbench.worker-job/1"
REPLY_SCHEMA = "sixbench.worker-reply/1"


@dataclass(frozen=True, kw_only=True)
class BlockJob:
    """A block that a worker is to measure.

    Attributes:
        run: the manifest of the run as text.
        block: its number, from 1.
        combinations: those that take part, by name.
        attempt: which attempt at the block this is, from 1.
        fence: a word of the orchestrator's that no other one has, not even the same run's after it was killed.
    """

    run: str
    block: int
    combinations: tuple[str, ...]
    attempt: int
    fence: str

    @property
    def name(self) -> str:
        """A name that no other attempt has."""
        return f"b{self.block:03d}-a{self.attempt}-{self.fence}"


@dataclass(frozen=True, kw_only=True)
class MeasuredBlock:
    """A block that was measured.

    Attributes:
        machine: the worker as it is known now.
        lab_build_ns, install_ns: how long the networks took that were built for it; the latter by path.
        trials: the files of each trial, by its key.
    """

    worker: str
    machine: WorkerMachine
    lab_build_ns: list[int]
    install_ns: dict[str, list[int]]
    trials: dict[str, dict[str, bytes]]


@dataclass(frozen=True, kw_only=True)
class RefusedBlock:
    """The worker cannot measure it, and why."""

    worker: str
    why: str


@dataclass(frozen=True, kw_only=True)
class BrokenBlock:
    """sixbench itself went wrong on the worker."""

    worker: str
    traceback: str


Reply = MeasuredBlock | RefusedBlock | BrokenBlock


class _JobForm(Form):
    version: Literal["sixbench.worker-job/1"] = Field(alias="schema")
    run: str
    block: Annotated[Natural, Field(ge=1)]
    combinations: Annotated[list[Name], Field(min_length=1, max_length=MAX_ITEMS)]
    attempt: Annotated[Natural, Field(ge=1)]
    fence: Name


class _ReplyForm(Form):
    """`worker` first: it tells who sent the rest."""

    version: Literal["sixbench.worker-reply/1"] = Field(alias="schema")
    sixbench: Text
    worker: Name
    why: Text | None = None
    traceback: str | None = None
    machine: str | None = None
    lab_build_ns: list[Natural] = Field(default_factory=list)
    install_ns: dict[Name, list[Natural]] = Field(default_factory=dict)
    trials: dict[Name, dict[Name, bytes]] = Field(default_factory=dict)


def job_to_wire(job: BlockJob) -> str:
    """A job as text."""
    return json.dumps({"schema": JOB_SCHEMA, **asdict(job)}, ensure_ascii=False)


def job_from_wire(text: str) -> tuple[BlockJob, Manifest]:
    """Reads it back, with the run that it belongs to. Raises `StoreError`."""
    where = "a block that the scheduler handed out"
    try:
        form = _JobForm.model_validate(json.loads(text))
    except ValidationError as error:
        raise StoreError(f"{where}: {next(words_of(error))}") from None
    except (ValueError, RecursionError, TypeError) as error:
        raise StoreError(f"{where}: not JSON: {printable(str(error))}") from None
    manifest = manifest_from_text(form.run, where)
    known = {combination.name for combination in manifest.experiment.combinations}
    if form.block > manifest.experiment.blocks.maximum or not known.issuperset(form.combinations):
        raise StoreError(f"{where}: the experiment {manifest.experiment.name} has no such block {form.block}")
    return BlockJob(
        run=form.run,
        block=form.block,
        combinations=tuple(form.combinations),
        attempt=form.attempt,
        fence=form.fence,
    ), manifest


def reply_to_wire(reply: Reply) -> JsonObject:
    """A reply as texts and bytes."""
    data: JsonObject = {"schema": REPLY_SCHEMA, "sixbench": __version__, **vars(reply)}
    return data | {"machine": worker_to_text(reply.machine)} if isinstance(reply, MeasuredBlock) else data


def reply_from_wire(data: Any) -> Reply:
    """Reads it back. Raises `StoreError`."""
    try:
        form = _ReplyForm.model_validate(data)
    except ValidationError as error:
        raise StoreError(f"a reply of a worker: {next(words_of(error))}") from None
    where = f"the reply of the worker {form.worker}"
    if form.sixbench != __version__:
        raise StoreError(f"{where}: {other_version(form.worker, form.sixbench)}")
    if form.traceback is not None:
        return BrokenBlock(worker=form.worker, traceback=form.traceback)
    if form.why is not None:
        return RefusedBlock(worker=form.worker, why=form.why)
    if form.machine is None:
        raise StoreError(f"{where}: it does not describe its machine")
    return MeasuredBlock(
        worker=form.worker,
        machine=worker_from_text(form.machine, form.worker, where),
        lab_build_ns=form.lab_build_ns,
        install_ns=form.install_ns,
        trials=form.trials,
    )


def other_version(worker: str, version: str) -> str:
    """That a worker has another version of sixbench, in words."""
    return (
        f"the worker {worker} has sixbench {printable(version)[:40]} and this machine {__version__}; "
        "install the same version on both"
    )


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    """The plan of a worker for a run: the manifest, as text, with the engines that work there and its own environment;
    or why it cannot."""

    worker: str
    run: str | None
    why: str | None


class _ChosenForm(Form):
    sixbench: Text
    worker: Name
    run: str | None = None
    why: Text | None = None


def chosen_to_wire(chosen: WorkerPlan) -> JsonObject:
    """As texts."""
    return {"sixbench": __version__, **asdict(chosen)}


def chosen_from_wire(data: JsonObject) -> tuple[WorkerPlan, str]:
    """Reads it back, with the version of sixbench that the worker has. Raises `StoreError`."""
    try:
        form = _ChosenForm.model_validate(data)
    except ValidationError as error:
        raise StoreError(f"a reply of a worker: {next(words_of(error))}") from None
    return WorkerPlan(worker=form.worker, run=form.run, why=form.why), form.sixbench
