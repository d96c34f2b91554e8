"""Short forms of networks: `chain: 15`, `star: 5`, `tree: {depth: 2, fanout: 3}`, `ring: 6`, `mesh: 4`.

A short form is written out as nodes and links, which are then read like any others. The origin of each value is kept,
so that messages name the line in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from ..model.quoting import shown
from .key_reader import read_keys, read_value
from .link_settings import LINK_SETTINGS
from .node_settings import NODE_SETTINGS
from .reader import Reader, as_name, suggest
from .shapes import MAX_LINKS, SHAPES, Shape, Skeleton
from .topology_keys import NODE_NAMES, SETTINGS, form_of, sizes_of
from .yaml_source import KeyPath


@dataclass(frozen=True, kw_only=True)
class WrittenOut:
    """A topology without short forms.

    Attributes:
        nodes, links: as an experiment would give them.
        moved: the places in the file of values of `nodes` and `links`, by their paths.
        numbers: the number of each link in a row, from 0.
    """

    nodes: dict[str, Any]
    links: list[Any]
    between: tuple[str, str]
    moved: dict[KeyPath, KeyPath] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)


def write_out(reader: Reader, data: Mapping[str, Any]) -> WrittenOut | None:
    """Writes a short form out; None if something is wrong with it, which is noted."""
    place: KeyPath = ("topology",)
    [key, *others] = [key for key in data if key in SHAPES]
    if others:
        reader.problem((*place, others[0]), f"a network has one shape, and this one already is a {key}; leave one out")
        return None
    shape = SHAPES[key]
    given = _given(reader, shape, data)
    sizes = _sizes(reader, shape, data[key])
    if given is None or sizes is None:
        return None
    skeleton = _renamed(reader, shape.make(sizes), given)
    if skeleton is None:
        return None
    out = WrittenOut(nodes={}, links=[], between=skeleton.between)
    _add_nodes(out, skeleton, given, (*place, key))
    if not _add_links(reader, out, skeleton, given, (*place, key)):
        return None
    if shape.is_row:
        out.numbers.update({index: index for index in range(len(skeleton.links))})
    _merge_nodes(reader, out, data)
    _merge_links(reader, out, skeleton, data)
    return out


_Given = dict[str, tuple[Any, KeyPath]]
"""The content of a short form beside its size, with its place."""


def _given(reader: Reader, shape: Shape, data: Mapping[str, Any]) -> _Given | None:
    place: KeyPath = ("topology",)
    given: _Given = {key: (data[key], (*place, key)) for key in data if key in SETTINGS}
    inner = data[shape.name]
    if isinstance(inner, dict):
        read_keys(reader, (*place, shape.name), inner, form_of(shape))
        for key in (key for key in inner if key in SETTINGS):
            if key in given:
                reader.problem((*place, key), f"{key} is given in the {shape.name} too; keep one")
                return None
            given[key] = inner[key], (*place, shape.name, key)
    return given


def _sizes(reader: Reader, shape: Shape, value: Any) -> dict[str, int] | None:
    place: KeyPath = ("topology", shape.name)
    example = ", ".join(
        f"{name}: {max(least, 3)}" for name, (least, _) in shape.sizes.items() if name in shape.required
    )
    if not isinstance(value, dict):
        if len(shape.required) > 1:
            reader.problem(place, f"a {shape.name} needs {' and '.join(shape.required)}, such as {{{example}}}")
            return None
        value = {shape.required[0]: value}
    sizes: dict[str, int] = {}
    for name, parameter in sizes_of(shape).items():
        if name in value:
            path = (*place, name)
            read = read_value(reader, path if path in reader.source.lines else place, value[name], parameter)
            if read is None:
                return None
            sizes[name] = int(read)
        elif name in shape.required:
            reader.problem(place, f"{name} is missing; write it such as {{{example}}}")
            return None
    return sizes if _fits(reader, shape, sizes, place) else None


def _fits(reader: Reader, shape: Shape, sizes: Mapping[str, int], place: KeyPath) -> bool:
    degree, routers = sizes.get("degree"), sizes.get("routers", 0)
    if degree is not None and (degree >= routers or degree * routers % 2):
        reader.problem(
            (*place, "degree"),
            f"{routers} routers cannot be linked to {degree} others each: "
            + (f"give at most {routers - 1}" if degree >= routers else "one of the two numbers must be even"),
        )
        return False
    if degree == 1 and routers > 2:
        reader.problem((*place, "degree"), "routers with one link each make pairs, not a mesh; give at least 2")
        return False
    links = shape.links(sizes)
    if links > MAX_LINKS:
        reader.problem(place, f"{links} links are more than {MAX_LINKS}; make the {shape.name} smaller")
        return False
    return True


def _renamed(reader: Reader, skeleton: Skeleton, given: _Given) -> Skeleton | None:
    """Gives the nodes names as the user wants them: a word and numbers from 0, in the order of nodes."""
    if NODE_NAMES.name not in given:
        return skeleton
    value, place = given[NODE_NAMES.name]
    if read_value(reader, place, value, NODE_NAMES) is None:
        return None
    name = {old: f"{value}{number}" for number, old in enumerate(skeleton.nodes)}
    return Skeleton(
        nodes={name[old]: kind for old, kind in skeleton.nodes.items()},
        links=[(name[text], name[other]) for text, other in skeleton.links],
        between=(name[skeleton.between[0]], name[skeleton.between[1]]),
    )


def _add_nodes(out: WrittenOut, skeleton: Skeleton, given: _Given, place: KeyPath) -> None:
    for name, kind in skeleton.nodes.items():
        out.nodes[name] = {"kind": kind}
        out.moved["topology", "nodes", name] = place
        for key in NODE_SETTINGS if kind == "router" else ():
            _add(out, given, key, out.nodes[name], ("topology", "nodes", name))
        _add(out, given, "sysctl", out.nodes[name], ("topology", "nodes", name))


def _add_links(reader: Reader, out: WrittenOut, skeleton: Skeleton, given: _Given, place: KeyPath) -> bool:
    firsts: dict[str, IPv4Network | IPv6Network | None] = {
        key: _first_prefix(reader, key, *given[key], len(skeleton.links)) for key in ("ipv4", "ipv6") if key in given
    }
    if None in firsts.values():
        return False
    for index, ends in enumerate(skeleton.links):
        path: KeyPath = ("topology", "links", index)
        link: dict[str, Any] = {"endpoints": list(ends)}
        out.moved[path] = place
        for key in LINK_SETTINGS:
            _add(out, given, key, link, path)
        for key, first in firsts.items():
            assert first is not None, "a prefix that is wrong has been noted"
            link[key] = _addresses(first, index)
            out.moved[(*path, key)] = given[key][1]
        out.links.append(link)
    return True


def _add(out: WrittenOut, given: _Given, key: str, target: dict[str, Any], path: KeyPath) -> None:
    if key in given:
        target[key] = given[key][0]
        out.moved[(*path, key)] = given[key][1]


def _first_prefix(reader: Reader, key: str, value: Any, place: KeyPath, count: int) -> IPv4Network | IPv6Network | None:
    """Reads the prefix of the first link. Every later link has the next one."""
    wanted, example = (IPv4Network, "10.0.1.0/24") if key == "ipv4" else (IPv6Network, "2001:db8:1::/64")
    try:
        network = ip_network(value) if isinstance(value, str) and "/" in value else None
    except ValueError:
        network = None
    if not isinstance(network, wanted):
        reader.problem(place, f"{shown(value)} is not the prefix of the first link, such as {example}")
        return None
    last = int(network.network_address) + count * network.num_addresses - 1
    if last >> network.max_prefixlen:
        reader.problem(
            place, f"there are fewer than {count} prefixes from {network} on, one for each link; give a lower one"
        )
        return None
    return network


def _addresses(first: IPv4Network | IPv6Network, index: int) -> list[str]:
    """The addresses of both ends: the first two that a host can have."""
    base = int(first.network_address) + index * first.num_addresses
    offset = 1 if first.num_addresses > 2 else 0
    kind = type(first.network_address)
    return [f"{kind(base + offset + end)}/{first.prefixlen}" for end in (0, 1)]


def _merge_nodes(reader: Reader, out: WrittenOut, data: Mapping[str, Any]) -> None:
    """Reads the nodes that differ, by name, and additional ones."""
    if "nodes" not in data:
        return
    for name, item in reader.mapping(("topology", "nodes"), data["nodes"], "nodes").items():
        path: KeyPath = ("topology", "nodes", name)
        node_of_file = out.nodes.get(name)
        if node_of_file is None and isinstance(item, dict) and "kind" not in item:
            words = f"the shape has no node {shown(name)}, and a further node needs a kind"
            reader.problem(path, f"{words}; {suggest(name, out.nodes)}")
            continue
        if node_of_file is None:
            out.nodes[name] = item
            continue
        changes = reader.mapping(path, item, f"the changes of {name}")
        del out.moved[path]
        for key in changes:
            out.moved.pop((*path, key), None)
        if changes.get("kind", node_of_file["kind"]) != node_of_file["kind"]:
            reader.problem((*path, "kind"), f'"{name}" is a {node_of_file["kind"]} in the shape; leave kind out')
            continue
        sysctl = {"sysctl": node_of_file["sysctl"] | changes["sysctl"]} if _both_mappings(node_of_file, changes) else {}
        out.nodes[name] = node_of_file | changes | sysctl


def _both_mappings(of_file: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    return isinstance(of_file.get("sysctl"), dict) and isinstance(changes.get("sysctl"), dict)


def _merge_links(reader: Reader, out: WrittenOut, skeleton: Skeleton, data: Mapping[str, Any]) -> None:
    """Reads the links that differ, by name, and additional ones."""
    if "links" not in data:
        return
    place: KeyPath = ("topology", "links")
    if isinstance(data["links"], list):
        for index, item in enumerate(data["links"]):
            out.moved[(*place, len(out.links))] = (*place, index)
            out.links.append(item)
        return
    named = {f"{text}-{other}": index for index, (text, other) in enumerate(skeleton.links)}
    for name, item in reader.mapping(place, data["links"], "links").items():
        changes = reader.mapping((*place, name), item, f"the changes of {name}")
        number = named.get(as_name(name))
        if number is None and "endpoints" not in changes:
            reader.problem((*place, name), f"there is no link {shown(name)}; {suggest(str(name), named)}")
        elif number is None:
            out.moved[(*place, len(out.links))] = (*place, name)
            out.links.append({"name": name} | changes)
        elif "endpoints" in changes or "name" in changes:
            wrong = "endpoints" if "endpoints" in changes else "name"
            reader.problem((*place, name, wrong), f'"{name}" already is a link of the shape; leave {wrong} out')
        else:
            out.links[number] = out.links[number] | changes
            for key in changes:
                out.moved[(*place, number, key)] = (*place, name, key)
