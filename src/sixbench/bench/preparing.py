"""The preparation of a trial: its parameters, its network and where it is observed."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace

from ..mechanisms import legs_of, remaining
from ..model.network import Network
from ..model.parameter import Scalar
from ..model.workload import WorkloadKind
from .events import forget_path_mtu
from .laboratory import Laboratory
from .processors import placement_of
from .proof.viewpoints import viewpoints
from .record import TrialTask
from .setting import TrialSetting
from .workloads import performer_of


def prepare(trial: TrialTask, laboratory: Laboratory, network: Network, *, keeps_packets: bool) -> TrialSetting:
    """The place of a trial. Nobody is asked.

    Args:
        network: the path's own.
        keeps_packets: whether the packets of every link are kept.
    """
    experiment, combination, planned = trial.experiment, trial.combination, trial.planned
    path, kind = trial.path, trial.kind
    placement = placement_of(experiment, combination.workload)
    params = kind.placed(_with_seed(kind, combination.workload.params, experiment.seed + planned.block), placement)
    performer = performer_of(kind)
    prepared = performer.prepare(path, network, params)
    network, params = prepared.network, prepared.params
    others = {
        family: legs_of(network.topology, experiment.between, family)
        for family in kind.families(params)
        if family != network.family
    }
    left = remaining(network, combination.events)
    return TrialSetting(
        laboratory=laboratory,
        network=network,
        kind=kind,
        params=params,
        key=planned.key,
        token=secrets.token_hex(16),
        between=experiment.between,
        views=viewpoints(network, others.values(), left),
        is_bpf=path.engine == "ebpf",
        keeps_packets=keeps_packets,
        seed=f"{experiment.seed}/{planned.block}/{planned.combination}",
        events=combination.events,
        remaining=left,
        placement=placement,
        traces=experiment.traces,
        pages=experiment.pages,
        legs=performer.ordered({network.family: network.legs, **others}, path, params),
    )


def make_ready(setting: TrialSetting) -> TrialSetting:
    """Puts the nodes on processors, which do not sleep from then on, and makes them forget the path MTUs that they
    learned. Raises `AgentError`."""
    laboratory = setting.laboratory
    placed = laboratory.pin_nodes(setting.placement, list(setting.watched))
    laboratory.processors.renew()
    forget_path_mtu(laboratory, dict.fromkeys([*setting.between, *setting.network.device_nodes]))
    return replace(setting, placed=placed, is_alone=laboratory.processors.is_off(placed))


def _with_seed(kind: WorkloadKind, params: Mapping[str, Scalar], seed: int) -> dict[str, Scalar]:
    """The parameters with the seed of random traffic, unless that is given. All paths of a block get the same
    traffic."""
    return {"seed": seed % 2**63} | dict(params) if kind.is_drawn(params) else dict(params)
