"""Refusals of a worker: it does not run commands of an experiment, lend its interfaces, or reach other machines."""

from __future__ import annotations

from ..mechanisms import commands_of, commands_of_workloads
from ..mechanisms.guest import GUEST
from ..model.errors import UsageError
from ..model.experiment import Experiment


def refuse_foreign(experiment: Experiment) -> None:
    """Raises `UsageError` where an experiment needs what nobody on a worker has agreed to."""
    if experiment.servers:
        raise UsageError("servers are measured to from this machine, and not from workers; run it without --workers")
    if any(topology.ports for topology in experiment.topologies):
        raise UsageError("dut is equipment, which workers do not have; run it without --workers")
    text = next((path.name for path in experiment.paths if path.mechanism == GUEST.name), None)
    if text is not None:
        raise UsageError(
            f"paths.{text} is an emulated machine under test, whose kernel workers do not have; "
            "run it without --workers"
        )
    text = next((path.name for path in experiment.paths if commands_of(path)), None)
    if text is not None:
        raise UsageError(
            f"paths.{text} runs a program of the experiment, which no worker does for others; "
            "run it on this machine, without --workers"
        )
    text = next(iter(commands_of_workloads(experiment.combinations)), None)
    if text is not None:
        raise UsageError(
            f"workloads.{text} runs a program of the experiment, which no worker does for others; "
            "run it on this machine, without --workers"
        )
    if any(topology.is_spread for topology in experiment.topologies):
        raise UsageError(f"{experiment.name} has hosts of its own, which no worker reaches; run it without --workers")
