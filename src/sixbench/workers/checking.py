"""Checks whether what workers sent is what they were asked for, held against the run before anything of it is
written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..bench.node_settings import merged
from ..model.errors import CapabilityError, StoreError
from ..model.experiment import Experiment
from ..model.repeats import attempts, next_attempt, undue_repeats
from ..model.trial import TrialRecord
from ..plan.schedule import numbered
from ..store import Manifest, WorkerMachine, manifest_from_text, trial_of
from .messages import BlockJob, MeasuredBlock


def agreed(chosen: Mapping[str, str], experiment: Experiment) -> Manifest:
    """The run as all of its workers would measure it: with the same engines. Raises `StoreError`, and `CapabilityError`
    where they differ.

    Args:
        chosen: what each worker would measure, by its name.
        experiment: as it was before.
    """
    manifests = {name: manifest_from_text(text, f"the reply of the worker {name}") for name, text in chosen.items()}
    (first, manifest), *others = manifests.items()
    for name, other in others:
        for path in experiment.paths:
            engines = [item.experiment.path(path.name).engine for item in (manifest, other)]
            if engines[0] != engines[1]:
                raise CapabilityError(
                    f"paths.{path.name}: the worker {first} would take the engine {engines[0]} and {name} the engine "
                    f"{engines[1]}; name one in the experiment that both have"
                )
        if other.experiment != manifest.experiment:
            raise CapabilityError(
                f"the workers {first} and {name} would emulate its links in different ways; name the emulator in the "
                "experiment"
            )
    return manifest


def with_worker(before: Manifest, reply: MeasuredBlock) -> Manifest:
    """The manifest with what is known of a worker now. Raises `StoreError` where it is another machine than it was."""
    known = before.workers.get(reply.worker)
    machine = reply.machine
    if known is not None:
        if _identity(known) != _identity(machine):
            raise StoreError("its machine or kernel is another one than before; start it with another --name")
        nodes = merged(known.environment.nodes, machine.environment.nodes)
        machine = replace(machine, environment=replace(machine.environment, nodes=nodes))
    workers = {**before.workers, reply.worker: machine}
    first = next(iter(workers.values())).environment
    return replace(before, workers=workers, environment=first)


def checked(job: BlockJob, reply: MeasuredBlock, manifest: Manifest) -> list[TrialRecord]:
    """The records of a block, each held against the job. Raises `StoreError`."""
    repeats = manifest.experiment.repeats
    asked = [pair for pair in numbered(manifest.experiment, job.block) if pair[0].combination in job.combinations]
    sequences = {
        attempt.key: first + (attempt.repeat or 0) for trial, first in asked for attempt in attempts(trial, repeats)
    }
    if not {trial.key for trial, _ in asked} <= reply.trials.keys() <= sequences.keys():
        raise StoreError(f"it has {len(reply.trials)} trials of block {job.block}, and {len(asked)} were asked for")
    records: dict[str, TrialRecord] = {}
    for key, files in reply.trials.items():
        record = trial_of(files, manifest, key, f"{reply.worker}: {key}")
        if (record.worker, record.attempt, record.sequence) != (reply.worker, job.attempt, sequences[key]):
            raise StoreError(f"{key} is the trial of another worker or attempt")
        records[key] = record
    for record, wrong in undue_repeats(records.values(), repeats):
        raise StoreError(f"{record.key}: {wrong}")
    for trial, _ in asked:
        due = next_attempt(trial, records, repeats)
        if due is not None:
            raise StoreError(f"it has no {due.key}, though the trial before it is to be repeated")
    return sorted(records.values(), key=lambda record: record.sequence)


def _identity(worker: WorkerMachine) -> tuple[str, ...]:
    """The facts that a machine cannot change while it is a worker of a run."""
    environment = worker.environment
    return environment.kernel, environment.machine, environment.cpu, str(environment.cores)
