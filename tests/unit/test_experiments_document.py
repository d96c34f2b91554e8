"""docs/experiments: the examples of its pages work, and their tables are those of the registries."""

from __future__ import annotations

import operator
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from json_schema import complaints
from synthetic import rate_of

from sixbench.engines import ENGINES
from sixbench.mechanisms import MECHANISMS, install
from sixbench.mechanisms.common import TUNNEL_OPTIONS
from sixbench.model.experiment import Experiment
from sixbench.model.parameter import Parameter
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.blocks_file import REPEATS, RULES, STATISTICS_KEYS
from sixbench.plan.dut_file import EQUIPMENT_KEYS
from sixbench.plan.events_file import CHANGEABLE, EVENT
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.experiment_keys import EXPERIMENT, REQUIRED
from sixbench.plan.keys import CompoundKey, Key, SweptParameter
from sixbench.plan.link_keys import LINK
from sixbench.plan.node_settings import NODE_SETTINGS
from sixbench.plan.overrides import apply_quick
from sixbench.plan.profile_file import PROFILE
from sixbench.plan.schema import experiment_schema
from sixbench.plan.servers_file import SERVER
from sixbench.plan.shapes import SHAPES
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

FOLDER = Path(__file__).parents[2] / "docs/experiments"
FIRST, LAST = "index", "grammar"
BETWEEN = sorted(page.stem for page in FOLDER.glob("*.md") if page.stem not in (FIRST, LAST))
PAGES = {name: (FOLDER / f"{name}.md").read_text() for name in (FIRST, *BETWEEN, LAST)}
DOCUMENT = "\n".join(PAGES.values())


