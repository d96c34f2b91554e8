"""The network that is left where the client loses a link, or its addresses at it, in the middle of a trial."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model.experiment import LinkChange
from ..model.network import Network
from .common import legs_of
from .kind import MechanismError


def remaining(network: Network, changes: Iterable[LinkChange]) -> tuple[Network, ...]:
    """The network after each change that takes something, with the way that the path has in it then.

    The client goes on from another address of its own to the same address of the server (RFC 9000 section 9: only the
    client migrates). Raises `MechanismError` where it cannot.
    """
    client, server = network.between
    results: list[Network] = []
    for change in changes:
        if change.takes is None:
            continue
        present = results[-1] if results else network
        crossings = present.crossings
        if len(network.legs) > 1 or client in network.device_nodes:
            raise MechanismError(
                f"the event takes {change.link} from the client, which can go on only where packets keep their "
                "addresses from end to end"
            )
        if not crossings or crossings[0].link.name != change.link:
            raise MechanismError(
                f"the event takes {change.link}, and the path does not leave {client} by it; name the link by which it "
                "does"
            )
        if crossings[0].link.over is not None:
            raise MechanismError(f"the event takes {change.link}, which is between machines; take one within a machine")
        links = tuple(link for link in present.topology.links if link.name != change.link)
        topology = replace(present.topology, links=links)
        try:
            legs = legs_of(topology, (client, server), network.family)
        except MechanismError as error:
            words = f"without {change.link} {error}; give {client} another link"
            raise MechanismError(words) from error
        if len(legs) > 1 or legs[0].destination != network.legs[0].destination:
            raise MechanismError(
                f"without {change.link} the way from {client} leads to another address of {server}, or through a NAT; "
                "a connection keeps the server's address"
            )
        results.append(replace(present, topology=topology, legs=legs))
    return tuple(results)
