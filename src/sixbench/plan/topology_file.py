"""The `topology` part of an experiment: nodes, links, addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import IPv4Interface, IPv6Interface
from typing import Any, TypeVar

from ..model.emulation import WAYS
from ..model.host import Host
from ..model.quoting import shown
from ..model.topology import Interface, Link, Port, Topology
from .addressing import link_ipv4, link_ipv6
from .factors import Assignment, Factors, Setting
from .hosts_file import Carried, read_over
from .key_reader import note_missing, read_items, read_keys, read_names, read_pair
from .link_addresses import LinkPrefix, check_prefixes, read_addresses
from .link_keys import ADDRESSES, DIRECTIONS, ENDPOINTS, LINK, LINK_NAMES, NO_ADDRESSES
from .link_settings import DIRECTION_SETTINGS, LINK_SETTINGS
from .link_template import LinkTemplate
from .node_settings import NodeTemplate, read_node
from .profile_file import Profiles
from .reader import Reader, suggest
from .setting_reader import NamedFiles, read_setting
from .shape_file import write_out
from .shapes import SHAPES
from .topology_keys import LINKS, NODES, SETTINGS, WRITTEN_OUT
from .yaml_source import KeyPath, Source

_Address = TypeVar("_Address", IPv4Interface, IPv6Interface)

AutomaticIPv4 = Callable[[int], tuple[IPv4Interface, IPv4Interface]]
"""Gives both ends of a link, by its number, their addresses."""

_MAX_CHECKED = 1000
"""The most combinations of the settings of one link that are checked when it is read."""


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """Equipment in the place of a node, at interfaces of this machine.

    Attributes:
        description: what it is.
        ports: the interfaces, by the node that each is given to, which has a link to it.
    """

    node: str
    description: str
    ports: Mapping[str, Port]

    def at(self, link: Link) -> Link:
        """The link as it is with it."""
        for position, end in enumerate(link.ends):
            other = link.ends[1 - position]
            if end.node == self.node and other.node in self.ports:
                interface = replace(other, name=self.ports[other.node].name)
                ends = (interface, end) if position == 1 else (end, interface)
                return replace(link, ends=ends, port=self.ports[other.node])
        return link


@dataclass(frozen=True, kw_only=True)
class TopologyTemplate:
    """A network whose settings may still vary.

    Attributes:
        between: the hosts that exchange traffic unless others are named.
        equipment: what stands in the place of one of the nodes. None: every node is sixbench's own.
    """

    nodes: dict[str, NodeTemplate]
    links: tuple[LinkTemplate, ...]
    between: tuple[str, str] | None = None
    equipment: Equipment | None = None
    hosts: Mapping[str, Host] = field(default_factory=dict)

    def factors(self) -> list[Any]:
        """Keys of the factors on which it depends, in order of appearance."""
        links = (key for link in self.links for key in link.factors())
        nodes = (key for node in self.nodes.values() for key in node.factors())
        return list(dict.fromkeys([*links, *nodes]))

    def concrete(self, assignment: Assignment) -> Topology:
        """The network at one combination of levels."""
        nodes = {name: template.concrete(assignment) for name, template in self.nodes.items()}
        links = tuple(template.concrete(assignment) for template in self.links)
        if self.equipment is not None:
            equipment_node = self.equipment.node
            nodes[equipment_node] = replace(nodes[equipment_node], equipment=self.equipment.description)
            links = tuple(map(self.equipment.at, links))
        return Topology(nodes=nodes, links=links, hosts=dict(self.hosts))


class Numbering:
    """The names of the interfaces that links make, by their nodes: `eth0` and so on, without those that a node may
    borrow."""

    def __init__(self, nodes: Mapping[str, NodeTemplate], hosts: Mapping[str, Host]) -> None:
        self._next = dict.fromkeys(nodes, 0)
        on = {name: node.on for name, node in nodes.items() if node.on is not None}
        self._borrowed = {
            name: frozenset(hosts[host].interfaces.values()) for name, host in on.items() if host in hosts
        }

    def next_of(self, node: str) -> str:
        """The next one of a node."""
        while True:
            name = f"eth{self._next[node]}"
            self._next[node] += 1
            if name not in self._borrowed.get(node, ()):
                return name


def with_topology(source: Source) -> Source:
    """The source of an experiment: a file with only the content of a topology gets the key above it."""
    data = source.data
    if not isinstance(data, dict) or "topology" in data or not data.keys() & {"nodes", "links", *SHAPES}:
        return source
    lines = {("topology", *path): line for path, line in source.lines.items()}
    return replace(source, data={"topology": data}, lines=lines)


def read_topology(
    reader: Reader, factors: Factors, profiles: Profiles, value: Any, wants_ipv6: bool, hosts: Mapping[str, Host]
) -> TopologyTemplate:
    """Reads a topology.

    Args:
        wants_ipv6: whether any path uses IPv6, for the checks that depend on it.
        hosts: the machines that nodes may be on.
    """
    place: KeyPath = ("topology",)
    data = reader.mapping(place, value, WRITTEN_OUT.what, (*WRITTEN_OUT.names, *_shape_keys(value)))
    between = None
    numbers: dict[int, int] = {}
    if data.keys() & SHAPES:
        written = write_out(reader, data)
        if written is None:
            return TopologyTemplate(nodes={}, links=())
        reader.moved.update(written.moved)
        data = {"nodes": written.nodes, "links": written.links}
        between, numbers = written.between, written.numbers
    elif isinstance(value, dict):
        note_missing(reader, place, data, WRITTEN_OUT)
    nodes: dict[str, NodeTemplate] = {}
    links: list[LinkTemplate] = []
    if "nodes" in data:
        nodes = _read_nodes(reader, factors, data["nodes"], hosts)
    if "links" in data:
        links = _read_links(reader, factors, profiles, data["links"], nodes, numbers, hosts)
    _check(reader, factors, links, wants_ipv6)
    return TopologyTemplate(nodes=nodes, links=tuple(links), between=between, hosts=hosts)


def _shape_keys(value: Any) -> tuple[str, ...]:
    """The keys that can stand beside nodes and links: a shape and its settings."""
    return (*SHAPES, *SETTINGS) if isinstance(value, dict) and value.keys() & SHAPES else tuple(SHAPES)


def _read_nodes(reader: Reader, factors: Factors, value: Any, hosts: Mapping[str, Host]) -> dict[str, NodeTemplate]:
    """Reads the nodes. Wrong ones are kept, so that links to them are not reported as well."""
    place = ("topology", "nodes")
    items = read_names(reader, place, value, NODES)
    return {name: read_node(reader, factors, (*place, name), name, item, hosts) for name, item in items.items()}


def _read_links(
    reader: Reader,
    factors: Factors,
    profiles: Profiles,
    value: Any,
    nodes: dict[str, NodeTemplate],
    numbers: dict[int, int],
    hosts: Mapping[str, Host],
) -> list[LinkTemplate]:
    place = ("topology", "links")
    items = read_items(reader, place, value, LINKS)
    links: dict[str, LinkTemplate] = {}
    prefixes: list[LinkPrefix] = []
    numbering = Numbering(nodes, hosts)
    taken: dict[tuple[str, str], str] = {}
    places = {name: node.on for name, node in nodes.items()}
    addresses_v4 = partial(link_ipv4, links=len(items))
    for index, item in enumerate(items):
        path: KeyPath = (*place, index)
        data = read_keys(reader, path, item, LINK)
        ends = _read_endpoints(reader, path, data, nodes) if isinstance(item, dict) else None
        if ends is None:
            continue
        carried = read_over(reader, path, data, ends, places, hosts, taken)
        if carried is None:
            continue
        link = _read_link(reader, factors, profiles, index, data, ends, carried, numbering, numbers, addresses_v4)
        if link is None:
            continue
        if link.name in links:
            line = reader.source.line_of(links[link.name].path)
            reader.problem(
                path,
                f'two links are named "{link.name}", the first in line {line}; give one of them another name with '
                "name:",
            )
            continue
        links[link.name] = link
        for key in ADDRESSES:
            address = getattr(link.interfaces[0], key)
            if address is not None:
                prefixes.append(LinkPrefix(link=link.name, index=index, network=address.network, by_hand=key in data))
    check_prefixes(reader, prefixes)
    return list(links.values())


def _read_endpoints(
    reader: Reader, path: KeyPath, data: dict[str, Any], nodes: dict[str, NodeTemplate]
) -> tuple[str, str] | None:
    place = (*path, "endpoints")
    ends = read_pair(reader, place, data["endpoints"], ENDPOINTS) if "endpoints" in data else None
    if ends is None:
        return None
    wrong = False
    for position, end in enumerate(ends):
        if not isinstance(end, str) or end not in nodes:
            wrong = True
            if nodes:
                word = end if isinstance(end, str) else ""
                reader.problem((*place, position), f"there is no node {shown(end)}; {suggest(word, nodes)}")
    if wrong:
        return None
    if ends[0] == ends[1]:
        reader.problem(place, f'a link from "{ends[0]}" to itself leads nowhere; name two nodes')
        return None
    return ends[0], ends[1]


def _read_link(
    reader: Reader,
    factors: Factors,
    profiles: Profiles,
    index: int,
    data: dict[str, Any],
    ends: tuple[str, str],
    carried: Carried,
    numbering: Numbering,
    numbers: dict[int, int],
    addresses_v4: AutomaticIPv4,
) -> LinkTemplate | None:
    path: KeyPath = ("topology", "links", index)
    name = reader.parsed((*path, "name"), data.get("name", f"{ends[0]}-{ends[1]}"), LINK_NAMES.parse)
    if name is None:
        return None
    given: dict[str, tuple[KeyPath, Any]] = {key: ((*path, key), data[key]) for key in data if key in LINK_SETTINGS}
    for direction in (direction for direction in WAYS if direction in data):
        of_direction = read_keys(reader, (*path, direction), data[direction], DIRECTIONS[direction])
        given |= {
            f"{direction}.{key}": ((*path, direction, key), of_direction[key])
            for key in of_direction
            if key in DIRECTION_SETTINGS
        }
    settings: dict[str, Setting] = {}
    files = NamedFiles(reader=reader, profiles=profiles)
    for key, (place, value) in given.items():
        read = read_setting(factors, place, value, files, numbers.get(index))
        if read is not None:
            settings[key] = read
    interfaces = _read_interfaces(reader, index, data, ends, carried, numbering, addresses_v4)
    if interfaces is None or len(settings) < len(given):
        return None
    row = f"link {index + 1} of {len(numbers)} ({name}): " if index in numbers else ""
    return LinkTemplate(
        name=name,
        path=path,
        interfaces=interfaces,
        settings=settings,
        carried=carried,
        delays_ns=files.delays_ns,
        profiles=files.chosen,
        place=row,
    )


def _read_interfaces(
    reader: Reader,
    index: int,
    data: dict[str, Any],
    ends: tuple[str, str],
    carried: Carried,
    numbering: Numbering,
    addresses_v4: AutomaticIPv4,
) -> tuple[Interface, Interface] | None:
    path: KeyPath = ("topology", "links", index)
    if all(data.get(key) == NO_ADDRESSES for key in ADDRESSES):
        reader.problem(path, "a link with neither IPv4 nor IPv6 carries nothing; give it addresses of one family")
        return None
    ipv4 = _read_family(reader, path, data, "ipv4", IPv4Interface, addresses_v4)
    ipv6 = _read_family(reader, path, data, "ipv6", IPv6Interface, link_ipv6)
    if ipv4 is None or ipv6 is None:
        return None
    names = carried.devices or (numbering.next_of(ends[0]), numbering.next_of(ends[1]))
    first, second = (
        Interface(node=end, name=name, ipv4=address4, ipv6=address6)
        for end, name, address4, address6 in zip(ends, names, ipv4, ipv6, strict=True)
    )
    return first, second


def _read_family(
    reader: Reader,
    path: KeyPath,
    data: dict[str, Any],
    key: str,
    kind: Callable[[str], _Address],
    automatic: Callable[[int], tuple[_Address, _Address]],
) -> tuple[_Address | None, _Address | None] | None:
    """The addresses of both ends in a family, or the word for none. None if the file has wrong ones."""
    if key not in data:
        return automatic(int(path[-1]))
    if data[key] == NO_ADDRESSES:
        return None, None
    return read_addresses(reader, (*path, key), data[key], kind, ADDRESSES[key])


def _check(reader: Reader, factors: Factors, links: list[LinkTemplate], wants_ipv6: bool) -> None:
    """Notes what is wrong with a link at any combination of the levels of its own settings. In a row of links it
    notes only the first problem of each kind, since the others follow from it."""
    names: set[str] = set()
    for link in links:
        for assignment in factors.assignments(link.factors(), _MAX_CHECKED):
            wrong = link.flaw(assignment, wants_ipv6)
            if wrong is not None and not (link.place and wrong[0] in names):
                key, message = wrong
                names |= {key} if link.place else set()
                reader.problem((*link.path, *key.split(".")), f"{link.place}{message}")
