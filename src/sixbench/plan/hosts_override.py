"""`--hosts FILE`: puts the nodes of an experiment on machines, and leaves the experiment's file as it is.

The file has `hosts` as an experiment has them, `nodes` (for each node its host) and `links` (for each link that joins
machines what carries it, as `over` says it).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ..model.errors import ExperimentError, UsageError
from .hosts_file import HOSTS, OVER
from .key_reader import read_keys, read_names
from .keys import A_NAME, CompoundKey, KnownKeys, NamedValues
from .overrides import ChangedSource
from .reader import Reader
from .shapes import SHAPES
from .yaml_source import KeyPath, Source, read_yaml

_NODES = NamedValues(what="nodes", item=A_NAME)
_LINKS = NamedValues(what="links", item=OVER.value)
PLACES = KnownKeys(
    what="a file of hosts",
    entries=(
        CompoundKey(name="hosts", value=HOSTS, doc="the machines, as an experiment has them"),
        CompoundKey(name="nodes", value=_NODES, doc="for each node its host"),
        CompoundKey(
            name="links", value=_LINKS, doc="for each link that joins machines what carries it, as over says it"
        ),
    ),
)


VANTAGES = KnownKeys(
    what="a file of vantages",
    entries=(CompoundKey(name="hosts", value=HOSTS, doc="the machines to measure from, as an experiment has them"),),
)


def number_of_vantages(path: Path) -> int:
    """Number of machines that a file of vantages names. Raises `UsageError` or `ExperimentError` as `with_vantages`."""
    return len(_vantages(read_yaml(path)))


def with_vantages(source: Source, path: Path) -> Source:
    """The source of an experiment with servers, which is measured from the machines of a file: its `hosts`. The text
    has them, too. Raises `UsageError` where the file cannot be read, and `ExperimentError` where it is wrong."""
    vantages_source = read_yaml(path)
    changes = ChangedSource(source)
    for name, host in _vantages(vantages_source).items():
        _put(changes, vantages_source, f"hosts.{name}", host, ("hosts", name))
    changed = changes.source()
    return replace(changed, text=yaml.safe_dump(changed.data, sort_keys=False, allow_unicode=True, width=100))


def _vantages(source: Source) -> dict[str, Any]:
    reader = Reader(source)
    hosts = read_names(reader, ("hosts",), read_keys(reader, (), source.data, VANTAGES).get("hosts", {}), HOSTS)
    if isinstance(source.data, dict) and not hosts and not reader.problems:
        reader.problem((), "it names no machine; give one, such as hosts: {lab1: {ssh: user@lab1.example}}")
    reader.finish()
    return hosts


def apply_hosts(source: Source, path: Path) -> Source:
    """The source with the nodes on machines. Raises `UsageError` where the file cannot be read, and `ExperimentError`
    where it is wrong or names what is not in the experiment."""
    hosts_source = read_yaml(path)
    reader = Reader(hosts_source)
    data = read_keys(reader, (), hosts_source.data, PLACES)
    nodes = read_names(reader, ("nodes",), data.get("nodes", {}), _NODES)
    links = read_names(reader, ("links",), data.get("links", {}), _LINKS)
    hosts = read_names(reader, ("hosts",), data.get("hosts", {}), HOSTS)
    if isinstance(hosts_source.data, dict) and not hosts and not reader.problems:
        reader.problem((), "there are no hosts in it; give one, such as hosts: {lab1: {ssh: user@lab1.example}}")
    reader.finish()
    changes = ChangedSource(source)
    for name, host in hosts.items():
        _put(changes, hosts_source, f"hosts.{name}", host, ("hosts", name))
    for name, host in nodes.items():
        _put(changes, hosts_source, *_on(source, name, host), ("nodes", name))
    for name, over in links.items():
        _put(changes, hosts_source, f"topology.links.{name}.over", over, ("links", name))
    return changes.source()


def _on(source: Source, name: str, host: Any) -> tuple[str, Any]:
    """The path and the value that put a node on a machine. One that is given by its kind alone becomes a mapping."""
    topology = source.data.get("topology") if isinstance(source.data, dict) else None
    nodes = topology.get("nodes") if isinstance(topology, dict) else None
    kind = nodes.get(name) if isinstance(nodes, dict) else None
    if isinstance(kind, str):
        return f"topology.nodes.{name}", {"kind": kind, "on": host}
    if kind is None and isinstance(topology, dict) and topology.keys() & SHAPES:
        return f"topology.nodes.{name}", {"on": host}
    return f"topology.nodes.{name}.on", host


def _put(changes: ChangedSource, source: Source, dotted: str, value: Any, place: KeyPath) -> None:
    where = f"{source.file}:{source.line_of(place)}"
    try:
        changes.put(dotted, value, where)
    except UsageError as error:
        raise ExperimentError([source.problem(place, str(error).removeprefix(f"{where}: "))]) from error
