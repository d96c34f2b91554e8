"""Frames: the networks behind the hosts to which they go (RFC 2544 section 12), and whether they can leave the hosts'
interfaces and pass each path whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network
from typing import get_args

from ...mechanisms import legs_of
from ...model.aggregates import Prefix
from ...model.experiment import Combination
from ...model.leg import Crossing
from ...model.network import Network
from ...model.networks import pools
from ...model.parameter import Params
from ...model.path import Path
from ...model.topology import Family, OtherBits, Topology
from ...model.workloads import frames, frames_parameters
from ...model.workloads.common import DIRECTION
from ..reader import Reader
from .check import Misfit, WorkloadCheck

IP_HEADER_BYTES: dict[Family, int] = {4: 20, 6: 40}


class FramesCheck(WorkloadCheck):
    """They need interfaces of the hosts, room on every link, and networks to go to."""

    workload = frames.KIND.name

    def with_needs(
        self,
        reader: Reader,
        topologies: tuple[Topology, ...],
        combinations: Sequence[Combination],
        between: tuple[str, str],
    ) -> tuple[Topology, ...]:
        """The topologies, in which both hosts have as many networks, and of all lengths, as the frames of any
        combination go to. Notes links that have addresses of theirs."""
        wanted: dict[int, int] = {}
        lengths: dict[int, set[OtherBits]] = {}
        for combination in combinations:
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

    def misfits(self, network: Network, path: Path, params: Params) -> Iterator[Misfit]:
        """Paths whose mechanism is in a host, frames that exceed an MTU, and rates above the line rate of a host's
        link."""
        in_host = host_in_the_way(network)
        if in_host is not None:
            yield None, in_host
            return
        yield from unfit_frames(network, path, params)
        yield from too_large(network, path, params)
        yield from _too_fast(network, params)


def host_in_the_way(network: Network) -> str | None:
    """The reason why frames cannot go over a path whose mechanism is in a host, as a sentence. None: they can."""
    in_host = [device.node for device in network.devices if device.node in network.between]
    if not in_host:
        return None
    return f"it has a device in the host {in_host[0]}, and frames begin at the host's interface, behind it"


def unfit_frames(network: Network, path: Path, params: Params) -> Iterator[tuple[str, str]]:
    """The parameters that frames of the path cannot have, and why not."""
    translated = len(network.legs) > 1
    computed = [tunnel for tunnel in network.tunnels if tunnel.mapping["kind"] != "fixed"]
    if frames_parameters.has_networks(params) and (translated or computed):
        why = "its addresses change on the way" if translated else "its tunnels find their ends by the addresses inside"
        yield frames_parameters.NETWORKS.name, f"frames over {path.name} can go to one network only: {why}"
    bits = int(frames_parameters.NETWORK_PREFIX.of(params))
    if bits != frames_parameters.USUAL_BITS and network.family == 4:
        words = f"prefixes of {bits} bits are IPv6's, and {path.name} begins with IPv4"
        yield frames_parameters.NETWORK_PREFIX.name, words
    if frames_parameters.extension_bytes(params) and any(leg.family == 4 for leg in network.legs):
        words = f"extension headers are IPv6's, and {path.name} has IPv4 addresses on the way"
        yield frames_parameters.EXTENSION_HEADERS.name, words


def natively(network: Network, params: Params) -> tuple[Crossing, ...]:
    """The wires that frames of the other family cross; none where there are no such frames."""
    if not frames_parameters.has_native(params):
        return ()
    other = _other(network.family)
    if not network.topology.route(*network.between, other):
        return ()  # reported by the check of families
    return replace(network, legs=legs_of(network.topology, network.between, other)).crossings


def too_large(network: Network, path: Path, params: Params) -> Iterator[tuple[str, str]]:
    """The parameter that is too large for the path, and what is wrong, if anything."""
    frame_bytes = int(frames_parameters.FRAME.of(params))
    for crossing in (*network.crossings, *natively(network, params)):
        more_bytes = IP_HEADER_BYTES[crossing.leg.family] - IP_HEADER_BYTES[network.family]
        packet_bytes = frame_bytes - frames_parameters.ETHERNET_BYTES + more_bytes
        own_mtu = crossing.link.mtu_bytes
        mtu_bytes = own_mtu if crossing.inner_mtu_bytes is None else crossing.inner_mtu_bytes
        if packet_bytes > mtu_bytes:
            most = mtu_bytes + frames_parameters.ETHERNET_BYTES - more_bytes
            yield (
                frames_parameters.FRAME.name,
                f"frames of {frame_bytes} bytes are too large for {path.name}: their packets have {packet_bytes} bytes "
                f"on {crossing.link.name}, where {mtu_bytes} fit; give at most {most}B, or links a larger mtu",
            )
            return


def _too_fast(network: Network, params: Params) -> Iterator[tuple[str, str]]:
    if not network.crossings:
        return
    direction = DIRECTION.of(params)
    first, last = network.crossings[0], network.crossings[-1]
    native = float(frames_parameters.NATIVE.of(params))
    native_bytes = native * (IP_HEADER_BYTES[_other(network.family)] - IP_HEADER_BYTES[network.family])
    server_bytes = IP_HEADER_BYTES[last.leg.family] - IP_HEADER_BYTES[network.family]
    reverse = (
        frames_parameters.PACKET_RATE_REVERSE
        if frames_parameters.PACKET_RATE_REVERSE.column in params
        else frames_parameters.PACKET_RATE
    )
    ends = (
        ("reverse", first.link, first.direction, frames_parameters.PACKET_RATE, 0),
        ("forward", last.link, last.link.direction_from(last.far), reverse, server_bytes),
    )
    for other, link, line, parameter, more_bytes in ends:
        if direction == other or line.rate_bps is None:
            continue
        frame_bytes = int(frames_parameters.FRAME.of(params)) + (1 - native) * more_bytes + native_bytes
        packet_bytes = round(frame_bytes) - frames_parameters.ETHERNET_BYTES
        beside_bytes = line.framing.wire_bytes(packet_bytes) - round(frame_bytes)
        most_pps = line.rate_bps / (8 * (frame_bytes + beside_bytes))
        for item in (parameter, frames_parameters.STEP_RATE):
            rate_pps = float(params.get(item.column, 0))
            if rate_pps > most_pps:
                yield (
                    item.name,
                    f"{rate_pps:.0f} frames/s are above the line rate of {link.name}: {line.rate_bps} bit/s carry "
                    f"{most_pps:.0f} frames/s of {frame_bytes:.6g} bytes",
                )


def _other(family: Family) -> Family:
    return 6 if family == 4 else 4


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
        networks = [address.network for address in (link.ends[0].ipv4, link.ends[0].ipv6) if address is not None]
        for network in networks:
            for pool in taken:
                if _overlap(pool, network):
                    yield f"frames go to networks of {pool}, and {link.name} has {network}; give it another prefix"


def _overlap(item: Prefix, other: Prefix) -> bool:
    if isinstance(item, IPv4Network):
        return isinstance(other, IPv4Network) and item.overlaps(other)
    return isinstance(other, IPv6Network) and item.overlaps(other)