def blocks(language: str, text: str) -> list[str]:
    """Content of the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def unwrapped(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


EXAMPLES = blocks("yaml", DOCUMENT)
COMMANDS = [line for block in blocks("sh", DOCUMENT) for line in block.splitlines()]
WHOLE = EXAMPLES[0]
PATHS = blocks("yaml", PAGES["paths"])
TWO_ROUTERS = PATHS[1]
CONSOLE = re.findall(r"^\$ (.*)$", DOCUMENT, re.MULTILINE)

SCHEMA = experiment_schema(MECHANISMS)


def completed(example: str) -> str:
    """A whole example as it is; a part of one put into the first example, or into that of paths."""
    given = yaml.safe_load(example)
    if set(REQUIRED) <= given.keys() or {"dut", "servers"} & given.keys():
        return example
    whole = yaml.safe_load(TWO_ROUTERS if example in PATHS[1:] else WHOLE)
    return yaml.safe_dump(whole | given, sort_keys=False)


def experiment(example: str) -> Experiment:
    return read_experiment(parse_yaml(completed(example), "example.yaml"), MECHANISMS)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_right(example: str) -> None:
    source = parse_yaml(completed(example), "example.yaml")
    assert complaints(SCHEMA, source.data) == []
    read_experiment(source, MECHANISMS)
    read_experiment(apply_quick(source), MECHANISMS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_right(
    command: str, sixbench: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one-router.yaml").write_text(WHOLE)
    program, *arguments = shlex.split(command)
    assert program == "sixbench"
    done = sixbench(*arguments)
    assert (done.exit, done.stderr) == (0, "")


@pytest.mark.parametrize("command", CONSOLE)
def test_every_command_that_needs_a_network_is_there(command: str, sixbench: Callable[..., Any]) -> None:
    program, *arguments = shlex.split(command.partition(" -- ")[0])
    assert program == "sixbench"
    words = arguments[:2] if arguments[0] in ("lab", "kernels") else arguments[:1]
    done = sixbench(*words, "--help")
    assert done.exit == 0
    assert all(option in done.stdout for option in arguments if option.startswith("--"))


def example_with(text: str) -> str:
    return next(example for example in EXAMPLES if text in example)


def test_what_is_said_of_combinations() -> None:
    actual_experiment = experiment(example_with("mtu: [1500, 9000]"))
    assert (len(actual_experiment.combinations), len(actual_experiment.topologies)) == (8, 2)
    tied = experiment(example_with("- {endpoints: [r1, h2], rate: [10Mbit, 100Mbit]}"))
    assert [[rate_of(link) for link in topology.links] for topology in tied.topologies] == [[10**7] * 2, [10**8] * 2]
    shared = experiment(example_with("near: [10Mbit"))
    assert shared.combinations[0].levels == {"near_bps": 10**7, "far_bps": 10**6, "size_bytes": 64}
    assert len(shared.topologies) == 4


def test_what_is_said_of_addresses() -> None:
    first = experiment(WHOLE).topologies[0].links[1].ends
    assert [(str(end.ipv4 and end.ipv4.ip), str(end.ipv6 and end.ipv6.ip)) for end in first] == [
        ("198.18.1.1", "2001:2:0:1::1"),
        ("198.18.1.2", "2001:2:0:1::2"),
    ]


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of the table under a heading, by the name in the first."""
    section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", DOCUMENT, re.DOTALL | re.MULTILINE)
    assert section is not None, heading
    lines = [line.strip("|").split("|") for line in section.group(1).splitlines() if line.startswith("| `")]
    return {cells[0].strip().strip("`"): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_the_first_page_names_every_other() -> None:
    matches = set(re.findall(r"\]\(([a-z-]+)\.md\)", PAGES[FIRST]))
    assert matches == PAGES.keys() - {FIRST}


def test_every_key_is_told() -> None:
    assert tuple(rows("Keys")) == EXPERIMENT.names
    assert tuple(rows("Links")) == LINK.names
    assert tuple(rows("Servers")) == SERVER.names


@pytest.mark.parametrize("entry", EXPERIMENT.entries, ids=operator.attrgetter("name"))
def test_every_key_of_an_experiment_is_told(entry: Key) -> None:
    assert_row(rows("Keys")[entry.name], entry, is_required=entry.name in REQUIRED)


@pytest.mark.parametrize("entry", LINK.entries, ids=operator.attrgetter("name"))
def test_every_key_of_a_link_is_told(entry: Key) -> None:
    assert_row(rows("Links")[entry.name], entry, is_required=entry.name in LINK.missing)


@pytest.mark.parametrize("entry", [*RULES.entries, REPEATS, *STATISTICS_KEYS.entries], ids=operator.attrgetter("name"))
def test_every_key_of_blocks_and_statistics_is_told(entry: Key) -> None:
    assert_row(rows("Blocks and statistics")[entry.name], entry)


@pytest.mark.parametrize("entry", SERVER.entries, ids=operator.attrgetter("name"))
def test_every_key_of_a_server_is_told(entry: Key) -> None:
    assert_row(rows("Servers")[entry.name], entry, is_required=entry.name in SERVER.missing)


def test_every_workload_towards_servers_is_told() -> None:
    section = DOCUMENT.partition("# Servers of others")[2].partition("## Workloads")[2].partition("## Servers")[0]
    cells = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    parameters = {row[0].strip().strip("`"): tuple(re.findall("`(.*?)`", row[1])) for row in cells}
    assert parameters == {kind.name: kind.to_servers.parameters for kind in WORKLOADS.values() if kind.to_servers}


OF_EVENTS = [entry for entry in EVENT.entries if entry.name not in CHANGEABLE]


@pytest.mark.parametrize("entry", OF_EVENTS, ids=operator.attrgetter("name"))
def test_every_key_of_an_event_is_told(entry: Key) -> None:
    assert_row(rows("Events")[entry.name], entry, is_required=entry.name in EVENT.missing)


@pytest.mark.parametrize("entry", PROFILE.entries, ids=operator.attrgetter("name"))
def test_every_key_of_a_profile_is_told(entry: Key) -> None:
    assert_row(rows("Access profiles")[entry.name], entry, is_required=entry.name in PROFILE.missing)


@pytest.mark.parametrize("part", EQUIPMENT_KEYS, ids=operator.attrgetter("name"))
def test_every_key_of_equipment_is_told(part: CompoundKey) -> None:
    assert list(map(plain, rows("Equipment")[part.name])) == [part.doc]


@pytest.mark.parametrize("key", NODE_SETTINGS)
def test_every_setting_of_a_router_is_told(key: str) -> None:
    assert rows("Routers that filter")[key] == parameter_words(NODE_SETTINGS[key])


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_told(name: str) -> None:
    sizes, doc = rows("Shapes")[name]
    assert re.findall("`(.*?)`", sizes) == list(SHAPES[name].sizes)
    assert doc == SHAPES[name].doc


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_parameter_of_a_workload_is_told(name: str) -> None:
    kind = WORKLOADS[name]
    assert rows(f"`{name}`") == {parameter.name: parameter_words(parameter) for parameter in kind.parameters}
    assert kind.doc in unwrapped(DOCUMENT)


def plain(cell: str) -> str:
    """The words of a cell without links and marks of code."""
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", cell).replace("`", "")


def assert_row(cells: list[str], entry: Key, *, is_required: bool = False) -> None:
    """The cells are those of a key of a declared mapping: its value, what holds unless it is given, its meaning. The
    value of a key that has no single one is described by the document alone."""
    if isinstance(entry, CompoundKey):
        default = "" if entry.default is None else str(entry.default)
        unless_given = "*must be given*" if is_required else entry.unless_given or default
        assert list(map(plain, cells[1:])) == [unless_given, entry.doc]
    else:
        value, unless_given, meaning = parameter_words(entry.parameter if isinstance(entry, SweptParameter) else entry)
        unless_given = "*must be given*" if is_required else unless_given
        assert list(map(plain, cells)) == list(map(plain, (value, unless_given, meaning)))


def parameter_words(parameter: Parameter) -> list[str]:
    """The cells that a parameter has: its value, what it is unless given, its meaning."""
    words = {
        "packet-rate": "packet rate",
        "duration": "time",
        "count": "whole number",
        "line": "text",
        "word": "name",
        "link-name": "name, up to 81 characters",
        "ipv4-prefix": "IPv4 prefix",
        "ipv6-prefix": "IPv6 prefix",
        "eam": "table of IPv4 to IPv6",
        "files": "texts by name",
        "families": "one family, or two",
        "interface": "name",
        "commands": "commands",
        "mtu": "whole number",
        "mtu-or-size": "mtu",
        "queue": "time, size or number of packets",
        "overhead": "a name, or a size",
        "packets": "numbers and ranges",
        "states": "four ratios",
        "profile": "a name, or a file ending in .yaml",
    }
    value = words.get(parameter.kind, parameter.kind)
    if parameter.kind == "flag":
        value = "`true` or `false`"
    elif parameter.kind == "choice":
        value = ", ".join(f"`{choice}`" for choice in parameter.choices)
    elif parameter.minimum is not None and parameter.maximum is not None:
        value += f", {parameter.format(parameter.minimum)} to {parameter.format(parameter.maximum)}"
    return [value, parameter.default_text, parameter.doc]


def test_every_mechanism_is_told() -> None:
    assert rows("Paths") == {
        name: [", ".join(kind.headers), ", ".join(kind.engines) if kind.node_count[1] else "", kind.doc]
        for name, kind in MECHANISMS.items()
    }


def test_every_engine_is_told() -> None:
    others = dict.fromkeys(engine for kind in MECHANISMS.values() for engine in kind.engines if engine not in ENGINES)
    assert list(rows("Engines")) == [*ENGINES, *others]


def test_the_options_of_every_tunnel_are_told() -> None:
    assert rows("Options of every tunnel") == {option.name: parameter_words(option) for option in TUNNEL_OPTIONS}


@pytest.mark.parametrize("name", [name for name in MECHANISMS if not name.startswith("native")])
def test_every_option_of_a_mechanism_is_told_and_it_has_an_example(name: str) -> None:
    kind = MECHANISMS[name]
    options = [option for option in kind.options if option not in TUNNEL_OPTIONS]
    assert rows(f"`{name}`") == {option.name: parameter_words(option) for option in options}
    shared = [option for option in TUNNEL_OPTIONS if option in kind.options]
    assert shared == (list(TUNNEL_OPTIONS) if kind.headers and name != "teredo" else [])
    section = PAGES["paths"].partition(f"\n## `{name}`\n")[2].partition("\n## ")[0]
    assert kind.doc in unwrapped(section)
    assert name in {path.mechanism for text in PATHS if text in section for path in experiment(text).paths}


ENDS_OF_PATHS = [
    (text, name, tuple(ends))
    for text in PATHS
    for name, *ends in re.findall(r"^  ([a-z0-9-]+): .*# ([0-9a-f.:]+) to ([0-9a-f.:]+)$", text, re.MULTILINE)
]


@pytest.mark.parametrize(("text", "name", "ends"), ENDS_OF_PATHS, ids=[name for _, name, _ in ENDS_OF_PATHS])
def test_what_is_said_of_the_ends_of_a_path(text: str, name: str, ends: tuple[str, str]) -> None:
    actual_experiment = experiment(text)
    network = install(actual_experiment.path(name), actual_experiment.topologies[0], actual_experiment.between)
    assert (str(network.legs[0].source), str(network.legs[0].destination)) == ends


def test_ends_are_said_of_every_mechanism() -> None:
    told_of = {experiment(text).path(name).mechanism for text, name, _ in ENDS_OF_PATHS}
    assert told_of == {name for name in MECHANISMS if not name.startswith("native")}
