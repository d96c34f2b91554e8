"""The networks behind the hosts to which the frames of an experiment go (RFC 2544 section 12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network
from typing import get_args

from ..model.aggregates import Prefix
from ..model.experiment import Combination
from ..model.networks import pools
from ..model.parameter import Params
from ..model.topology import OtherBits, Topology
from ..model.workloads import frames, frames_parameters
from .reader import Reader


def with_frame_networks(
    reader: Reader, topologies: tuple[Topology, ...], combinations: Iterable[Combination], between: tuple[str, str]
) -> tuple[Topology, ...]:
    """The topologies, in which both hosts have as many networks, and of all lengths, as the frames of any combination
    go to. Notes links that have addresses of theirs."""
    wanted: dict[int, int] = {}
    lengths: dict[int, set[OtherBits]] = {}
    for combination in combinations:
        if combination.workload.kind == frames.KIND.name:
            networks = int(frames_parameters.NETWORKS.of(combination.workload.params))
            for index in (combination.topology, *combination.topology_by_path.values()):
                wanted[index] = max(wanted.get(index, 1), networks)
                lengths.setdefault(index, set()).update(other_bits(combination.workload.params))
    results = []
    for index, topology in enumerate(topologies):
        networks = wanted.get(index, 1)
        if networks == 1:
            results.append(topology)
            continue
        bits = lengths[index]
        for problem in links_in_the_way(topology, bits):
            reader.problem(("topology", "links"), problem)
        results.append(with_networks(topology, between, networks, bits))
    return tuple(results)


def other_bits(params: Params) -> frozenset[OtherBits]:
    """The length of the IPv6 prefixes to which frames go, if it is not the usual one."""
    return frozenset(
        get_arg for get_arg in get_args(OtherBits) if get_arg == frames_parameters.NETWORK_PREFIX.of(params)
    )


def with_networks(
    topology: Topology, between: tuple[str, str], networks: int, bits: Iterable[OtherBits] = ()
) -> Topology:
    """The topology, in which both hosts have so many networks. `bits`: and so many of each of these lengths besides."""
    of_each = tuple(sorted(bits))
    hosts = {
        name: replace(topology.nodes[name], networks=networks, network_bits=of_each)
        for name in between
        if name in topology.nodes
    }
    return replace(topology, nodes=topology.nodes | hosts)


def links_in_the_way(topology: Topology, bits: Iterable[OtherBits] = ()) -> Iterator[str]:
    """The problem with links that have addresses of those networks."""
    taken = pools(bits)
    for link in topology.links:
        own = [address.network for address in (link.ends[0].ipv4, link.ends[0].ipv6) if address is not None]
        for network in own:
            for pool in taken:
                if _overlap(pool, network):
                    yield f"frames go to networks of {pool}, and {link.name} has {network}; give it another prefix"


def _overlap(item: Prefix, other: Prefix) -> bool:
    if isinstance(item, IPv4Network):
        return isinstance(other, IPv4Network) and item.overlaps(other)
    return isinstance(other, IPv6Network) and item.overlaps(other)
