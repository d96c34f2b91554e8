"""Tunnels whose `mtu` is given: that they do not follow their links, and where full packets are fragmented."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..mechanisms import MechanismError, install
from ..mechanisms.common import MTU
from ..model.experiment import Experiment
from ..model.network import Network
from ..model.path import Path
from ..model.quoting import listed
from ..model.topology import Topology


def fixed_mtu_remarks(experiment: Experiment) -> list[str]:
    """A remark for the paths whose `mtu` stays the same at several MTUs of their links, or is more than they leave."""
    names: dict[_Fixed, list[str]] = {}
    for path in experiment.paths:
        if path.aa_of is None and MTU.name in path.options:
            names.setdefault(_fixed(experiment, path), []).append(path.name)
    return [remark for fixed, paths in names.items() if (remark := _remark(fixed, listed(paths))) is not None]


class _Fixed(NamedTuple):
    """A tunnel's MTU, the least MTU of its links in each form of the network, and those that leave less than it."""

    mtu_bytes: int
    link_mtus_bytes: tuple[int, ...]
    too_small_bytes: tuple[int, ...]


def _fixed(experiment: Experiment, path: Path) -> _Fixed:
    mtu_bytes = int(path.options[MTU.name])
    used = {
        combination.topology_of(path.name)
        for combination in experiment.combinations
        if combination.goes_over(path.name)
    }
    rooms: dict[int, int | None] = {}
    for topology in (experiment.topologies[index] for index in sorted(used)):
        narrowest = _narrowest(path, topology, experiment.between)
        if narrowest is not None:
            rooms[narrowest] = _room(path, topology, experiment.between)
    too_small = (narrowest for narrowest, room in rooms.items() if room is None or room < mtu_bytes)
    return _Fixed(mtu_bytes, tuple(sorted(rooms)), tuple(sorted(too_small)))


def _remark(fixed: _Fixed, paths: str) -> str | None:
    too_small = listed(map(str, fixed.too_small_bytes))
    if len(fixed.link_mtus_bytes) > 1:
        text = (
            f"The mtu of {paths} is {fixed.mtu_bytes} at every MTU of the links "
            f"({listed(map(str, fixed.link_mtus_bytes))}); without mtu, a tunnel follows its links."
        )
        return text + (f" Full packets are fragmented at {too_small}." if fixed.too_small_bytes else "")
    if fixed.too_small_bytes:
        text = f"The mtu of {paths} is {fixed.mtu_bytes}, which is more than links with an MTU of {too_small} leave"
        return f"{text}: full packets are fragmented."
    return None


def _narrowest(path: Path, topology: Topology, between: tuple[str, str]) -> int | None:
    """The least MTU of the links that carry the path's tunnels; None where there is none."""
    network = _installed(path, topology, between)
    crossings = () if network is None else network.crossings
    return min((crossing.link.mtu_bytes for crossing in crossings if crossing.tunnels), default=None)


def _room(path: Path, topology: Topology, between: tuple[str, str]) -> int | None:
    """The MTU that the tunnel has if none is given; None where the links leave too little for what is inside."""
    others = {name: value for name, value in path.options.items() if name != MTU.name}
    network = _installed(replace(path, options=others), topology, between)
    tunnels = () if network is None else network.tunnels
    return min((tunnel.mtu_bytes for tunnel in tunnels), default=None)


def _installed(path: Path, topology: Topology, between: tuple[str, str]) -> Network | None:
    """The network of the path; None where it cannot be, as a run of another version may have it."""
    try:
        return install(path, topology, between)
    except (MechanismError, KeyError):
        return None
