"""The machines that servers are measured from: this one, or hosts over SSH."""

from __future__ import annotations

from collections.abc import Callable

from ...agent import Agent, AgentHub
from ...lab.machines import agent_of
from ...model.errors import AgentError, CapabilityError, HostsError, SixbenchError
from ...model.experiment import Experiment
from ...model.host import Host
from ...plan.measure_experiment import LOCAL
from ...plan.yaml_source import Source


def start_at(hub: AgentHub, vantage: Host | None) -> Agent:
    """Starts an agent in the network namespace that a vantage has. One that is connected to no more is connected to
    anew. Raises `AgentError` or `CapabilityError`.

    Args:
        vantage: None: this machine.
    """
    if vantage is None or vantage.ssh is None:
        return hub.start_here(LOCAL)
    if not hub.has_joined(vantage.name):
        hub.join([vantage])
    return hub.start_here(agent_of(vantage.name), vantage.name)


def check_vantages(hub: AgentHub, experiment: Experiment, source: Callable[[], Source]) -> None:
    """Connects to all vantages that are other machines. Raises `HostsError` with a line for each that cannot be
    used, with its place in the file that names it.

    Args:
        source: gives the experiment's file with its changes.
    """
    problems = []
    for vantage in experiment.vantages:
        try:
            hub.stop([start_at(hub, vantage)])
        except (AgentError, CapabilityError) as error:
            words = unreached(vantage, error, hides_addresses=experiment.hides_addresses)
            problems.append(source().problem(("hosts", vantage.name), words))
    if problems:
        raise HostsError(problems)


def unreached(vantage: Host, error: SixbenchError, *, hides_addresses: bool) -> str:
    """The reason why a vantage has no agent, in words. An error of SSH may have the vantage's address, which has no
    place in files where addresses are hidden."""
    if not hides_addresses or vantage.ssh is None:
        return str(error)
    return f"{vantage.name} cannot be reached; see what this says: ssh {vantage.ssh} true"
