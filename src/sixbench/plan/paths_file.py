"""The `paths` part of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.mechanism import MechanismKind
from ..model.path import Path
from ..model.wording import shown
from .reader import Reader
from .topology_file import NAME, NAME_RULE

AA_SUFFIX = "-aa"


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
            continue
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
    if isinstance(item, dict) and "mechanism" in item:
        options = {key: value for key, value in item.items() if key != "mechanism"}
        mechanism = item["mechanism"]
    elif isinstance(item, dict) and len(item) == 1:
        [(mechanism, arguments)] = item.items()
        options = arguments if isinstance(arguments, dict) else {} if arguments is None else {"nodes": arguments}
    else:
        mechanism = item
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
    engine = options.pop("engine", None)
    if engine is not None and reader.one_of(place, engine, f"engine of {mechanism}", kind.engines) is None:
        return None
    if options and most == 0:
        reader.problem(place, f"{mechanism} takes no options, but {', '.join(options)} is given")
        return None
    return Path(
        name=name,
        mechanism=mechanism,
        family=kind.family,
        nodes=tuple(str(node) for node in nodes),
        engine=engine,
        options=options,
    )
