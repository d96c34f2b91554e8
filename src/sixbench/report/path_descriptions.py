"""Description of each path: its engine, nodes, addresses, headers, and the time that installing it took."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from ..model.path import Path
from ..model.topology import Topology
from ..store import Manifest, Run
from . import evidence
from .evidence import PathSums
from .routes import PathRoute, route_of


@dataclass(frozen=True, kw_only=True)
class TunnelDescription:
    """One end of a tunnel. `mtu_bytes` has one value for each that the experiment's networks lead to."""

    node: str
    device: str
    local: str
    mtu_bytes: list[int]


@dataclass(frozen=True, kw_only=True)
class PathDescription:
    """A path and what its trials say of it.

    Attributes:
        engines: who executed it, as the records name them; what the experiment says where there is no record.
        route: on the first network; None where it is not known.
        tunnels: the ends of its tunnels.
        install_ns: how long each installation took.
    """

    path: Path
    role: str
    engines: list[str]
    route: PathRoute | None
    tunnels: list[TunnelDescription]
    install_ns: list[int]
    evidence: PathSums

    @property
    def mtu_bytes(self) -> list[int]:
        """Values of its tunnels, each once."""
        return sorted({mtu for tunnel in self.tunnels for mtu in tunnel.mtu_bytes})

    @property
    def install_median_ns(self) -> float | None:
        """Time for installing it."""
        return statistics.median(self.install_ns) if self.install_ns else None


def path_descriptions(run: Run) -> list[PathDescription]:
    """One for each path, in the experiment's order."""
    experiment = run.manifest.experiment
    networks = _unlike(experiment.topologies)
    seen = {item.path: item for item in evidence.by_path(run)}
    descriptions = []
    for path in experiment.paths:
        ways = [route_of(path, topology, experiment.between) for topology in networks]
        path_evidence = seen[path.name]
        engines = path_evidence.engines or ([path.engine] if path.engine else [])
        descriptions.append(
            PathDescription(
                path=path,
                role=_role(path, experiment.baseline),
                engines=engines,
                route=ways[0] if ways else None,
                tunnels=_tunnels([route for route in ways if route is not None]),
                install_ns=_install_ns(run.manifest, path),
                evidence=path_evidence,
            )
        )
    return descriptions


def _unlike(topologies: tuple[Topology, ...]) -> list[Topology]:
    """The networks that may lead to different tunnels, of those that differ in rates or delays one."""
    results: dict[object, Topology] = {}
    for topology in topologies:
        links = tuple((link.ends, link.mtu_bytes) for link in topology.links)
        results.setdefault((tuple(topology.nodes), links), topology)
    return list(results.values())


def _tunnels(ways: list[PathRoute]) -> list[TunnelDescription]:
    mtus: dict[tuple[str, str, str], dict[int, None]] = {}
    for route in ways:
        for tunnel in route.network.tunnels:
            mtus.setdefault((tunnel.node, tunnel.device, str(tunnel.local)), {}).setdefault(tunnel.mtu_bytes)
    return [
        TunnelDescription(node=node, device=device, local=local, mtu_bytes=sorted(values))
        for (node, device, local), values in mtus.items()
    ]


def _install_ns(manifest: Manifest, path: Path) -> list[int]:
    """An A/A path uses the network of the path that it repeats."""
    numbers = manifest.install_ns.get(path.name)
    return list(numbers or (manifest.install_ns.get(path.aa_of) if path.aa_of else None) or [])


def _role(path: Path, baseline: str) -> str:
    if path.name == baseline:
        return "baseline"
    return f"A/A: repeats {path.aa_of}" if path.aa_of else ""
