"""The `paths` part of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.mechanism import MechanismKind
from ..model.path import Path
from ..model.wording import listed, shown
from .reader import Reader, as_name
from .topology_file import NAME, NAME_RULE

AA_SUFFIX = "-aa"

PARTIAL_SUFFIX = ".partial"
"""What a run directory calls a trial that is not yet written; the trials of a path carry its name at their end."""


def read_paths(reader: Reader, value: Any, mechanisms: Mapping[str, MechanismKind]) -> list[Path]:
    """Reads the mapping from names to mechanisms: `ipv4: native4`, `tunnel: {6in4: [r1, r2]}`."""
    paths: list[Path] = []
    items = reader.mapping(("paths",), value, "paths")
    if not items and isinstance(value, dict):
        reader.problem(
            ("paths",), "no path is given; an experiment compares at least one, such as {ipv4: native4, ipv6: native6}"
        )
    for name, item in items.items():
        place = ("paths", name)
        if not NAME.fullmatch(name):
            reader.problem(place, f"{shown(name)} cannot name a path: {NAME_RULE}")
        elif name.endswith(PARTIAL_SUFFIX):
            reader.problem(place, f"{shown(name)} cannot name a path: files that end so are half-written ones")
        path = _read_path(reader, name, item, mechanisms)
        if path is not None:
            paths.append(path)
    return paths


def aa_path(baseline: Path, taken: set[str]) -> Path:
    """The baseline once more, under a name of its own."""
    name = baseline.name + AA_SUFFIX
    while name in taken:
        name += AA_SUFFIX
    return Path(
        name=name,
        mechanism=baseline.mechanism,
        family=baseline.family,
        nodes=baseline.nodes,
        engine=baseline.engine,
        options=baseline.options,
        aa_of=baseline.name,
    )


def _read_path(reader: Reader, name: str, item: Any, mechanisms: Mapping[str, MechanismKind]) -> Path | None:
    place = ("paths", name)
    options: dict[str, Any] = {}
    mechanism = item
    if isinstance(item, dict) and "mechanism" in item:
        options = {key: value for key, value in item.items() if key != "mechanism"}
        mechanism = item["mechanism"]
    elif isinstance(item, dict):
        if len(item) != 1:
            reader.problem(place, f"a path is one mechanism, such as {{6in4: [r1, r2]}}, not {len(item)} keys")
            return None
        [(mechanism, arguments)] = item.items()
        options = dict(arguments) if isinstance(arguments, dict) else {} if arguments is None else {"nodes": arguments}
    if reader.one_of(place, mechanism, "mechanism", mechanisms) is None:
        return None
    kind = mechanisms[mechanism]
    nodes = options.pop("nodes", [])
    nodes = nodes if isinstance(nodes, list) else [nodes]
    least, most = kind.node_count
    if not least <= len(nodes) <= most:
        wanted = "no nodes" if most == 0 else f"{least} nodes" if least == most else f"{least} to {most} nodes"
        reader.problem(place, f"{mechanism} is installed on {wanted}, not {len(nodes)}")
        return None
    engine = None
    if "engine" in options:
        engine = reader.one_of(place, options.pop("engine"), f"engine of {mechanism}", kind.engines)
        if engine is None:
            return None
    if options and most == 0:
        reader.problem(place, f"{mechanism} takes no options; leave {listed(options)} out")
        return None
    return Path(
        name=name,
        mechanism=mechanism,
        family=kind.family,
        nodes=tuple(name if isinstance(name, str) else shown(name) for name in map(as_name, nodes)),
        engine=engine,
        options=options,
    )
