"""Makes an `Experiment` of a file with servers, whose network is not described."""

from __future__ import annotations

from typing import Any

from ..mechanisms import INTERNET
from ..model.experiment import Experiment
from .blocks_file import DEFAULT_REPEATS, read_blocks, read_statistics
from .experiment_header import (
    check_factors_are_used,
    check_number_of_trials,
    check_until,
    read_baseline,
    read_header,
    with_aa_path,
)
from .experiment_keys import EXPERIMENT
from .factors import Factors
from .key_reader import read_plain
from .measure_experiment import LOCAL
from .path_levels import write_levels
from .paths_file import read_paths
from .pooled_factor import with_pooled_column
from .reader import Reader
from .server_combinations import ServerEnds, expand_to_servers, with_servers_pooled
from .servers_file import DEFAULT_PATHS, SERVERS, check_keys_beside, check_server_paths, read_servers, read_vantages
from .workload_file import read_workloads


def read_server_experiment(reader: Reader, data: dict[str, Any]) -> Experiment:
    """Reads and checks the keys of an experiment with servers. Raises `ExperimentError` with all that is wrong."""
    check_keys_beside(reader, data)
    if "workloads" not in data:
        reader.problem((), "the key workloads is missing; an experiment with servers needs it")
    data = {"paths": dict(DEFAULT_PATHS)} | data
    read = read_plain(reader, (), data, EXPERIMENT)
    header = read_header(reader, data, read)
    blocks, statistics = read_blocks(reader, data), read_statistics(reader, data)
    factors = Factors(reader, data)
    servers = read_servers(reader, data[SERVERS])
    hides_addresses = read.get("hide-addresses", False)
    vantages = read_vantages(reader, data["hosts"], hides_addresses=hides_addresses) if "hosts" in data else ()
    items, standing_for = write_levels(reader, factors, data["paths"], INTERNET)
    paths = read_paths(reader, items, INTERNET)
    check_server_paths(reader, paths)
    workloads = read_workloads(reader, factors, data["workloads"], standing_for) if "workloads" in data else []
    baseline = read_baseline(reader, data, paths, standing_for)
    check_until(reader, blocks, paths)
    reader.finish()
    check_factors_are_used(reader, factors)
    paths = with_aa_path(paths, baseline, is_wanted=read.get("aa", False))
    combinations = expand_to_servers(reader, factors, ServerEnds(servers=servers, vantages=vantages), workloads, paths)
    reader.finish()
    statistics = with_servers_pooled(statistics, combinations)
    check_number_of_trials(reader, combinations, paths, blocks)
    experiment = Experiment(
        **header,
        file=reader.source.file,
        text=reader.source.text,
        topologies=(),
        between=(LOCAL, SERVERS),
        paths=tuple(paths),
        baseline=baseline,
        combinations=combinations,
        blocks=blocks,
        statistics=with_pooled_column(reader, statistics, factors, combinations),
        repeats=read.get("repeats", DEFAULT_REPEATS),
        servers=servers,
        resolver=read.get("resolver"),
        hides_addresses=hides_addresses,
        vantages=vantages,
    )
    reader.finish()
    return experiment
