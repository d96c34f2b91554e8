"""Frames: the networks behind the hosts, and the hosts' interfaces, as parameters of both ends."""

from __future__ import annotations

from ...model.network import Network
from ...model.networks import networks_behind
from ...model.parameter import Params
from ...model.path import Path
from ...model.workloads import frames
from ...model.workloads.frames_parameters import CLIENT_NETWORKS, NETWORK_PREFIX, SERVER_NETWORKS, has_networks
from ...model.workloads.frames_stamps import HARDWARE_STAMPS
from .performer import Performer, Prepared


class FramesPerformer(Performer):
    """Flows of frames, whose ends know the networks behind them and may stamp frames by hardware."""

    workload = frames.KIND.name

    def prepare(self, path: Path, network: Network, params: Params) -> Prepared:
        return Prepared(network=network, params={**params, **_networks(params, network), **_stamps(network)})


def _networks(params: Params, network: Network) -> dict[str, str]:
    """The first network behind each host besides its own, by the name of the agent's parameter; empty where frames go
    to the hosts' own addresses only."""
    if not has_networks(params):
        return {}
    columns = zip((CLIENT_NETWORKS, SERVER_NETWORKS), network.between, strict=True)
    bits = int(NETWORK_PREFIX.of(params)) if network.family == 6 else None
    return {column: str(networks_behind(network.topology, host, network.family, bits)[0]) for column, host in columns}


def _stamps(network: Network) -> dict[str, bool]:
    """Value of the agent's parameter for hardware time stamps, by its name; empty where frames go between other
    interfaces than those that were lent for equipment. Who lends them sets their stamps back."""
    at_equipment = {node for node, _ in network.topology.ports}
    return {HARDWARE_STAMPS: True} if at_equipment.issuperset(network.between) else {}
