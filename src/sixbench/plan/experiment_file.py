"""Makes an `Experiment` of an experiment file, with every default filled in and every problem found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..mechanisms import MECHANISMS, Mechanism, MechanismError
from ..model.errors import ExperimentError
from ..model.experiment import Experiment
from ..model.path import Path
from ..model.quoting import listed, shown
from ..model.topology import Topology
from .blocks_file import DEFAULT_REPEATS, read_blocks, read_statistics
from .combinations import expand
from .dut_file import write_dut
from .events_file import read_events
from .experiment_header import (
    check_factors_are_used,
    check_number_of_trials,
    check_until,
    read_baseline,
    read_header,
    with_aa_path,
)
from .experiment_keys import BETWEEN, EXPERIMENT, REQUIRED
from .factors import Factors
from .fitting import check_workloads, with_needed
from .guests_check import check_guests
from .har_file import check_pages, read_pages
from .hosts_file import check_machines, read_hosts
from .kernels_file import on_kernels, read_kernels
from .key_reader import read_keys, read_pair, read_plain
from .moving_check import check_moving
from .overrides import QUICK, QUICK_VIRTUAL, apply_quick
from .path_levels import write_levels
from .paths_file import node_place, read_paths
from .pooled_factor import with_pooled_column
from .profile_file import Profiles
from .reader import Reader, suggest
from .server_experiment import read_server_experiment
from .servers_file import SERVERS, check_keys_without
from .topology_file import TopologyTemplate, read_topology, with_topology
from .trace_file import read_traces
from .workload_file import read_workloads
from .yaml_source import KeyPath, Source

_NOT_WITH_EQUIPMENT = {
    "events": "the lines of equipment do not change by events",
    "kernels": "equipment stands at interfaces of this machine, which an emulated machine does not have",
}


def read_experiment(source: Source, mechanisms: Mapping[str, Mechanism]) -> Experiment:
    """Reads and checks an experiment. Raises `ExperimentError` with all that is wrong."""
    reader = Reader(source)
    data = read_keys(reader, (), source.data, EXPERIMENT)
    if not isinstance(source.data, dict):
        reader.finish()
    if SERVERS in data:
        experiment = read_server_experiment(reader, data)
        _check_quick(reader, source, mechanisms)
        reader.finish()
        return experiment
    check_keys_without(reader, data)
    equipment = None
    if "dut" in data:
        data, equipment = write_dut(reader, data, mechanisms)
        reader.finish()
    _note_missing(reader, data)
    read = read_plain(reader, (), data, EXPERIMENT)
    header = read_header(reader, data, read)
    blocks, statistics = read_blocks(reader, data), read_statistics(reader, data)
    factors, profiles = Factors(reader, data), Profiles(reader, data)
    items, standing_for = write_levels(reader, factors, data.get("paths"), mechanisms)
    paths = read_paths(reader, items, mechanisms) if "paths" in data else []
    carried = {family for path in paths for family in mechanisms[path.mechanism].carriers}
    network = TopologyTemplate(nodes={}, links=())
    if "topology" in data:
        hosts = read_hosts(reader, data["hosts"]) if "hosts" in data else {}
        template = read_topology(reader, factors, profiles, data["topology"], 6 in carried, hosts)
        network = replace(template, equipment=equipment)
    workloads = read_workloads(reader, factors, data["workloads"], standing_for) if "workloads" in data else []
    events = read_events(reader, factors, profiles, data["events"], network) if "events" in data else []
    kernels = read_kernels(reader, data)
    if equipment is not None:
        for key in (key for key in ("events", "kernels") if data.get(key)):
            reader.problem((key,), f"{_NOT_WITH_EQUIPMENT[key]}; leave {key} out")
    baseline = read_baseline(reader, data, paths, standing_for)
    check_until(reader, blocks, paths)
    reader.finish()
    between = _read_between(reader, data, network)
    _check_nodes(reader, network, paths)
    check_factors_are_used(reader, factors)
    reader.finish()
    paths = with_aa_path(paths, baseline, is_wanted=read.get("aa", False))
    topologies, combinations = expand(reader, factors, network, workloads, paths, events, 6 in carried)
    combinations = on_kernels(combinations, kernels)
    statistics = with_pooled_column(reader, statistics, factors, combinations)
    topologies = with_needed(reader, topologies, combinations, between)
    check_machines(reader, topologies, kernels)
    traces, pages = read_traces(reader, factors, workloads), read_pages(reader, factors, workloads)
    _check_paths(reader, topologies, paths, between, mechanisms)
    if not reader.problems:
        check_workloads(reader, combinations, topologies, paths, between, mechanisms)
        check_guests(reader, combinations, topologies, paths, between, mechanisms)
        check_moving(reader, combinations, topologies, paths, between, mechanisms)
        check_pages(reader, combinations, pages)
    check_number_of_trials(reader, combinations, paths, blocks)
    _check_quick(reader, source, mechanisms)
    reader.finish()
    return Experiment(
        **header,
        file=source.file,
        text=source.text,
        topologies=topologies,
        between=between,
        paths=tuple(paths),
        baseline=baseline,
        combinations=combinations,
        blocks=blocks,
        statistics=statistics,
        repeats=read.get("repeats", DEFAULT_REPEATS),
        traces=traces,
        pages=pages,
        kernels=kernels,
    )


def _note_missing(reader: Reader, data: Mapping[str, Any]) -> None:
    missing = [key for key in REQUIRED if key not in data]
    if missing:
        words = f"the key {missing[0]} is" if len(missing) == 1 else f"the keys {listed(missing)} are"
        reader.problem((), f"{words} missing; an experiment needs {listed(REQUIRED)}")


def read_topology_only(source: Source) -> Topology:
    """The network of an experiment, or of a file with only a `topology` or only its content. Factors take their first
    level. Raises `ExperimentError`.
    """
    source = with_topology(source)
    reader = Reader(source)
    data = reader.mapping((), source.data, "a topology")
    equipment = None
    if "dut" in data:
        data, equipment = write_dut(reader, data, MECHANISMS)
    reader.finish()
    if "topology" not in data:
        reader.problem((), "the topology is missing: give nodes and links, or a shape such as chain: 5")
        reader.finish()
    factors = Factors(reader, data)
    hosts = read_hosts(reader, data["hosts"]) if "hosts" in data else {}
    network = read_topology(reader, factors, Profiles(reader, data), data["topology"], wants_ipv6=False, hosts=hosts)
    reader.finish()
    network = replace(network, equipment=equipment)
    return network.concrete({key: factors.by_key[key].values[0] for key in network.factors()})


def _read_between(reader: Reader, data: dict[str, Any], network: TopologyTemplate) -> tuple[str, str]:
    hosts = [node.name for node in network.nodes.values() if node.kind == "host"]
    if "between" not in data:
        if network.between is not None:
            return network.between
        if len(hosts) != 2:
            reader.problem((), f"between is missing; give the two hosts that exchange traffic, out of {listed(hosts)}")
            reader.finish()
        return hosts[0], hosts[1]
    ends = read_pair(reader, ("between",), data["between"], BETWEEN)
    reader.finish()
    assert ends is not None, "what is wrong has been noted"
    for position, end in enumerate(ends):
        if not isinstance(end, str) or end not in network.nodes:
            words = suggest(end if isinstance(end, str) else "", hosts)
            reader.problem(("between", position), f"there is no host {shown(end)}; {words}")
        elif network.nodes[end].kind != "host":
            reader.problem(("between", position), f'"{end}" is a router; traffic goes between hosts: {listed(hosts)}')
    reader.finish()
    if ends[0] == ends[1]:
        reader.problem(("between",), f'between names "{ends[0]}" twice; name two different hosts')
        reader.finish()
    return ends[0], ends[1]


def _check_nodes(reader: Reader, network: TopologyTemplate, paths: list[Path]) -> None:
    for path in paths:
        for position, node in enumerate(path.nodes):
            if node not in network.nodes:
                words = f"there is no node {shown(node)}; {suggest(node, network.nodes)}"
                reader.problem(node_place(reader, path, position), words)


def _check_paths(
    reader: Reader,
    topologies: tuple[Topology, ...],
    paths: list[Path],
    between: tuple[str, str],
    mechanisms: Mapping[str, Mechanism],
) -> None:
    client, server = between
    if topologies[0].route(client, server) is None:
        reader.problem(
            ("topology", "links"),
            f'no route leads from "{client}" to "{server}" through the routers: '
            "add the missing link (hosts do not forward)",
        )
        reader.finish()
    for path in paths:
        for topology in topologies:
            try:
                mechanisms[path.mechanism].install(path, topology, between)
            except MechanismError as error:
                reader.problem(_place_of(reader, path, error.option), str(error))
                break


def _place_of(reader: Reader, path: Path, option: str | None) -> KeyPath:
    """The key of the path, or of its option if that is what is wrong."""
    place: KeyPath = ("paths", path.aa_of or path.name)
    options = [] if option is None else [(*place, path.mechanism, option), (*place, option)]
    within: list[KeyPath] = [*options, (*place, path.mechanism)]
    return next((entry for entry in within if reader.is_in_file(entry)), place)


def _check_quick(reader: Reader, source: Source, mechanisms: Mapping[str, Mechanism]) -> None:
    """Checks what `quick` and `quick-virtual` make of the experiment, so that mistakes show before `--quick` is
    used."""
    clocks = [is_virtual for part, is_virtual in ((QUICK, False), (QUICK_VIRTUAL, True)) if part in source.data]
    if not clocks:
        return
    reader.finish()
    for is_virtual in clocks:
        try:
            read_experiment(apply_quick(source, is_virtual=is_virtual), mechanisms)
        except ExperimentError as error:
            reader.problems.extend(problem for problem in error.problems if problem not in reader.problems)
