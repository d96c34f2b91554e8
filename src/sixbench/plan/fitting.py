"""Checks whether the workloads of an experiment can go over its paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..mechanisms import Mechanism
from ..model.experiment import Combination
from ..model.network import Network
from ..model.path import Path
from ..model.topology import Topology
from ..model.workloads import WORKLOADS
from .reader import Reader
from .workloads import CHECKS, check_of
from .yaml_source import KeyPath

NetworkOf = Callable[[Path, int], Network]
"""The network of a path on the topology with a number."""


def with_needed(
    reader: Reader, topologies: tuple[Topology, ...], combinations: tuple[Combination, ...], between: tuple[str, str]
) -> tuple[Topology, ...]:
    """The topologies with what the workloads need in them."""
    for name, check in CHECKS.items():
        of_kind = [combination for combination in combinations if combination.workload.kind == name]
        topologies = check.with_needs(reader, topologies, of_kind, between)
    return topologies


def check_workloads(
    reader: Reader,
    combinations: tuple[Combination, ...],
    topologies: tuple[Topology, ...],
    paths: list[Path],
    between: tuple[str, str],
    mechanisms: Mapping[str, Mechanism],
) -> None:
    """Notes paths that cannot carry a workload, those that do not bring the families that it needs, and parameters that
    do not fit a network."""
    for path in paths:
        over = [combination for combination in combinations if combination.goes_over(path.name)]
        for kind in sorted({combination.workload.kind for combination in over}):
            unfit = mechanisms[path.mechanism].unfit(WORKLOADS[kind])
            all_params = (combination.workload.params for combination in over if combination.workload.kind == kind)
            reasons = (check_of(kind).unfit(path, params) for params in all_params)
            unfit = unfit or next((reason for reason in reasons if reason is not None), None)
            if unfit is not None and path.aa_of is None:
                reader.problem(("paths", path.name), f"{kind} cannot go over {path.mechanism}: {unfit}")

    networks: dict[tuple[int, str], Network] = {}

    def network_of(path: Path, topology: int) -> Network:
        key = topology, path.name
        if key not in networks:
            networks[key] = mechanisms[path.mechanism].install(path, topologies[topology], between)
        return networks[key]

    _check_families(reader, combinations, paths, between, network_of)
    _check_networks(reader, combinations, paths, network_of)


def _check_families(
    reader: Reader,
    combinations: tuple[Combination, ...],
    paths: list[Path],
    between: tuple[str, str],
    network_of: NetworkOf,
) -> None:
    over = {
        (combination.workload.kind, path.name)
        for combination in combinations
        for path in paths
        if combination.goes_over(path.name)
    }
    wanted = {
        (c.workload.kind, family)
        for c in combinations
        for family in WORKLOADS[c.workload.kind].families(c.workload.params)
    }
    for kind, family in sorted(wanted):
        for path in paths:
            if (kind, path.name) not in over:
                continue
            if not network_of(path, 0).topology.route(*between, family):
                reader.problem(
                    ("paths", path.aa_of or path.name),
                    f"{kind} needs IPv4 and IPv6 from {between[0]} to {between[1]}, and this path has no "
                    f"IPv{family}; dual-stack has both",
                )


def _check_networks(
    reader: Reader,
    combinations: tuple[Combination, ...],
    paths: list[Path],
    network_of: NetworkOf,
) -> None:
    """Notes the misfits of each workload on each path's network."""
    for combination in combinations:
        kind, params = combination.workload.kind, combination.workload.params
        for path in paths if kind in CHECKS else ():
            if not combination.goes_over(path.name):
                continue
            network = network_of(path, combination.topology_of(path.name))
            for name, problem in check_of(kind).misfits(network, path, params):
                if name is None:
                    place: KeyPath = ("paths", path.aa_of or path.name)
                    reader.problem(place, f"{kind} cannot go over {path.mechanism}: {problem}")
                else:
                    reader.problem(_place_of(reader, kind, name), problem)


def _place_of(reader: Reader, kind: str, name: str) -> KeyPath:
    """Place of a workload's parameter; that of the workloads if several entries have it."""
    known = [key for key in reader.source.lines if key[:1] == ("workloads",) and key[2:] == (kind, name)]
    return known[0] if len(known) == 1 else ("workloads",)
