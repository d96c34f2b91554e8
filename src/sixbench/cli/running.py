"""Helpers of the commands that run experiments on this machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model.quoting import text_of
from .common import note
from .consent import without_consent

if TYPE_CHECKING:
    from ..agent import AgentHub
    from ..model.calibration import Calibration
    from ..model.experiment import Experiment
    from ..store import Environment, Manifest, RunWriter


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


def known_calibration(kernel: str) -> Calibration | None:
    """The calibration of this machine with that kernel. None, and a line on standard error, if it cannot be read."""
    from ..model.errors import StoreError
    from ..store import machine_name, read_calibration

    try:
        return read_calibration(machine_name(), kernel)
    except StoreError as error:
        note(f"sixbench: {error}")
        return None
