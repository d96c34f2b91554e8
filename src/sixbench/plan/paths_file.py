"""The `paths` part of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..mechanisms import Mechanism
from ..model.identifiers import NAME, NAME_RULE
from ..model.parameter import Parameter, Scalar
from ..model.path import Path
from ..model.quoting import listed, shown, visible
from .key_reader import read_names, read_value
from .keys import NamedValues, NameRule, SharedValue
from .reader import Reader, as_name, suggest
from .yaml_source import KeyPath

AA_SUFFIX = "-aa"

STAND_IN = "path"

PARTIAL_SUFFIX = ".partial"
"""The end of the names of half-written trials in a run directory. The name of a trial ends with the name of its
path."""

_PATH_NAMES = NameRule(noun="a path", pattern=NAME, rule=NAME_RULE)
PATHS = NamedValues(
    what="paths",
    item=SharedValue(name="path"),
    names=_PATH_NAMES,
    empty="no path is given; an experiment compares at least one, such as {ipv4: native4, ipv6: native6}",
)


def engine_of(kind: Mechanism) -> Parameter:
    """The key `engine` of a path of a mechanism."""
    return Parameter(
        name="engine",
        kind="choice",
        noun=f"engine of {kind.name}",
        choices=kind.engines,
        doc="the implementation that executes the mechanism",
    )


def read_paths(reader: Reader, value: Any, mechanisms: Mapping[str, Mechanism]) -> list[Path]:
    """Reads the mapping from names to mechanisms: `ipv4: native4`, `tunnel: {6in4: [r1, r2]}`."""
    paths: list[Path] = []
    for name, item in read_names(reader, ("paths",), value, PATHS).items():
        place = ("paths", name)
        if _PATH_NAMES.allows(name) and name.endswith(PARTIAL_SUFFIX):
            reader.problem(place, f"{shown(name)} cannot name a path: names of half-written files end like this")
        # A wrong name has been reported. With a stand-in the rest can be checked.
        path = _read_path(reader, place, name if _PATH_NAMES.allows(name) else STAND_IN, item, mechanisms)
        if path is not None:
            paths.append(path)
    return paths


def aa_path(baseline: Path, taken: set[str]) -> Path:
    """The baseline a second time, under another name."""
    name = baseline.name + AA_SUFFIX
    while name in taken:
        name += AA_SUFFIX
    return replace(baseline, name=name, aa_of=baseline.name)


def _read_path(
    reader: Reader, place: KeyPath, name: str, item: Any, mechanisms: Mapping[str, Mechanism]
) -> Path | None:
    options: dict[str, Any] = {}
    mechanism = item
    if isinstance(item, dict) and "mechanism" in item:
        options = {key: value for key, value in item.items() if key != "mechanism"}
        mechanism = item["mechanism"]
    elif isinstance(item, dict):
        if len(item) != 1:
            reader.problem(place, _several_keys(item, mechanisms))
            return None
        [(mechanism, arguments)] = item.items()
        options = dict(arguments) if isinstance(arguments, dict) else {} if arguments is None else {"nodes": arguments}
    if reader.one_of(place, mechanism, "mechanism", mechanisms) is None:
        return None
    kind = mechanisms[mechanism]
    nodes = _read_nodes(reader, place, kind, options.pop("nodes", []))
    engine, wants_engine = None, "engine" in options
    if wants_engine:
        chosen = read_value(reader, place, options.pop("engine"), engine_of(kind))
        engine = None if chosen is None else str(chosen)
    read = _read_options(reader, place, kind, options)
    if nodes is None or read is None or (wants_engine and engine is None):
        return None
    return Path(
        name=name,
        mechanism=mechanism,
        family=kind.family(read),
        nodes=nodes,
        engine=engine,
        options=read,
        line=reader.source.line_of(reader.in_file(place)),
        server_family=None if kind.server_family is None else kind.server_family(read, nodes),
    )


def _several_keys(item: dict[str, Any], mechanisms: Mapping[str, Mechanism]) -> str:
    """The fault of a path of several keys, or of none, and the right spelling."""
    named = [key for key in item if key in mechanisms]
    beside = [key for key in item if key not in mechanisms]
    if len(named) != 1 or any(mechanisms[named[0]].option(key) is None and key != "engine" for key in beside):
        return f"a path is one mechanism, such as {{6in4: [r1, r2]}}, not {len(item)} keys"
    [name] = named
    nodes = item[name] if isinstance(item[name], list) else mechanisms[name].sample
    first = [f"nodes: [{listed(map(str, nodes))}]"] if nodes else []
    within = ", ".join([*first, *(f"{visible(key)}: ..." for key in beside)])
    verb = "stand" if len(beside) > 1 else "stands"
    return f"{listed(beside)} {verb} beside {name} and must be below it: {{{name}: {{{within}}}}}"


def _read_nodes(reader: Reader, place: KeyPath, kind: Mechanism, value: Any) -> tuple[str, ...] | None:
    if value is None:
        reader.problem(
            place, f"nodes must be a list of nodes, such as [{', '.join(kind.sample) or 'r1, r2'}], not nothing"
        )
        return None
    nodes = value if isinstance(value, list) else [value]
    least, most = kind.node_count
    if not least <= len(nodes) <= most:
        wanted = "no nodes" if most == 0 else f"{least} nodes" if least == most else f"{least} to {most} nodes"
        order = f" ({kind.node_order})" if kind.node_order else ""
        reader.problem(place, f"{kind.name} is installed on {wanted}{order}, not {len(nodes)}")
        return None
    names = list(map(as_name, nodes))
    for name in names:
        if not isinstance(name, str):
            reader.problem(place, f"{shown(name)} cannot name a node; {kind.name} is installed on nodes by their names")
    return tuple(names) if all(isinstance(name, str) for name in names) else None


def node_place(reader: Reader, path: Path, position: int) -> KeyPath:
    """The place in the file that names a node of a path."""
    place = ("paths", path.name)
    for below in ((path.mechanism, position), (path.mechanism, "nodes", position), ("nodes", position)):
        if reader.is_in_file((*place, *below)):
            return (*place, *below)
    return place


def _read_options(
    reader: Reader, place: KeyPath, kind: Mechanism, options: Mapping[str, Any]
) -> dict[str, Scalar] | None:
    """The options of a mechanism, in base units; None if one of them is wrong."""
    read: dict[str, Scalar] = {}
    names = [option.name for option in kind.options]
    for key, value in options.items():
        option = kind.option(str(key))
        if option is None:
            hint = suggest(str(key), names) if names else f"{kind.name} takes no options; leave it out"
            reader.problem(
                _option_place(reader, place, kind, key), f"unknown option of {kind.name} {shown(key)}; {hint}"
            )
            continue
        try:
            read[key] = option.parse(value)
        except ValueError as error:
            reader.problem(_option_place(reader, place, kind, key), f"{key}: {error}")
    return read if len(read) == len(options) else None


def _option_place(reader: Reader, place: KeyPath, kind: Mechanism, key: Any) -> KeyPath:
    """The place of an option: below the name of the mechanism, or beside the key `mechanism`."""
    below = (*place, kind.name, key)
    return below if reader.is_in_file(below) else (*place, key)
