"""Treatment of fragments and of ICMP errors that pass nodes, besides forwarding."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.network import Network
from ..model.topology import Family, FragmentPolicy
from .pieces import Piece

_BOTH: frozenset[Family] = frozenset({4, 6})


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """A node's treatment of packets that pass it, besides forwarding.

    Attributes:
        reassembles: the families whose fragments it puts together before it forwards them. In these it tracks
            connections, because it translates addresses.
        is_silent: whether it neither sends nor forwards the errors of path MTU discovery.
        drops: which of the arriving fragments it drops, before it puts any together.
    """

    reassembles: frozenset[Family] = frozenset()
    is_silent: bool = False
    drops: FragmentPolicy = "none"

    def drops_piece(self, piece: Piece) -> bool:
        """True if the node drops that packet."""
        if self.drops == "fragments":
            return piece.is_marked
        if self.drops == "none" or not piece.is_fragment:
            return False
        return (piece.offset_bytes == 0) == (self.drops == "first-fragments")


def treatments(network: Network) -> dict[str, Treatment]:
    """The treatment by each node. Nodes that only forward are absent."""
    results = {}
    for name, node in network.topology.nodes.items():
        treatment = Treatment(
            reassembles=_BOTH if node.masquerade else _tracked(network, name),
            is_silent=node.icmp != "all",
            drops=node.drop,
        )
        if treatment != Treatment():
            results[name] = treatment
    return results


def _tracked(network: Network, node: str) -> frozenset[Family]:
    """The families in which the path's mechanism tracks connections at the node."""
    return frozenset(family for stage in network.stages if node in stage for family in stage[node].tracks)
