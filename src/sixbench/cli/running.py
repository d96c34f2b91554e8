"""What commands share that run experiments on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .common import note

if TYPE_CHECKING:
    from ..agent import AgentHub
    from ..model.calibration import Calibration
    from ..model.experiment import Experiment
    from ..store import Environment


def agent_hub() -> AgentHub:
    """What starts agents. Raises `CapabilityError` where there is no agent."""
    from ..agent import AgentHub, find_agent

    return AgentHub(find_agent())


def known_calibration(kernel: str) -> Calibration | None:
    """That of this machine with that kernel. Where its file is none, that is said and there is none."""
    from ..model.errors import StoreError
    from ..store import machine_name, read_calibration

    try:
        return read_calibration(machine_name(), kernel)
    except StoreError as error:
        note(f"sixbench: {error}")
        return None


def probe_machine(hub: AgentHub, experiment: Experiment) -> tuple[Experiment, Environment]:
    """Starts one node to see that it can be done, chooses the paths' engines and reads the machine's settings in it.
    Raises `CapabilityError`."""
    from ..agent import find_agent
    from ..lab.privileges import in_user_namespace
    from ..run.engines import choose_engines
    from ..run.environment import gather
    from ..run.hardware_counters import ask
    from ..run.needs import check_needs, read_sysctls

    probe = hub.start(["probe"])["probe"]
    try:
        check_needs(probe, experiment)
        environment = gather(find_agent(), read_sysctls(probe), in_user_namespace())
        refusal = ask(probe)
        environment = replace(environment, hardware_counters=refusal is None, no_hardware_counters=refusal)
        return choose_engines(probe, experiment), environment
    finally:
        hub.stop([probe])
