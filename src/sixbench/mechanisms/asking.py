"""The way of questions to a path's resolver, and of those that it asks an authority itself (RFC 8219 section 9.1)."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Network

from ..model.network import Network
from ..model.path import Path
from .common import legs_of
from .parting import DEFAULT_PREFIX, prefix_option
from .resolving import DNS64


def unasked(path: Path) -> str | None:
    """The reason why nobody can be asked on a path, as a sentence; None if somebody can."""
    if not path.options.get(DNS64.name):
        return "it has no resolver with DNS64; give nat64 or trt with dns64: NODE, or a program with dns64: true"
    if path.family != 6:
        return "its client has IPv4, and a DNS64 is for clients of IPv6 (RFC 6147); give nat64 or trt with dns64: NODE"
    return None


def _is_program(path: Path) -> bool:
    """True if the resolver is a program under test, in the path's own node."""
    return path.options[DNS64.name] is True


def asked_prefix(path: Path) -> IPv6Network:
    """The prefix in which the path's resolver makes addresses."""
    return prefix_option(path, "prefix", DEFAULT_PREFIX)


def with_questions(path: Path, network: Network) -> Network:
    """The network whose packets are the questions: the client's to the resolver, and the resolver's to the server, over
    IPv4. A translator has nothing to do with them.

    `unasked` says of which paths that is possible. Raises `MechanismError` where no route leads to the server.
    """
    client, server = network.between
    node = path.nodes[0] if _is_program(path) else str(path.options[DNS64.name])
    asked = legs_of(network.topology, (client, node), network.family)
    legs = (*asked, *legs_of(network.topology, (node, server), 4))
    return replace(network, legs=legs, devices=(), answering=frozenset({node}))
