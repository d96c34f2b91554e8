"""`sixbench plan`: what would be run, without running it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..plan.loading import experiment_source, load_experiment
from . import completions
from .changes import changes_of
from .common import print_json, say_document, say_lines
from .options import HOSTS, SEED, SET

if TYPE_CHECKING:
    from ..bench.estimate import RunEstimate
    from ..model.experiment import Experiment
    from ..model.path import Path as ExperimentPath
    from ..model.topology import Link
    from ..plan.yaml_source import Source


def schema() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    from ..mechanisms import MECHANISMS
    from ..plan.schema import experiment_schema

    print_json(experiment_schema(MECHANISMS))


def plan(
    experiment: str = typer.Argument(
        help="An experiment file, or the name of a shipped one.", autocompletion=completions.experiments
    ),
    set_: list[str] = SET,
    quick: bool = typer.Option(False, "--quick", help="Plan what `run --quick` would run."),
    blocks: int | None = typer.Option(None, "--blocks", metavar="N", help="Plan exactly this many blocks."),
    seed: int | None = SEED,
    kernels: str | None = typer.Option(
        None,
        "--kernels",
        metavar="A,B",
        help="Plan what `run --kernels` would run on these kernels.",
        autocompletion=completions.kernel_list,
    ),
    commands: bool = typer.Option(
        False, "--commands", help="Print every command that would be run, with the rest as comments."
    ),
    hosts: Path | None = HOSTS,
    trials: bool = typer.Option(False, "--trials", help="List every trial in its order, not only their number."),
    json: bool = typer.Option(False, "--json", help="Print everything as JSON."),
) -> None:
    """Show what an experiment would do, and how long it would take."""
    from ..bench.estimate import estimate
    from .plan_script import script_of
    from .plan_summary import summary_of

    changes = changes_of(set_, quick=quick, blocks=blocks, seed=seed, hosts=hosts, kernels=kernels)
    loaded = load_experiment(experiment, changes)
    _check_settings(loaded, lambda: experiment_source(experiment, changes))
    estimated = estimate(loaded)
    if json:
        print_json(_as_json(loaded, estimated))
    elif commands:
        say_document(script_of(loaded, estimated, trials))
    else:
        words = shlex.join([experiment, *changes.options()])
        say_lines(summary_of(loaded, estimated, words, trials))


def _check_settings(experiment: Experiment, source: Callable[[], Source]) -> None:
    """Raises `ExperimentError` where this machine's kernel refuses a setting of a node: the values too where nodes can
    be made, else only the names. Other kernels are not asked."""
    from ..bench.refused_settings import check_setting_names, check_settings
    from ..model.errors import AgentError, CapabilityError
    from .running import agent_hub

    if experiment.kernels or not any(
        node.sysctl for topology in experiment.topologies for node in topology.nodes.values()
    ):
        return
    try:
        with agent_hub() as hub:
            check_settings(hub, experiment.topologies, source)
    except (AgentError, CapabilityError):
        check_setting_names(experiment.topologies, source)


def _as_json(experiment: Experiment, estimated: RunEstimate) -> dict[str, Any]:
    from ..bench.processors import placement_of
    from ..lab.render import render, script_text
    from ..plan.schedule import all_trials, trial_counts

    least, most = trial_counts(experiment)
    return {
        "schema": "sixbench.plan/1",
        "experiment": experiment.name,
        "between": list(experiment.between),
        "paths": [
            {
                "name": path.name,
                "mechanism": path.mechanism,
                "engine": path.engine,
                "nodes": list(path.nodes),
                "options": path.options,
                "networks": [_path_json(path, index, experiment) for index in range(len(experiment.topologies))],
            }
            for path in experiment.paths
        ],
        "baseline": experiment.baseline,
        "trials": {"min": least, "max": most},
        "repeats": experiment.repeats,
        "estimate": asdict(estimated)
        | {"at_least": estimated.open_ended > 0, "clock": "virtual" if experiment.kernels else "real"},
        "keep_awake": experiment.keep_awake,
        "combinations": [
            {
                "name": c.name,
                "workload": c.workload.kind,
                "params": c.workload.params,
                "levels": c.levels,
                "topology": c.topology,
                "placement": placement_of(experiment, c.workload),
            }
            | ({"paths": list(c.paths)} if c.paths else {})
            | ({"events": [asdict(event) for event in c.events]} if c.events else {})
            for c in experiment.combinations
        ],
        "order": [
            {"key": trial.key, "block": trial.block, "combination": trial.combination, "path": trial.path}
            for trial in all_trials(experiment)
        ],
        "topologies": [
            {
                "addresses": [
                    {
                        "link": link.name,
                        "node": end.node,
                        "interface": end.name,
                        "ipv4": _text(end.ipv4),
                        "ipv6": _text(end.ipv6),
                    }
                    for link in topology.links
                    for end in link.ends
                ],
                "links": [_link_json(link) for link in topology.links],
                "commands": {name: script_text(script).splitlines() for name, script in render(topology).items()},
            }
            for topology in experiment.topologies
        ],
    }


def _path_json(path: ExperimentPath, index: int, experiment: Experiment) -> dict[str, Any]:
    from ..mechanisms import install

    network = install(path, experiment.topologies[index], experiment.between)
    return {
        "client": str(network.legs[0].source),
        "server": str(network.legs[0].destination),
        "client_seen": str(network.legs[-1].source),
        "links": [
            {"link": crossing.link.name, "near": crossing.near, "far": crossing.far, "headers": list(crossing.headers)}
            for crossing in network.crossings
        ],
        "tunnels": [
            {"node": tunnel.node, "device": tunnel.device, "mtu_bytes": tunnel.mtu_bytes, "local": str(tunnel.local)}
            for tunnel in network.tunnels
        ],
    }


def _link_json(link: Link) -> dict[str, Any]:
    forward, reverse = map(asdict, link.directions)
    return {"name": link.name, "profile": link.profile, "mtu_bytes": link.mtu_bytes, "forward": forward} | {
        "reverse": reverse
    }


def _text(address: object) -> str | None:
    return None if address is None else str(address)
