"""Taking a link from a node, or its addresses at the link, and giving them back: lines for `ip -batch`. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from ..model.experiment import Taken
from ..model.network import Blueprint
from ..model.routing import Route, all_routes
from ..model.topology import Interface
from .render import route_words


@dataclass(frozen=True, kw_only=True)
class TakingLines:
    """The lines for a node that loses something.

    Attributes:
        take: first the routes over what remains, then the loss: so none of the node's packets finds no route.
        restore: everything as it was.
    """

    take: Sequence[str]
    restore: Sequence[str]


def taking_lines(before: Blueprint, after: Blueprint, node: str, link: str, takes: Taken) -> TakingLines:
    """The lines for a node of a network that loses a link of it, or its addresses there.

    Args:
        after: the network without the link.
    """
    end = next(item for item in before.topology.links if item.name == link).end_of(node)
    now, later = _over_wires(before, node), _over_wires(after, node)
    replaced = [f"route replace {route_words(route)}" for key, route in later.items() if now.get(key) != route]
    unneeded = [
        f"route del {route_words(route)}" for key, route in now.items() if key not in later and route.device == end.name
    ]
    loss, gain = _loss(end, takes)
    return TakingLines(
        take=[*replaced, *unneeded, *loss],
        restore=[
            *gain,
            *(f"route replace {route_words(route)}" for key, route in now.items() if later.get(key) != route),
            *(f"route del {route_words(route)}" for key, route in later.items() if key not in now),
        ],
    )


def _over_wires(network: Blueprint, node: str) -> dict[tuple[int, object], Route]:
    """The routes of a node that leave by wires, by family and prefix."""
    routes = all_routes(network.topology, network.devices)[node]
    return {(route.family, route.prefix): route for route in routes if route.is_over_wire}


def _loss(end: Interface, takes: Taken) -> tuple[list[str], list[str]]:
    """Loses what is taken; gives it back. With a link that goes down, the kernel takes the addresses of IPv6 too."""
    given = [f"address replace {end.ipv4} dev {end.name}"] if end.ipv4 is not None else []
    given += [f"address replace {end.ipv6} dev {end.name} nodad"] if end.ipv6 is not None else []
    if takes == "link":
        return [f"link set dev {end.name} down"], [f"link set dev {end.name} up", *given]
    if takes == "addresses":
        held = [address for address in (end.ipv4, end.ipv6) if address is not None]
        return [f"address del {address} dev {end.name}" for address in held], given
    assert_never(takes)
