"""Checks whether the frames of an experiment can leave the hosts' interfaces and pass each path whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..mechanisms import legs_of
from ..mechanisms.kind import Mechanism
from ..model.experiment import Combination
from ..model.leg import Crossing
from ..model.network import Network
from ..model.parameter import Params
from ..model.path import Path
from ..model.topology import Family, Topology
from ..model.workloads import frames, frames_parameters
from ..model.workloads.common import DIRECTION
from .reader import Reader
from .yaml_source import KeyPath

IP_HEADER_BYTES: dict[Family, int] = {4: 20, 6: 40}


def check_frames(
    reader: Reader,
    combinations: tuple[Combination, ...],
    topologies: tuple[Topology, ...],
    paths: list[Path],
    between: tuple[str, str],
    mechanisms: Mapping[str, Mechanism],
) -> None:
    """Notes paths whose mechanism is in a host, frames that exceed an MTU, and rates above the line rate of a host's
    link."""
    networks: dict[tuple[int, str], Network] = {}
    for combination in combinations:
        if combination.workload.kind != frames.KIND.name:
            continue
        for path in paths:
            if not combination.goes_over(path.name):
                continue
            key = combination.topology_of(path.name), path.name
            if key not in networks:
                networks[key] = mechanisms[path.mechanism].install(path, topologies[key[0]], between)
            network, params = networks[key], combination.workload.params
            place: KeyPath = ("paths", path.aa_of or path.name)
            in_host = [device.node for device in network.devices if device.node in between]
            if in_host:
                words = f"it has a device in the host {in_host[0]}, and frames begin at the host's interface, behind it"
                reader.problem(place, f"frames cannot go over {path.mechanism}: {words}")
                continue
            problems = (
                *unfit_frames(network, path, params),
                *too_large(network, path, params),
                *_too_fast(network, params),
            )
            for name, problem in problems:
                reader.problem(_place_of(reader, name), problem)


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


def _place_of(reader: Reader, name: str) -> KeyPath:
    """Place of the parameter; that of the workloads if several entries have it."""
    known = [key for key in reader.source.lines if key[:1] == ("workloads",) and key[2:] == (frames.KIND.name, name)]
    return known[0] if len(known) == 1 else ("workloads",)
