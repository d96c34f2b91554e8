"""Capabilities of a machine for an experiment, found out before anything of it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..agent import AgentHub, find_agent
from ..lab.privileges import in_user_namespace
from ..model.experiment import Experiment
from ..plan.yaml_source import Source, parse_yaml
from ..store import Environment
from .emulated import check_guests
from .engines import choose_engines
from .environment import end_versions, gather
from .hardware_counters import ask
from .ports import check_ports
from .probing_hosts import hosts_of, probe_hosts
from .refused_settings import check_settings
from .requirements import check_requirements, read_sysctls
from .servers.probing import probe_servers
from .underlays import find_underlays


def probe_machine(
    hub: AgentHub, experiment: Experiment, source: Callable[[], Source] | None = None, *, means_it: bool = False
) -> tuple[Experiment, Environment]:
    """Starts one node to see that it can be done, chooses the paths' engines and reads the machine's settings in it.
    Raises `CapabilityError`, and `ExperimentError` where the kernel refuses a setting of a node, or an interface cannot
    be lent to one, or a guest cannot be started.

    Args:
        source: gives the experiment's file with its changes; None: the text that the experiment keeps.
        means_it: whether interfaces may be lent that are in use.
    """
    source = source or (lambda: parse_yaml(experiment.text, experiment.file))
    if experiment.servers:
        return probe_servers(hub, experiment, source)
    check_ports(experiment.topologies, experiment.file, means_it=means_it)
    check_guests(experiment)
    check_settings(hub, experiment.topologies, source)
    probe = hub.start(["probe"])["probe"]
    try:
        check_requirements(probe, experiment)
        environment = gather(find_agent(), read_sysctls(probe), in_user_namespace())
        refusal = ask(probe)
        environment = replace(
            environment,
            versions=environment.versions | end_versions(experiment),
            hardware_counters=refusal is None,
            no_hardware_counters=refusal,
        )
        experiment = choose_engines(probe, experiment)
    finally:
        hub.stop([probe])
    if hosts_of(experiment):
        experiment, hosts = probe_hosts(hub, experiment)
        experiment, underlays = find_underlays(hub, experiment)
        environment = replace(environment, hosts=hosts, underlays=underlays)
    return experiment, environment
