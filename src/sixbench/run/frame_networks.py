"""Parameters of both ends of frames about the networks behind the hosts."""

from __future__ import annotations

from ..model.network import Network
from ..model.networks import networks_behind
from ..model.parameter import Params
from ..model.workload import WorkloadKind
from ..model.workloads import frames
from ..model.workloads.frames_parameters import CLIENT_NETWORKS, NETWORK_PREFIX, SERVER_NETWORKS, has_networks


def told_networks(kind: WorkloadKind, params: Params, network: Network) -> dict[str, str]:
    """The first network behind each host besides its own, by the name of the agent's parameter; empty where frames go
    to the hosts' own addresses only."""
    if kind.name != frames.KIND.name or not has_networks(params):
        return {}
    columns = zip((CLIENT_NETWORKS, SERVER_NETWORKS), network.between, strict=True)
    bits = int(NETWORK_PREFIX.of(params)) if network.family == 6 else None
    return {column: str(networks_behind(network.topology, host, network.family, bits)[0]) for column, host in columns}
