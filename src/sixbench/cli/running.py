"""What commands share that run experiments on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .common import note

if TYPE_CHECKING:
    from ..agent import AgentHub
    from ..model.calibration import Calibration
    from ..model.experiment import Experiment
    from ..plan.yaml_source import Source
    from ..store import Environment, Manifest, RunWriter


def tell(sentence: str) -> None:
    """Says something about other runs, on standard error."""
    note(f"sixbench: {sentence}")


def agent_hub() -> AgentHub:
    """What starts agents. Raises `CapabilityError` where there is no agent."""
    from ..agent import AgentHub, find_agent

    return AgentHub(find_agent())


def begin_run(directory: Path, manifest: Manifest, *, is_named: bool) -> RunWriter:
    """Makes a run directory: the one that the user named, or else a new one of that name or one like it. Raises
    `UsageError` where that of the user holds something, `WriteError` where it cannot be made."""
    from ..store import create_new_run, create_run

    return create_run(directory, manifest) if is_named else create_new_run(directory, manifest)


def text_of(experiment: Experiment) -> Source:
    """The experiment's file as it was when it was read, without changes from a command line."""
    from ..plan.yaml_source import parse_yaml

    return parse_yaml(experiment.text, experiment.file)


def known_calibration(kernel: str) -> Calibration | None:
    """That of this machine with that kernel. Where its file is none, that is said and there is none."""
    from ..model.errors import StoreError
    from ..store import machine_name, read_calibration

    try:
        return read_calibration(machine_name(), kernel)
    except StoreError as error:
        note(f"sixbench: {error}")
        return None


def probe_machine(
    hub: AgentHub, experiment: Experiment, source: Callable[[], Source] | None = None
) -> tuple[Experiment, Environment]:
    """Starts one node to see that it can be done, chooses the paths' engines and reads the machine's settings in it.
    Raises `CapabilityError`, and `ExperimentError` where the kernel refuses a setting of a node.

    Args:
        source: gives the experiment's file with its changes; None: the text that the experiment keeps.
    """
    from ..agent import find_agent
    from ..lab.privileges import in_user_namespace
    from ..run.engines import choose_engines
    from ..run.environment import gather
    from ..run.hardware_counters import ask
    from ..run.refused_settings import check_settings
    from ..run.requirements import check_requirements, read_sysctls

    check_settings(hub, experiment.topologies, source or (lambda: text_of(experiment)))
    probe = hub.start(["probe"])["probe"]
    try:
        check_requirements(probe, experiment)
        environment = gather(find_agent(), read_sysctls(probe), in_user_namespace())
        refusal = ask(probe)
        environment = replace(environment, hardware_counters=refusal is None, no_hardware_counters=refusal)
        return choose_engines(probe, experiment), environment
    finally:
        hub.stop([probe])
