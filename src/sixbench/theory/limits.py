"""Limits that a network sets to packets: the size that passes, and the rate of the tightest link."""

from __future__ import annotations

from ..model.network import Network
from .pieces import header_of
from .prediction import Attempt


def path_mtu(network: Network) -> int:
    """The largest packet of the client that passes every link up to its server or a relay; tunnels count as links."""
    client = header_of(network.family)
    return min(
        crossing.passage.link.mtu_bytes - header_of(crossing.leg.family).size_bytes + client.size_bytes
        for crossing in network.parts[0].crossings
    )


def loses_at_random(network: Network) -> bool:
    """True if a link on the way loses packets by chance, at any moment of a trial."""
    states = (
        state[0 if crossing.link.ends[0].node == crossing.near else 1]
        for crossing in network.crossings
        for state in crossing.link.states
    )
    return any(direction.impairments.loses_at_random for direction in states)


def limit_bps(attempt: Attempt, payload_bytes: int, *, may_be_joined: bool = True) -> float | None:
    """The limit of the tightest link, unless packets may come to it in the super-packets of segmentation offload; None:
    there is none, or nothing arrives.

    Args:
        may_be_joined: whether there are super-packets where a link permits them.
    """
    if attempt.outcome != "delivered":
        return None
    limits = enumerate(load.limit_bps(payload_bytes) for load in attempt.loads)
    known = [(limit, index) for index, limit in limits if limit is not None]
    if not known:
        return None
    limit, index = min(known)
    is_joined = may_be_joined and any(load.crossing.link.offload_on for load in attempt.loads[: index + 1])
    return None if is_joined else limit
