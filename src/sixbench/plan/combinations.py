"""Makes concrete combinations of levels from workloads and networks that vary."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import fields, replace
from math import prod

from ..model.direction import Directions
from ..model.experiment import Combination
from ..model.metric import COLUMNS
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.topology import Family, Topology
from ..model.trial import TrialRecord
from ..model.workload import Workload
from .events_file import EventTemplate, changes, check_events
from .factors import Factors
from .reader import Reader
from .topology_file import TopologyTemplate
from .workload_file import WorkloadTemplate, check_workload, constant_levels

MAX_COMBINATIONS = 20_000

MAX_NODES_IN_ALL = 100_000
"""Largest number of nodes of the networks of an experiment, each form of a network counted. Each form is written out,
checked and kept in the manifest, which takes some 0.1 ms a node for each path."""

_TAKEN_COLUMNS = COLUMNS.keys() | {field.name for field in fields(TrialRecord)}
"""Names of columns that tables of results have beside the levels."""


def expand(
    reader: Reader,
    factors: Factors,
    network: TopologyTemplate,
    workloads: list[WorkloadTemplate],
    paths: list[Path],
    events: list[EventTemplate],
    wants_ipv6: bool,
) -> tuple[tuple[Topology, ...], tuple[Combination, ...]]:
    """Every workload at every combination of the levels that it, its network and the events depend on; and those
    networks.

    Args:
        wants_ipv6: whether any path uses IPv6, for the checks that depend on it.
    """
    network_factors = network.factors()
    _check_forms(reader, factors, network, network_factors)
    topologies: dict[tuple[Scalar, ...], int] = {}
    concrete: list[Topology] = []
    combinations: list[Combination] = []
    for template, constants in zip(workloads, constant_levels(workloads), strict=True):
        event_factors = [key for event in events for key in event.factors()]
        keys = list(dict.fromkeys([*network_factors, *event_factors, *template.factors()]))
        _check_number(reader, factors, template, keys, len(combinations))
        _check_columns(reader, factors, template, keys, constants)
        over = over_paths(template, paths)
        families: frozenset[Family] = frozenset(path.family for path in paths if not over or path.name in over)
        for assignment in factors.assignments(keys):
            place = tuple(assignment[key] for key in network_factors)
            if place not in topologies:
                topologies[place] = len(concrete)
                concrete.append(network.concrete(assignment))
            params = template.params(assignment)
            check_workload(reader, template, params, families)
            check_events(reader, events, assignment, params, wants_ipv6)
            combinations.append(
                Combination(
                    name=f"c{len(combinations) + 1:04d}",
                    workload=Workload(kind=template.kind.name, params=params),
                    levels={factors.by_key[key].column: assignment[key] for key in keys} | constants,
                    topology=topologies[place],
                    events=() if reader.problems else changes(events, assignment),
                    paths=over,
                )
            )
    reader.finish()
    _check_distinct(reader, workloads, combinations)
    reader.finish()
    return tuple(_with_changes(concrete, combinations)), tuple(combinations)


def over_paths(template: WorkloadTemplate, paths: list[Path]) -> tuple[str, ...]:
    """The paths that a workload names, with the A/A path of one of them; empty: it goes over all."""
    repeated = [path.name for path in paths if path.aa_of is not None and path.aa_of in template.paths]
    return (*template.paths, *repeated)


def _with_changes(topologies: list[Topology], combinations: list[Combination]) -> Iterator[Topology]:
    """The networks, with every state that events give their links."""
    states: dict[tuple[int, str], dict[Directions, None]] = {}
    for combination in combinations:
        for event in combination.events:
            states.setdefault((combination.topology, event.link), {})[event.directions] = None
    for index, topology in enumerate(topologies):
        links = (replace(link, changes=tuple(states.get((index, link.name), ()))) for link in topology.links)
        yield replace(topology, links=tuple(links)) if states else topology


def _check_forms(reader: Reader, factors: Factors, network: TopologyTemplate, network_factors: list[Hashable]) -> None:
    forms = prod(len(factors.by_key[key].values) for key in network_factors)
    if forms * len(network.nodes) > MAX_NODES_IN_ALL:
        reader.problem(
            ("topology",),
            f"{forms} forms of a network of {len(network.nodes)} nodes are {forms * len(network.nodes)} nodes in all, "
            f"more than {MAX_NODES_IN_ALL}; sweep less of the network at once, or make it smaller",
        )
        reader.finish()


def _check_number(
    reader: Reader, factors: Factors, template: WorkloadTemplate, keys: list[Hashable], before: int
) -> None:
    total = prod(len(factors.by_key[key].values) for key in keys)
    if total + before > MAX_COMBINATIONS:
        reader.problem(
            template.path,
            f"{total + before} combinations of levels are more than {MAX_COMBINATIONS}; sweep less at once",
        )
        reader.finish()


def _check_columns(
    reader: Reader, factors: Factors, template: WorkloadTemplate, keys: list[Hashable], constants: dict[str, Scalar]
) -> None:
    columns = [factors.by_key[key].column for key in keys]
    for column in columns:
        if column in _TAKEN_COLUMNS:
            name = factors.name_of(column)
            words = f"${name} would be called {column} in the results, where that means something else"
            reader.problem(("factors", name), f"{words}; give it another name, such as swept-{name}")
        elif columns.count(column) > 1 and _owner(factors, keys, column) is not None:
            owner = _owner(factors, keys, column)
            reader.problem(
                ("topology", f"{owner}s"),
                f"{owner}s have different lists for {column}; declare them under factors and refer to them as $name",
            )
        elif columns.count(column) > 1 or column in constants:
            reader.problem(
                template.path, f"two factors would both be called {column} in the results; rename the one under factors"
            )


def _owner(factors: Factors, keys: list[Hashable], column: str) -> str | None:
    """The link or node in the topology to which a list of levels belongs."""
    of_column = [key[0] for key in keys if isinstance(key, tuple) and factors.by_key[key].column == column]
    kinds = [kind[0] for kind in of_column if isinstance(kind, tuple) and kind[0] in ("link", "node", "sysctl")]
    return None if len(kinds) < len(of_column) else "link" if "link" in kinds else "node"


def _check_distinct(reader: Reader, workloads: list[WorkloadTemplate], combinations: list[Combination]) -> None:
    for values in ("levels", "params"):
        seen: set[tuple[object, ...]] = set()
        for combination in combinations:
            kind = combination.workload.kind
            pairs = combination.levels if values == "levels" else combination.workload.params
            key = (kind, combination.topology, combination.events, tuple(sorted(pairs.items(), key=str)))
            if key in seen:
                last = [template for template in workloads if template.kind.name == kind][-1]
                reader.problem(last.path, f"two entries of {kind} measure the same; leave one out")
                return
            seen.add(key)
