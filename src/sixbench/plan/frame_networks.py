"""The networks behind the hosts to which the frames of an experiment go (RFC 2544 section 12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network

from ..model.aggregates import Prefix
from ..model.experiment import Combination
from ..model.networks import pools
from ..model.topology import Topology
from ..model.workloads import frames, frames_parameters
from .reader import Reader


def with_frame_networks(
    reader: Reader, topologies: tuple[Topology, ...], combinations: Iterable[Combination], between: tuple[str, str]
) -> tuple[Topology, ...]:
    """The topologies, in which both hosts have as many networks as the frames of any combination go to. Notes links
    that have addresses of theirs."""
    wanted: dict[int, int] = {}
    for one in combinations:
        if one.workload.kind == frames.KIND.name:
            networks = int(frames_parameters.NETWORKS.of(one.workload.params))
            for index in (one.topology, *one.topology_by_path.values()):
                wanted[index] = max(wanted.get(index, 1), networks)
    found = []
    for index, topology in enumerate(topologies):
        networks = wanted.get(index, 1)
        if networks == 1:
            found.append(topology)
            continue
        for problem in links_in_the_way(topology):
            reader.problem(("topology", "links"), problem)
        found.append(with_networks(topology, between, networks))
    return tuple(found)


def with_networks(topology: Topology, between: tuple[str, str], networks: int) -> Topology:
    """The topology, in which both hosts have so many networks."""
    hosts = {name: replace(topology.nodes[name], networks=networks) for name in between if name in topology.nodes}
    return replace(topology, nodes=topology.nodes | hosts)


def links_in_the_way(topology: Topology) -> Iterator[str]:
    """What is wrong with links that have addresses of those networks."""
    for link in topology.links:
        own = [address.network for address in (link.ends[0].ipv4, link.ends[0].ipv6) if address is not None]
        for network in own:
            for pool in pools():
                if _overlap(pool, network):
                    yield f"frames go to networks of {pool}, and {link.name} has {network}; give it another prefix"


def _overlap(one: Prefix, other: Prefix) -> bool:
    if isinstance(one, IPv4Network):
        return isinstance(other, IPv4Network) and one.overlaps(other)
    return isinstance(other, IPv6Network) and one.overlaps(other)
