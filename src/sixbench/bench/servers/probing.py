"""The vantages and the servers of an experiment, found out before its first trial."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from ...agent import AgentHub, find_agent
from ...model.experiment import Experiment
from ...model.survey import Survey
from ...plan.measure_experiment import LOCAL
from ...plan.yaml_source import Source
from ...store import Environment, HostFacts
from ..environment import gather
from ..probing_hosts import facts_of
from ..requirements import read_sysctls
from .hiding import Hiding, hidden_survey, own_addresses
from .surveying import take_survey, with_offered_only
from .vantages import check_vantages, start_at


def probe_servers(
    hub: AgentHub, experiment: Experiment, source: Callable[[], Source]
) -> tuple[Experiment, Environment]:
    """The experiment with what servers offer alone, and this machine with the surveys of all vantages. Raises
    `CapabilityError` where a vantage cannot be used or nothing can be measured, and `AgentError`.

    Args:
        source: gives the experiment's file with its changes.
    """
    check_vantages(hub, experiment, source)
    surveys: dict[str | None, Survey] = {}
    hosts: dict[str, HostFacts] = {}
    agent = hub.start_here(LOCAL)
    try:
        environment = gather(find_agent(), read_sysctls(agent), in_user_namespace=False)
        if not experiment.vantages:
            surveys[None] = take_survey(agent, experiment)
    finally:
        hub.stop([agent])
    for vantage in experiment.vantages:
        agent = start_at(hub, vantage)
        try:
            surveys[vantage.name] = take_survey(agent, experiment)
            # The hardware's address is in what a grandmaster of PTP is known by.
            if vantage.ssh is not None and not experiment.hides_addresses:
                hosts[vantage.name] = facts_of(agent)
        finally:
            hub.stop([agent])
    experiment, surveys = with_offered_only(experiment, surveys)
    if experiment.hides_addresses:
        hiding = Hiding(address for survey in surveys.values() for address in own_addresses(survey))
        surveys = {vantage: hidden_survey(survey, hiding) for vantage, survey in surveys.items()}
    privileges = "root" if os.geteuid() == 0 else "user"
    environment = replace(environment, privileges=privileges, hosts=hosts)
    return experiment, environment.with_surveys(surveys)
