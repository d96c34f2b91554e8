"""The output of `sixbench plan`: numbers and times, then the network, the paths, the addresses, the workloads."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..model.units import format_duration
from .plan_text import (
    blocks_words,
    counted,
    duration_words,
    ends_words,
    link_descriptions,
    path_words,
    repeats_words,
    time_words,
    trials_words,
)

if TYPE_CHECKING:
    from ..bench.estimate import RunEstimate
    from ..model.experiment import Combination, Experiment
    from ..model.network import Network
    from ..model.path import Path
    from ..model.server import Server
    from ..model.topology import Interface, Topology

WIDTH = 80

PLACEMENT_WORDS = {
    "together": "all nodes of a path run on one processor",
    "apart": "the server runs on a processor of its own",
    "free": "the kernel's scheduler places the nodes",
}

PLACEMENT_WORDS_OF_HOSTS = {
    "together": "all nodes of a path that are on one machine run on one of its processors",
    "apart": "the server runs on a processor of its own",
    "free": "the scheduler of each machine places its nodes",
}

AWAKE_WORDS = {
    True: "a thread of the idle class keeps every processor from sleeping",
    False: "processors may sleep",
    None: "a thread of the idle class keeps every processor from sleeping, if its machine is virtual",
}


def summary_of(experiment: Experiment, estimated: RunEstimate, name: str, list_trials: bool) -> str:
    """A plan for people. The first line says how many trials there are and how long they take.

    Args:
        name: how the command line named the experiment.
    """
    from ..plan.schedule import all_trials

    title = f"{experiment.name}: {experiment.title}" if experiment.title != experiment.name else experiment.name
    lines = [
        f"{trials_words(experiment)}, {time_words(experiment, estimated)}",
        "",
        *textwrap.wrap(title, WIDTH),
        *_indented(
            f"{blocks_words(experiment)}; baseline {experiment.baseline}, seed {experiment.seed}"
            + (f"; on {', '.join(experiment.kernels)}" if experiment.kernels else "")
        ),
        *_indented(f"{time_reason(experiment, estimated)}"),
        "",
        *_section(_network_heading(experiment), _network_rows(experiment)),
        *_section("Paths", [(path.name, _path_words(experiment, path)) for path in experiment.paths]),
        *_notes_on_paths(experiment),
        *_section_of_machines(experiment),
        *_section_of_programs(experiment),
        *(_section("Addresses", _address_rows(experiment)) if experiment.topologies else []),
        *_section("Workloads", _workload_rows(experiment)),
        *(_section("Processors", _processor_rows(experiment)) if experiment.topologies else []),
    ]
    if list_trials:
        lines += ["Trials, in order (a combination that is precise enough leaves early)"]
        lines += [f"  {trial.key}" for trial in all_trials(experiment)]
        lines += [""]
    if experiment.topologies:
        lines += [f"Every command that would be run: sixbench plan {name} --commands"]
    else:
        lines += ["Nothing is built, and no privilege is needed: sixbench run " + name]
    return "\n".join(lines) + "\n"


def time_reason(experiment: Experiment, estimated: RunEstimate) -> str:
    """The parts of the estimate, and its omissions."""
    parts = [
        f"{duration_words(estimated.traffic_ns)} of traffic",
        f"{duration_words(estimated.between_ns)} between trials",
        f"{duration_words(estimated.before_ns)} before the first one",
    ]
    least = " for the fewest blocks" if experiment.blocks.minimum != experiment.blocks.maximum else ""
    text = f"The time is an estimate: {', '.join(parts)}{least}."
    text += _early_end(experiment, estimated)
    if experiment.repeats:
        text += f" Repeats come on top: {repeats_words(experiment)}."
    if estimated.open_ended:
        of = f"{estimated.open_ended} of {counted(len(experiment.combinations), 'combination')}"
        verb = "ends" if estimated.open_ended == 1 else "end"
        text += f" {of} {verb} after a number of bytes or transactions and may last longer than the links require."
    if experiment.kernels:
        text += " Each busy second of an emulated machine's clock takes several seconds of a processor."
    return text


def _early_end(experiment: Experiment, estimated: RunEstimate) -> str:
    """The end of a combination's blocks where answers or the time decide it."""
    blocks = experiment.blocks
    text = ""
    if blocks.until is not None:
        text += (
            f" After {blocks.minimum} blocks a combination goes on only while an answer is undecided, so that the time "
            "goes where it is needed."
        )
    if blocks.time_ns is not None:
        asked = format_duration(blocks.time_ns)
        text += (
            f" No block begins that would end after {asked}."
            if estimated.least_ns <= blocks.time_ns
            else f" The fewest blocks take longer than {asked}, and are run all the same."
        )
    return text


