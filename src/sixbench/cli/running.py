"""Helpers of the commands that run experiments on this machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.quoting import text_of
from .common import note
from .consent import without_consent

if TYPE_CHECKING:
    from ..agent import AgentHub
    from ..bench.open_run import OpenRun
    from ..bench.other_runs import Presence
    from ..model.calibration import Calibration
    from ..model.experiment import Experiment
    from ..model.trial import TrialRecord
    from ..store import Environment, Manifest, Run, RunWriter


def tell(sentence: str) -> None:
    """Writes a sentence about other runs on standard error."""
    note(f"sixbench: {sentence}")


def agent_hub() -> AgentHub:
    """The hub that starts agents. Raises `CapabilityError` where there is no agent."""
    from ..agent import AgentHub, find_agent

    return AgentHub(find_agent())


def first_manifest(directory: Path, experiment: Experiment, environment: Environment, **more: Any) -> Manifest:
    """The manifest of a run that begins now, by this command line."""
    from ..store import Manifest

    return Manifest(
        run=text_of(directory.resolve().name),
        experiment=experiment,
        environment=environment,
        state="running",
        started_realtime_ns=time.time_ns(),
        command=["sixbench", *map(text_of, without_consent(sys.argv[1:]))],
        **more,
    )


def begin_run(directory: Path, manifest: Manifest, *, is_named: bool) -> RunWriter:
    """Makes a run directory: the one that the user named, or else a new one of that name or one like it. Raises
    `UsageError` where that of the user holds something, `WriteError` where it cannot be made."""
    from ..store import create_new_run, create_run

    return create_run(directory, manifest) if is_named else create_new_run(directory, manifest)


def run_here(
    experiment: Experiment, writer: RunWriter, hub: AgentHub, presence: Presence, done: Sequence[TrialRecord] = ()
) -> OpenRun:
    """The run of an open directory as this machine measures it, beside what theory expects."""
    from ..bench.open_run import OpenRun
    from ..theory import expected_amid_changes

    return OpenRun(
        experiment=experiment, writer=writer, done=[*done], hub=hub, theory=expected_amid_changes, presence=presence
    )


@contextmanager
def resumed_run(
    hub: AgentHub, writer: RunWriter, run_so_far: Run, *, wait: bool, means_it: bool = False
) -> Iterator[OpenRun]:
    """An interrupted run that goes on on this machine. It is among the machine's runs meanwhile.

    Raises:
        CapabilityError, UsageError: this machine cannot measure it.
    """
    from ..bench.other_runs import measuring
    from ..bench.probing import probe_machine

    manifest = run_so_far.manifest
    if manifest.environment.survey is not None and run_so_far.trials:
        experiment, environment = manifest.experiment, manifest.environment  # the servers' addresses are pinned
    else:
        experiment, environment = probe_machine(hub, manifest.experiment, means_it=means_it)
    # A run without trials is as if started where it is resumed.
    here = {} if run_so_far.trials else {"experiment": experiment, "environment": environment}
    with measuring(experiment.name, wait=wait, report=tell) as presence:
        writer.save_manifest(state="running", **here)
        yield run_here(experiment, writer, hub, presence, run_so_far.trials)


def known_calibration(kernel: str) -> Calibration | None:
    """The calibration of this machine with that kernel. None, and a line on standard error, if it cannot be read."""
    from ..model.errors import StoreError
    from ..store import machine_name, read_calibration

    try:
        return read_calibration(machine_name(), kernel)
    except StoreError as error:
        note(f"sixbench: {error}")
        return None
