"""The output of `sixbench plan --commands`: the network as the commands that build it, the rest as comments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .plan_text import blocks_words, ends_words, link_descriptions, path_words, repeats_words, time_words, trials_words

if TYPE_CHECKING:
    from ..bench.estimate import RunEstimate
    from ..model.experiment import Combination, Experiment
    from ..model.path import Path
    from ..model.topology import Topology


def script_of(experiment: Experiment, estimated: RunEstimate, list_trials: bool) -> str:
    """Everything about an experiment, with every command that would be run."""
    from ..model.server import SERVER_COLUMN
    from ..model.workloads import WORKLOADS
    from ..plan.schedule import all_trials
    from ..plan.workload_file import describe_params

    lines = [
        f"# {experiment.name}: {trials_words(experiment)}: {blocks_words(experiment)}",
        f"# {time_words(experiment, estimated)}, by an estimate; {repeats_words(experiment)}",
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
            + (f" to {c.levels[SERVER_COLUMN]}" if experiment.servers else "")
            + (f" from {vantage.name}" if (vantage := experiment.vantage_of(c)) is not None else "")
            + "".join(f"; {text}" for text in _events(experiment, c))
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


def _events(experiment: Experiment, combination: Combination) -> Sequence[str]:
    from ..report.link_descriptions import event_words

    return event_words(experiment.topologies[combination.topology], combination.events) if combination.events else ()


def path_lines(path: Path, topology: Topology, between: tuple[str, str]) -> list[str]:
    """Differences of a path's network from the plain one: its ends, its headers by link, and the commands that install
    it. Nothing where it does not differ."""
    from ..lab.render import render, render_path, script_text
    from ..mechanisms import engine_of, install
    from ..model.network import Blueprint

    network = install(path, topology, between)
    lines = ["", f"# path {path.name}: {path_words(path)}: {ends_words(network.legs)}"]
    if network.blueprint == Blueprint(topology=topology):
        return lines
    for crossing in network.crossings:
        headers = " in ".join(reversed(crossing.headers))
        lines.append(f"#   {crossing.link.name} (from {crossing.near} to {crossing.far}): {headers}")
    engine = engine_of(path)
    automatic = "" if path.engine else " (the first that works is taken)"
    plain = {name: set(script_text(script).splitlines()) for name, script in render(topology).items()}
    for name, script in render_path(network, engine).items():
        lines_of_path = [line for line in script_text(script).splitlines() if line not in plain[name]]
        if lines_of_path:
            lines += [f"# in {name}, where it differs from the plain network, by the engine {engine}{automatic}"]
            lines += lines_of_path
    return lines


def _role(topology: Topology, node: str) -> str:
    from ..lab.machines import is_machine

    result = topology.nodes.get(node)
    if result is None:
        return "the machine itself" if is_machine(node) else "carries emulated links"
    return result.kind if result.on is None else f"{result.kind} on {result.on}"


def topology_lines(topology: Topology) -> list[str]:
    """Addresses, links and commands of a network."""
    from ..lab.render import render, script_text

    lines = ["# addresses"]
    for link in topology.links:
        for end in link.ends:
            addresses = " ".join(str(address) for address in (end.ipv4, end.ipv6) if address is not None)
            lines.append(f"#   {link.name}: {end.node} {end.name}: {addresses}")
    for name, node in topology.nodes.items():
        if node.equipment is not None:
            lines.append(f"# {name} is equipment, which has to have these addresses: {node.equipment}")
    lines += ["", "# links", *(f"#   {link.name}: {link_descriptions(link)}" for link in topology.links)]
    for name, script in render(topology).items():
        lines += [
            "",
            f"# in {name} ({_role(topology, name)}); {{pid:NODE}} is the process that holds NODE's namespace",
        ]
        lines += script_text(script).splitlines()
    return lines
