"""The vantage point and the servers of an experiment, found out before its first trial."""

from __future__ import annotations

import os
from dataclasses import replace

from ...agent import AgentHub, find_agent
from ...model.experiment import Experiment
from ...plan.measure_experiment import LOCAL
from ...store import Environment
from ..environment import gather
from ..requirements import read_sysctls
from .hiding import Hiding, hidden_survey, own_addresses
from .surveying import take_survey, with_offered_only


def probe_servers(hub: AgentHub, experiment: Experiment) -> tuple[Experiment, Environment]:
    """The experiment with what servers offer alone, and this machine with the survey. Raises `CapabilityError` where
    nothing can be measured, and `AgentError`."""
    agent = hub.start_here(LOCAL)
    try:
        environment = gather(find_agent(), read_sysctls(agent), in_user_namespace=False)
        experiment, survey = with_offered_only(experiment, take_survey(agent, experiment))
    finally:
        hub.stop([agent])
    if experiment.hides_addresses:
        survey = hidden_survey(survey, Hiding(own_addresses(survey)))
    privileges = "root" if os.geteuid() == 0 else "user"
    return experiment, replace(environment, privileges=privileges, survey=survey)