def _section(heading: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    """A heading, and rows of a name and what is said of it, wrapped beside the name."""
    cells = list(rows)
    width = max((len(name) for name, _ in cells), default=0)
    lines = [heading]
    for name, text in cells:
        first = f"  {name.ljust(width)}  "
        lines += textwrap.wrap(
            text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
        ) or [first.rstrip()]
    return [*lines, ""]


def _notes_on_paths(experiment: Experiment) -> list[str]:
    """Properties of the paths that a reader may not expect."""
    from ..analysis.fixed_mtu import fixed_mtu_remarks

    lines = [line for remark in fixed_mtu_remarks(experiment) for line in _indented(remark)]
    return [*lines, ""] if lines else []


def _section_of_machines(experiment: Experiment) -> list[str]:
    """The machines that nodes are on, with these nodes and the interfaces that they borrow."""
    if not experiment.topologies:
        return []
    topology = experiment.topologies[0]
    rows = []
    for host in topology.hosts.values():
        nodes = [name for name, node in topology.nodes.items() if node.on == host.name]
        names = [f"{name} ({', '.join(ends)})" if (ends := _borrowed(topology, name)) else name for name in nodes]
        if names:
            rows.append((host.name, f"{host.ssh or 'this machine'}: {', '.join(names)}"))
    return _section("Machines, with their nodes and the interfaces that these borrow", rows) if rows else []


def _borrowed(topology: Topology, node: str) -> list[str]:
    """The interfaces that a node borrows, each with the VLAN that it carries."""
    vlans = {link.end_of(node).name: link.vlan_id for link in topology.links_of(node) if link.vlan_id is not None}
    return [f"{name} in VLAN {vlans[name]}" if name in vlans else name for name in topology.borrowed(node)]


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _processor_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Placement of nodes in the trials of each workload, and whether processors are kept awake."""
    from ..bench.processors import placement_of

    results: dict[str, dict[str, None]] = {}
    for combination in experiment.combinations:
        results.setdefault(placement_of(experiment, combination.workload), {})[combination.workload.kind] = None
    is_spread = any(topology.is_spread for topology in experiment.topologies)
    words = PLACEMENT_WORDS_OF_HOSTS if is_spread else PLACEMENT_WORDS
    rows = [(policy, f"{words[policy]}: {', '.join(kinds)}") for policy, kinds in results.items()]
    return [*rows, ("awake", AWAKE_WORDS[experiment.keep_awake])]


def _network_heading(experiment: Experiment) -> str:
    number = len(experiment.topologies)
    if not number:
        return "Servers"
    forms = f", in {number} forms" if number > 1 else ""
    return f"Network, from {experiment.between[0]} to {experiment.between[1]}{forms}"


def _network_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """The nodes by what they are, and each link with what it is set to in each form of the network."""
    if not experiment.topologies:
        return [
            *((server.label, _server_words(server)) for server in experiment.servers),
            *((host.name, f"vantage: {host.ssh or 'this machine'}") for host in experiment.vantages),
        ]
    first = experiment.topologies[0]
    kinds: dict[str, list[str]] = {}
    for node in first.nodes.values():
        if node.equipment is None:
            kinds.setdefault(node.kind, []).append(node.name)
    rows = [(f"{kind}s" if len(names) > 1 else kind, ", ".join(names)) for kind, names in kinds.items()]
    rows += [("equipment", f"{node.name}: {node.equipment}") for node in first.nodes.values() if node.equipment]
    all_told: dict[str, dict[str, list[int]]] = {link.name: {} for link in first.links}
    for number, topology in enumerate(experiment.topologies, start=1):
        for link in topology.links:
            all_told[link.name].setdefault(link_descriptions(link), []).append(number)
    for name, answers in all_told.items():
        if len(answers) == 1:
            rows.append((name, next(iter(answers))))
        else:
            rows.extend(
                (name if at == 0 else "", f"{text} ({_forms(numbers)})")
                for at, (text, numbers) in enumerate(answers.items())
            )
    return rows


def _server_words(server: Server) -> str:
    """Such as `port 443; one connection a second at most`."""
    pace = "yours" if server.mine else "one connection a second at most, unless its address is private"
    return f"port {server.port}; {pace}" + (f"; {', '.join(server.workloads)} only" if server.workloads else "")


def _forms(numbers: Sequence[int]) -> str:
    """Such as `form 2`, `forms 1 to 4`, `forms 1, 3`."""
    if len(numbers) == 1:
        return f"form {numbers[0]}"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"forms {numbers[0]} to {numbers[-1]}"
    return f"forms {', '.join(map(str, numbers))}"


def _path_words(experiment: Experiment, path: Path) -> str:
    """Its mechanism, its ends, and where its packets have more than one header of the network layer."""
    from ..mechanisms import INTERNET, install

    if path.aa_of is not None:
        return f"{path.aa_of} once more, as the A/A comparison"
    if not experiment.topologies:
        return INTERNET[path.mechanism].doc
    network = install(path, experiment.topologies[0], experiment.between)
    text = f"{path_words(path)}; {ends_words(network.legs)}"
    return text + "".join(f"; {words}" for words in _encapsulations(network))


def _encapsulations(network: Network) -> list[str]:
    """Such as `ipv6 in ipv4 on r1-r2`."""
    links: dict[str, list[str]] = {}
    for crossing in network.crossings:
        if crossing.tunnels:
            links.setdefault(" in ".join(reversed(crossing.headers)), []).append(crossing.link.name)
    return [f"{headers} on {', '.join(names)}" for headers, names in links.items()]


def _address_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """The addresses of each node's interfaces, in the first form of the network."""
    rows = []
    first = experiment.topologies[0]
    ends: dict[str, list[Interface]] = {}
    for end in (end for link in first.links for end in link.ends):
        ends.setdefault(end.node, []).append(end)
    for node in first.nodes:
        for number, end in enumerate(ends.get(node, [])):
            addresses = " ".join(str(address) for address in (end.ipv4, end.ipv6) if address is not None)
            rows.append((node if number == 0 else "", f"{end.name} {addresses or 'no address'}"))
    if any(_addresses(topology) != _addresses(first) for topology in experiment.topologies[1:]):
        rows.append(("", "These are the addresses of form 1. Other forms have others: see --json."))
    return rows


def _section_of_programs(experiment: Experiment) -> list[str]:
    """Commands that the experiment would run as the user of sixbench, or in emulated machines, and the kernels that it
    brings; nothing where it has none of these."""
    from ..mechanisms import commands_of_workloads
    from ..mechanisms.guest import GUEST
    from .consent import commands_by_path, kernel_files
    from .options import ALLOW_FLAG

    texts = commands_by_path(experiment.paths)
    of_workloads = commands_of_workloads(experiment.combinations)
    kernels = kernel_files(experiment.paths, experiment.kernels)
    if not texts and not kernels and not of_workloads:
        return []
    named = (*texts.items(), *of_workloads.items())
    rows = [(name, command) for name, commands in named for command in commands]
    rows += [(key.removeprefix("paths."), f"the kernel {kernel}") for key, kernel in kernels.items()]
    lines = _section("Programs of the experiment", rows)
    kinds = {path.mechanism == GUEST.name for path in experiment.paths if path.name in texts}
    rights = [
        *(["in its emulated machine, as root there"] if True in kinds or kernels else []),
        *(["with all rights of whoever runs sixbench"] if False in kinds or of_workloads else []),
    ]
    text = f"They run {' or '.join(rights)}, and only with {ALLOW_FLAG}."
    return [*lines[:-1], *_indented(text), ""]


def _addresses(topology: Topology) -> list[tuple[object, ...]]:
    return [(end.node, end.name, end.ipv4, end.ipv6) for link in topology.links for end in link.ends]


def _workload_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """One row for each workload of the file: what all its combinations have, and the values of what is swept."""
    from ..report.link_descriptions import event_words

    groups: dict[tuple[str, frozenset[str], tuple[str, ...]], list[Combination]] = {}
    for combination in experiment.combinations:
        key = (combination.workload.kind, frozenset(combination.workload.params), combination.paths)
        groups.setdefault(key, []).append(combination)
    rows = [
        (kind, "; ".join(filter(None, [_group_words(kind, group), _over_words(experiment, group[0])])))
        for (kind, _, _), group in groups.items()
    ]
    events = dict.fromkeys(
        text
        for c in experiment.combinations
        if c.events
        for text in event_words(experiment.topologies[c.topology], c.events)
    )
    return rows + [("", f"In the midst of a trial: {text}") for text in events]


def _group_words(kind: str, group: list[Combination]) -> str:
    return f"{_params_words(kind, group)} {_number_words(len(group))}".strip()


def _over_words(experiment: Experiment, combination: Combination) -> str:
    """The paths that it names, and what they are compared with where that is not the experiment's baseline."""
    if not combination.paths:
        return ""
    baseline = experiment.baseline_of(combination)
    compared = "" if baseline == experiment.baseline else f", baseline {baseline}"
    return f"over {', '.join(combination.paths)}{compared}"


def _number_words(combinations: int) -> str:
    return f"({combinations} combinations)" if combinations > 1 else ""


def _params_words(kind: str, group: list[Combination]) -> str:
    from ..model.workloads import WORKLOADS

    parts = []
    for column in group[0].workload.params:
        parameter = WORKLOADS[kind].by_column(column)
        values = dict.fromkeys(
            parameter.format(c.workload.params[column]) if parameter else str(c.workload.params[column]) for c in group
        )
        text = ", ".join(values)
        parts.append(f"{parameter.name if parameter else column}: {text if len(values) == 1 else f'[{text}]'}")
    return ", ".join(parts)
