"""Checks whether the interfaces on a trial's path stayed up, by the nodes' counters before and after."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...model.observation import InterfaceState
from ...model.reason import Reason, ReasonKind
from ...model.topology import Interface
from .packets import Counters
from .viewpoints import Viewpoint


def link_failures(
    views: Sequence[Viewpoint], before: Counters, after: Counters, taken: Collection[str] = ()
) -> list[Reason]:
    """The interfaces that went down during a trial, as a sentence for each link. Nodes that could not be asked are left
    out.

    Args:
        taken: the links that an event took down.
    """
    names = []
    for view in views:
        if view.link.name in taken:
            continue
        link, ends = view.link, view.link.ends
        down = [end for end in ends if (state := _state(after, end)) is not None and state.is_up is False]
        lost = [end for end in ends if _carrier_losses(after, end) > _carrier_losses(before, end, after)]
        if down:
            names.append(f"{_names(down)} went down during the trial (link {link.name})")
        elif lost:
            names.append(f"{_names(lost)} lost the carrier during the trial (link {link.name})")
    return [Reason(kind=ReasonKind.LINK_DOWN, text=words) for words in names]


def _state(counters: Counters, end: Interface) -> InterfaceState | None:
    node = counters.get(end.node)
    return None if node is None else (node.links or {}).get(end.name)


def _carrier_losses(counters: Counters, end: Interface, otherwise: Counters | None = None) -> int:
    """Number of times that an interface lost its carrier, by `otherwise` where `counters` do not have it."""
    state = _state(counters, end)
    if state is None or state.carrier_losses is None:
        return 0 if otherwise is None else _carrier_losses(otherwise, end)
    return state.carrier_losses


def _names(ends: Sequence[Interface]) -> str:
    return " and ".join(f"{end.name} of {end.node}" for end in ends)
