"""An experiment file to an `Experiment`, with every default filled in and every problem found."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Literal

from ..model import units
from ..model.experiment import Blocks, Combination, Experiment, Statistics
from ..model.mechanism import MechanismKind
from ..model.path import Path
from ..model.topology import Family, Topology
from ..model.wording import shown
from ..model.workload import Scalar, Workload
from .factors import Assignment, Factors
from .paths_file import aa_path, read_paths
from .reader import Reader
from .topology_file import NAME, NAME_RULE, TopologyTemplate, read_topology
from .workload_file import WorkloadTemplate, check_workload, constant_levels, read_workloads
from .yaml_source import Source

DEFAULT_BLOCKS = Blocks(minimum=5, maximum=5)
DEFAULT_SEED = 1
MAX_BLOCKS = 10_000
MAX_COMBINATIONS = 20_000

_KEYS = (
    *(
        "experiment",
        "title",
        "description",
        "notes",
        "factors",
        "topology",
        "between",
        "paths",
        "baseline",
        "aa",
        "workloads",
    ),
    *("blocks", "statistics", "seed", "bottleneck", "quick"),
)


def read_experiment(source: Source, mechanisms: Mapping[str, MechanismKind]) -> Experiment:
    """Reads and checks an experiment. Raises `ExperimentError` with all that is wrong."""
    reader = Reader(source)
    data = reader.mapping((), source.data, "an experiment", _KEYS)
    for key in ("topology", "paths", "workloads"):
        if isinstance(source.data, dict) and key not in data:
            reader.problem((), f"{key} is missing")
    declared = reader.mapping(("factors",), data.get("factors") or {}, "factors")
    factors = Factors(reader, declared)
    paths = read_paths(reader, data.get("paths") or {}, mechanisms) if "paths" in data else []
    carried = {family for path in paths for family in mechanisms[path.mechanism].carriers}
    network = read_topology(reader, factors, data["topology"], 6 in carried) if "topology" in data else None
    workloads = read_workloads(reader, factors, data["workloads"]) if "workloads" in data else []
    baseline = _read_baseline(reader, data, paths)
    if reader.problems or network is None or baseline is None:
        reader.finish()
        raise AssertionError("an experiment without a baseline has problems")
    if _read_flag(reader, data, "aa"):
        paths.append(aa_path(next(path for path in paths if path.name == baseline), {path.name for path in paths}))
    between = _read_between(reader, data, network)
    for name in factors.unused():
        reader.problem(("factors", name), f"the factor ${name} is declared but nothing refers to it")
    reader.finish()
    topologies, combinations = _expand(reader, factors, network, workloads, paths)
    _check_paths(reader, network, topologies, paths, between, mechanisms)
    name = data.get("experiment", "experiment")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        reader.problem(("experiment",), f"{shown(name)} cannot name an experiment: {NAME_RULE}")
    blocks = _read_blocks(reader, data.get("blocks"))
    statistics = _read_statistics(reader, data.get("statistics"))
    seed = reader.count(("seed",), data.get("seed", DEFAULT_SEED), "seed", 0, 2**63 - 1)
    bottleneck = reader.one_of(("bottleneck",), data.get("bottleneck", "any"), "bottleneck", ("any", "path"))
    title = reader.word(("title",), data.get("title", name), "title")
    description = reader.word(("description",), data.get("description", name), "description")
    notes = [
        reader.word(("notes", i), note, "a note")
        for i, note in enumerate(reader.sequence(("notes",), data.get("notes", []), "notes"))
    ]
    reader.finish()
    limit: Literal["any", "path"] = "path" if bottleneck == "path" else "any"
    return Experiment(
        name=str(name),
        title=title or "",
        description=(description or "").strip() if "description" in data else "",
        file=source.file,
        text=source.text,
        topologies=topologies,
        between=between,
        paths=tuple(paths),
        baseline=baseline,
        combinations=combinations,
        blocks=blocks,
        statistics=statistics,
        seed=seed or 0,
        bottleneck=limit,
        notes=tuple(" ".join(note.split()) for note in notes if note),
    )


def read_topology_only(source: Source) -> Topology:
    """The network of an experiment, or of a file with nothing but a `topology` (or nothing but `nodes` and `links`).

    Factors take their first level. Raises `ExperimentError`.
    """
    reader = Reader(source)
    data = source.data if isinstance(source.data, dict) else reader.mapping((), source.data, "a topology")
    if "topology" not in data and "nodes" in data:
        lines = {("topology", *path): line for path, line in source.lines.items()}
        reader = Reader(replace(source, data={"topology": data}, lines=lines))
        data = {"topology": data}
    if "topology" not in data:
        reader.problem((), "topology is missing")
        reader.finish()
    factors = Factors(reader, reader.mapping(("factors",), data.get("factors") or {}, "factors"))
    network = read_topology(reader, factors, data["topology"], wants_ipv6=False)
    reader.finish()
    return network.concrete({key: factors.by_key[key].values[0] for key in network.factors()})


def _read_baseline(reader: Reader, data: dict[str, Any], paths: list[Path]) -> str | None:
    names = [path.name for path in paths]
    if not names:
        return None
    return reader.one_of(("baseline",), data.get("baseline", names[0]), "path", names)


def _read_flag(reader: Reader, data: dict[str, Any], key: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        reader.problem((key,), f"{key} is true or false, not {shown(value)}")
        return False
    return value


def _read_between(reader: Reader, data: dict[str, Any], network: TopologyTemplate) -> tuple[str, str]:
    hosts = [node.name for node in network.nodes.values() if node.kind == "host"]
    if "between" not in data:
        if len(hosts) == 2:
            return hosts[0], hosts[1]
        reader.problem((), f"between is missing: the two hosts that exchange traffic, of {', '.join(hosts) or 'none'}")
        reader.finish()
    ends = reader.sequence(("between",), data["between"], "between")
    if len(ends) != 2 or ends[0] == ends[1]:
        reader.problem(("between",), "between names two different hosts: the client, then the server")
        reader.finish()
    for position, end in enumerate(ends):
        if end not in network.nodes:
            reader.problem(("between", position), f"there is no node {shown(end)}; the hosts are {', '.join(hosts)}")
        elif network.nodes[end].kind != "host":
            reader.problem(
                ("between", position), f'"{end}" is a router; traffic goes between hosts: {", ".join(hosts)}'
            )
    reader.finish()
    return ends[0], ends[1]


def _expand(
    reader: Reader, factors: Factors, network: TopologyTemplate, workloads: list[WorkloadTemplate], paths: list[Path]
) -> tuple[tuple[Topology, ...], tuple[Combination, ...]]:
    families: frozenset[Family] = frozenset(path.family for path in paths)
    network_factors = network.factors()
    topologies: dict[tuple[Scalar, ...], int] = {}
    concrete: list[Topology] = []
    combinations: list[Combination] = []
    for template, constants in zip(workloads, constant_levels(workloads), strict=True):
        keys = list(dict.fromkeys([*network_factors, *template.factors()]))
        total = 1
        for key in keys:
            total *= len(factors.by_key[key].values)
        if total + len(combinations) > MAX_COMBINATIONS:
            reader.problem(
                template.path, f"{total} combinations of levels; an experiment has at most {MAX_COMBINATIONS}"
            )
            reader.finish()
        _check_columns(reader, factors, template, keys, constants)
        for assignment in factors.assignments(keys):
            place = tuple(assignment[key] for key in network_factors)
            if place not in topologies:
                topologies[place] = len(concrete)
                concrete.append(network.concrete(assignment))
            params = template.params(assignment)
            check_workload(reader, template, params, families)
            combinations.append(
                Combination(
                    name=f"c{len(combinations) + 1:04d}",
                    workload=Workload(kind=template.kind.name, params=params),
                    levels=_levels(factors, keys, assignment, constants),
                    topology=topologies[place],
                )
            )
    _check_distinct(reader, workloads, combinations)
    reader.finish()
    return tuple(concrete), tuple(combinations)


def _levels(
    factors: Factors, keys: list[Hashable], assignment: Assignment, constants: dict[str, Scalar]
) -> dict[str, Scalar]:
    return {factors.by_key[key].column: assignment[key] for key in keys} | constants


def _check_columns(
    reader: Reader, factors: Factors, template: WorkloadTemplate, keys: list[Hashable], constants: dict[str, Scalar]
) -> None:
    columns = [factors.by_key[key].column for key in keys]
    for column in columns:
        if columns.count(column) > 1 or column in constants:
            reader.problem(
                template.path, f"two factors would both be called {column} in the results; rename the one under factors"
            )


def _check_distinct(reader: Reader, workloads: list[WorkloadTemplate], combinations: list[Combination]) -> None:
    seen: dict[tuple[object, ...], str] = {}
    for combination in combinations:
        key = (combination.workload.kind, combination.topology, tuple(sorted(combination.levels.items(), key=str)))
        if key in seen:
            reader.problem(("workloads",), f"two entries of {combination.workload.kind} are the same; leave one out")
        seen[key] = combination.name


def _check_paths(
    reader: Reader,
    network: TopologyTemplate,
    topologies: tuple[Topology, ...],
    paths: list[Path],
    between: tuple[str, str],
    mechanisms: Mapping[str, MechanismKind],
) -> None:
    client, server = between
    route = topologies[0].route(client, server)
    if route is None:
        reader.problem(
            ("topology", "links"),
            f'no way leads from "{client}" to "{server}" through the routers: '
            "add the missing link (hosts do not forward)",
        )
        return
    for path in paths:
        for node in path.nodes:
            if node not in network.nodes:
                reader.problem(
                    ("paths", path.name), f'there is no node "{node}"; the nodes are {", ".join(network.nodes)}'
                )
                return
        for topology in topologies:
            wrong = mechanisms[path.mechanism].check(path, topology, between)
            if wrong is not None:
                reader.problem(("paths", path.name), wrong)
                break


def _read_blocks(reader: Reader, value: Any) -> Blocks:
    place = ("blocks",)
    if value is None:
        return DEFAULT_BLOCKS
    if not isinstance(value, dict):
        number = reader.count(place, value, "blocks", 1, MAX_BLOCKS)
        return Blocks(minimum=number or 1, maximum=number or 1)
    data = reader.mapping(place, value, "blocks", ("min", "max", "precision", "deviation"))
    minimum = reader.count((*place, "min"), data.get("min", DEFAULT_BLOCKS.minimum), "min", 1, MAX_BLOCKS) or 1
    maximum = (
        reader.count(
            (*place, "max"),
            data.get("max", max(minimum, 30) if data.keys() & {"precision", "deviation"} else minimum),
            "max",
            1,
            MAX_BLOCKS,
        )
        or 1
    )
    if maximum < minimum:
        reader.problem((*place, "max"), f"max ({maximum}) is under min ({minimum})")
    ratios: dict[str, float | None] = {}
    for key in ("precision", "deviation"):
        ratio = reader.parsed((*place, key), data[key], units.parse_ratio) if key in data else None
        if ratio is not None and not 0 < ratio < 1:
            reader.problem((*place, key), f"{key} must be over 0% and under 100%")
        ratios[key] = ratio
    return Blocks(minimum=minimum, maximum=maximum, precision=ratios["precision"], deviation=ratios["deviation"])


def _read_statistics(reader: Reader, value: Any) -> Statistics:
    place = ("statistics",)
    data = reader.mapping(place, {} if value is None else value, "statistics", ("confidence", "margin", "trim"))
    defaults = Statistics()
    confidence = (
        reader.parsed((*place, "confidence"), data["confidence"], units.parse_ratio)
        if "confidence" in data
        else defaults.confidence
    )
    margin = (
        reader.parsed((*place, "margin"), data["margin"], units.parse_ratio) if "margin" in data else defaults.margin
    )
    if confidence is not None and not 0.5 <= confidence < 1:
        reader.problem((*place, "confidence"), "confidence must be at least 50% and under 100%")
    if margin is not None and not 0 <= margin < 1:
        reader.problem((*place, "margin"), "margin must be at least 0% and under 100%")
    trim = reader.count((*place, "trim"), data.get("trim", defaults.trim), "trim", 0, 1000)
    return Statistics(
        confidence=confidence or defaults.confidence,
        margin=margin if margin is not None else defaults.margin,
        trim=trim or 0,
    )
