"""`sixbench plan`: what would be run, without running it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from .common import load_experiment, print_json

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..model.path import Path
    from ..model.topology import Link, Topology


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("plan")(plan)
    app.command("schema")(schema)


def schema() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    from ..mechanisms import MECHANISMS
    from ..plan.schema import experiment_schema

    print_json(experiment_schema(MECHANISMS))


def plan(
    experiment: str = typer.Argument(help="An experiment file, or the name of a shipped one."),
    set_: list[str] = typer.Option(
        [], "--set", metavar="A.B=C", help="Change a value of the experiment; may be repeated."
    ),
    quick: bool = typer.Option(False, "--quick", help="As `run --quick` would run it."),
    blocks: int | None = typer.Option(None, "--blocks", metavar="N", help="Exactly so many blocks."),
    seed: int | None = typer.Option(None, "--seed", metavar="N", help="Seed of the random order."),
    trials: bool = typer.Option(False, "--trials", help="List every trial in its order, not only their number."),
    json: bool = typer.Option(False, "--json", help="Print everything as JSON."),
) -> None:
    """Print the trials, the addresses, and every command that would be run."""
    loaded = load_experiment(experiment, set_, quick, blocks, seed)
    if json:
        print_json(_as_json(loaded))
    else:
        typer.echo(_as_text(loaded, trials), nl=False)


def _as_json(experiment: Experiment) -> dict[str, Any]:
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
        "combinations": [
            {
                "name": c.name,
                "workload": c.workload.kind,
                "params": c.workload.params,
                "levels": c.levels,
                "topology": c.topology,
            }
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


def _as_text(experiment: Experiment, list_trials: bool) -> str:
    from ..model.workloads import WORKLOADS
    from ..plan.schedule import all_trials, trial_counts
    from ..plan.workload_file import describe_params
    from ..report.link_words import event_words

    least, most = trial_counts(experiment)
    trials = f"{least} trials" if least == most else f"{least} to {most} trials"
    blocks = experiment.blocks
    lines = [
        f"# {experiment.name}: {trials}: {len(experiment.combinations)} combinations x {len(experiment.paths)} paths x "
        + (
            f"{blocks.minimum} blocks"
            if blocks.minimum == blocks.maximum
            else f"{blocks.minimum} to {blocks.maximum} blocks"
        ),
        f"# between {' and '.join(experiment.between)}; baseline {experiment.baseline}; seed {experiment.seed}",
        "",
        "# paths",
        *(
            f"#   {path.name}: {path_words(path)}" + (f" (A/A: {path.aa_of} once more)" if path.aa_of else "")
            for path in experiment.paths
        ),
        "",
        "# combinations",
        *(
            f"#   {c.name}: {c.workload.kind}: {describe_params(WORKLOADS[c.workload.kind], c.workload.params)}"
            + (f" (network {c.topology + 1})" if len(experiment.topologies) > 1 else "")
            + "".join(f"; {text}" for text in event_words(experiment.topologies[c.topology], c.events))
            for c in experiment.combinations
        ),
    ]
    if list_trials:
        lines += ["", "# trials, in order (a combination that is precise enough leaves early)"]
        lines += [f"#   {trial.key}" for trial in all_trials(experiment)]
    for index, topology in enumerate(experiment.topologies):
        lines += ["", f"# network {index + 1} of {len(experiment.topologies)}", *topology_lines(topology)]
        for path in experiment.paths:
            if path.aa_of is None:
                lines += path_lines(path, topology, experiment.between)
    return "\n".join(lines) + "\n"


def path_words(path: Path) -> str:
    """Its mechanism, as an experiment would write it."""
    from ..mechanisms import MECHANISMS

    parts = [f"on {', '.join(path.nodes)}"] if path.nodes else []
    for name, value in path.options.items():
        option = MECHANISMS[path.mechanism].option(name)
        parts.append(f"{name}: {option.format(value) if option else value}")
    if path.engine is not None:
        parts.append(f"engine: {path.engine}")
    return " ".join([path.mechanism, ", ".join(parts)]).strip()


def path_lines(path: Path, topology: Topology, between: tuple[str, str]) -> list[str]:
    """How a path's network differs from the plain one: its ends, its headers by link, and what is done to install it.
    Nothing where it does not differ."""
    from ..lab.render import render, render_path, script_text
    from ..mechanisms import engine_of, install

    network = install(path, topology, between)
    ends = network.ends
    seen = "" if ends.client_seen == ends.client else f", which sees {ends.client_seen}"
    lines = ["", f"# path {path.name}: {path_words(path)}: {ends.client} to {ends.server}{seen}"]
    if not network.tunnels:
        return lines
    for segment in network.segments(*between):
        headers = " in ".join(reversed(segment.headers))
        lines.append(f"#   {segment.link.name} (from {segment.near} to {segment.far}): {headers}")
    engine = engine_of(path)
    automatic = "" if path.engine else " (the first that works is taken)"
    plain = {name: set(script_text(script).splitlines()) for name, script in render(topology).items()}
    for name, script in render_path(network, engine).items():
        own = [line for line in script_text(script).splitlines() if line not in plain[name]]
        if own:
            lines += [f"# in {name}, where it differs from the plain network, by the engine {engine}{automatic}"]
            lines += own
    return lines


def _path_json(path: Path, index: int, experiment: Experiment) -> dict[str, Any]:
    from ..mechanisms import install

    network = install(path, experiment.topologies[index], experiment.between)
    return {
        "client": str(network.ends.client),
        "server": str(network.ends.server),
        "client_seen": str(network.ends.client_seen),
        "links": [
            {"link": segment.link.name, "near": segment.near, "far": segment.far, "headers": list(segment.headers)}
            for segment in network.segments(*experiment.between)
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


def _link_line(link: Link) -> str:
    """Such as `#   access: profile dsl, MTU 1492; from h1: 8 Mbit/s, delay 10 ms; from r1: 33 Mbit/s, delay 10 ms`."""
    from ..report.link_words import direction_words

    parts = [f"profile {link.profile}, MTU {link.mtu_bytes}" if link.profile else f"MTU {link.mtu_bytes}"]
    told = [direction_words(direction) for direction in link.directions]
    if told[0] == told[1]:
        parts += [f"each way: {told[0]}"] if told[0] else []
    else:
        parts += [
            f"from {end.node}: {one or 'as fast as the machine'}" for end, one in zip(link.ends, told, strict=True)
        ]
    return f"#   {link.name}: {'; '.join(parts)}"


def _text(address: object) -> str | None:
    return None if address is None else str(address)


def _role(topology: Topology, node: str) -> str:
    found = topology.nodes.get(node)
    return "carries emulated links" if found is None else found.kind


def topology_lines(topology: Topology) -> list[str]:
    """Addresses, links and commands of a network."""
    from ..lab.render import render, script_text

    lines = ["# addresses"]
    for link in topology.links:
        for end in link.ends:
            addresses = " ".join(str(address) for address in (end.ipv4, end.ipv6) if address is not None)
            lines.append(f"#   {link.name}: {end.node} {end.name}: {addresses}")
    lines += ["", "# links", *map(_link_line, topology.links)]
    for name, script in render(topology).items():
        lines += [
            "",
            f"# in {name} ({_role(topology, name)}); {{pid:NODE}} is the process that holds NODE's namespace",
        ]
        lines += script_text(script).splitlines()
    return lines
