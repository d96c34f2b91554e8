"""Checks whether both ends of frames have the interfaces of this machine, which may stamp frames by hardware."""

from __future__ import annotations

from ..model.network import Network
from ..model.workload import WorkloadKind
from ..model.workloads import frames
from ..model.workloads.frames_stamps import HARDWARE_STAMPS


def told_stamps(kind: WorkloadKind, network: Network) -> dict[str, bool]:
    """Value of the agent's parameter for hardware time stamps, by its name; empty where frames go between other
    interfaces than those that were lent for equipment. Who lends them sets their stamps back."""
    at_equipment = {node for node, _ in network.topology.ports}
    if kind.name != frames.KIND.name or not at_equipment.issuperset(network.between):
        return {}
    return {HARDWARE_STAMPS: True}
