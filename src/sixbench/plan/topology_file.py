"""The `topology` part of an experiment: nodes, links, addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Interface, IPv6Interface, NetmaskValueError
from typing import Any, TypeVar

from ..model import topology, units
from ..model.topology import Interface, Link, Node, Topology
from ..model.wording import shown
from ..model.workload import Scalar
from .addressing import link_ipv4, link_ipv6
from .factors import Assignment, Constant, Factors, Setting, Varying, resolve
from .reader import Reader
from .yaml_source import KeyPath

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
NAME_RULE = "a name is 1 to 40 letters, digits, dots, dashes or underscores and starts with a letter or digit"

MAX_NODES = 2000
DEFAULT_MTU_BYTES = 1500
"""RFC 894: Ethernet."""

_LINK_KEYS = (
    "endpoints",
    "name",
    "mtu",
    "rate",
    "queue",
    "burst",
    "delay",
    "jitter",
    "loss",
    "offload",
    "ipv4",
    "ipv6",
)

_Address = TypeVar("_Address", IPv4Interface, IPv6Interface)


@dataclass(frozen=True, kw_only=True)
class LinkTemplate:
    """A link whose settings may still vary."""

    name: str
    path: KeyPath
    interfaces: tuple[Interface, Interface]
    settings: dict[str, Setting]


@dataclass(frozen=True, kw_only=True)
class TopologyTemplate:
    """A network whose settings may still vary."""

    nodes: dict[str, Node]
    links: tuple[LinkTemplate, ...]

    def factors(self) -> list[Any]:
        """Keys of the factors that it depends on, in order of appearance."""
        keys: dict[Any, None] = {}
        for link in self.links:
            for setting in link.settings.values():
                if isinstance(setting, Varying):
                    keys.setdefault(setting.factor)
        return list(keys)

    def concrete(self, assignment: Assignment) -> Topology:
        """The network at one combination of levels."""
        return Topology(nodes=self.nodes, links=tuple(_link(template, assignment) for template in self.links))


def read_topology(reader: Reader, factors: Factors, value: Any, wants_ipv6: bool) -> TopologyTemplate:
    """Reads it; `wants_ipv6` is whether any path uses IPv6, for the checks that depend on it."""
    data = reader.mapping(("topology",), value, "topology", ("nodes", "links"))
    nodes = _read_nodes(reader, data.get("nodes"))
    links: list[LinkTemplate] = []
    next_interface = dict.fromkeys(nodes, 0)
    if "links" not in data:
        reader.problem(("topology",), "links are missing: a list of {endpoints: [a, b]}")
    for index, item in enumerate(reader.sequence(("topology", "links"), data.get("links", []), "links")):
        link = _read_link(reader, factors, index, item, nodes, next_interface)
        if link is None:
            continue
        twin = next((other for other in links if other.name == link.name), None)
        if twin is not None:
            line = reader.source.line_of(twin.path)
            reader.problem(
                link.path,
                f'two links are named "{link.name}", the first in line {line}; give one a name of its own with name:',
            )
        links.append(link)
    _check_addresses(reader, links)
    if wants_ipv6:
        _check_mtu(reader, factors, links)
    return TopologyTemplate(nodes=nodes, links=tuple(links))


def _read_nodes(reader: Reader, value: Any) -> dict[str, Node]:
    place = ("topology", "nodes")
    nodes: dict[str, Node] = {}
    if value is None:
        reader.problem(("topology",), "nodes are missing: a mapping such as {h1: host, r1: router, h2: host}")
        return nodes
    items = reader.mapping(place, value, "nodes")
    if len(items) > MAX_NODES:
        reader.problem(place, f"{len(items)} nodes are more than {MAX_NODES}")
        return nodes
    for name, item in items.items():
        path = (*place, name)
        if not NAME.fullmatch(name):
            reader.problem(path, f"{shown(name)} cannot name a node: {NAME_RULE}")
            continue
        sysctl: dict[str, str] = {}
        kind_value = item
        if isinstance(item, dict):
            data = reader.mapping(path, item, "node", ("kind", "sysctl"))
            kind_value = data.get("kind")
            for key, setting in reader.mapping((*path, "sysctl"), data.get("sysctl", {}), "sysctl").items():
                if not re.fullmatch(r"net[./][A-Za-z0-9_./-]+", key) or ".." in key:
                    reader.problem(
                        (*path, "sysctl", key),
                        "only settings of the network can be set in a node, such as net.ipv4.tcp_sack",
                    )
                elif isinstance(setting, (dict, list)) or setting is None:
                    reader.problem((*path, "sysctl", key), "a setting's value must be text or a number")
                else:
                    sysctl[key] = str(int(setting)) if isinstance(setting, bool) else str(setting)
        kind = reader.one_of(path, kind_value, "kind of node", ("host", "router"))
        if kind is not None:
            nodes[name] = Node(name=name, kind="host" if kind == "host" else "router", sysctl=sysctl)
    return nodes


def _read_link(
    reader: Reader, factors: Factors, index: int, value: Any, nodes: dict[str, Node], next_interface: dict[str, int]
) -> LinkTemplate | None:
    path: KeyPath = ("topology", "links", index)
    data = reader.mapping(path, value, "a link", _LINK_KEYS)
    ends = _read_endpoints(reader, path, data, nodes)
    if ends is None:
        return None
    name = data.get("name", f"{ends[0]}-{ends[1]}")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}", name):
        reader.problem((*path, "name"), f"{shown(name)} cannot name a link: {NAME_RULE}")
        return None
    settings: dict[str, Setting] = {}
    for key, (parse, suffix) in _SETTINGS.items():
        if key in data:
            setting = factors.setting((*path, key), data[key], parse, suffix, (("link", key), f"link_{key}{suffix}"))
            if setting is not None:
                settings[key] = setting
    if "queue" in settings and "rate" not in settings:
        reader.problem((*path, "queue"), "a queue needs a rate before which it forms: add rate, or leave queue out")
    if "burst" in settings and "rate" not in settings:
        reader.problem((*path, "burst"), "a burst belongs to a rate: add rate, or leave burst out")
    interfaces = []
    try:
        automatic = link_ipv4(index) if "ipv4" not in data else None
    except ValueError as error:
        reader.problem(path, str(error))
        return None
    ipv4 = automatic or _read_addresses(reader, (*path, "ipv4"), data.get("ipv4"), IPv4Interface)
    ipv6 = (
        link_ipv6(index)
        if "ipv6" not in data
        else _read_addresses(reader, (*path, "ipv6"), data["ipv6"], IPv6Interface)
    )
    if ipv4 is None or ipv6 is None:
        return None
    for node, address4, address6 in zip(ends, ipv4, ipv6, strict=True):
        interfaces.append(Interface(node=node, name=f"eth{next_interface[node]}", ipv4=address4, ipv6=address6))
        next_interface[node] += 1
    return LinkTemplate(name=name, path=path, interfaces=(interfaces[0], interfaces[1]), settings=settings)


def _read_endpoints(
    reader: Reader, path: KeyPath, data: dict[str, Any], nodes: dict[str, Node]
) -> tuple[str, str] | None:
    if "endpoints" not in data:
        reader.problem(path, "endpoints are missing: the two nodes that it joins, such as [h1, r1]")
        return None
    ends = reader.sequence((*path, "endpoints"), data["endpoints"], "endpoints")
    if len(ends) != 2:
        reader.problem((*path, "endpoints"), f"a link joins two nodes, not {len(ends)}")
        return None
    for position, end in enumerate(ends):
        if not isinstance(end, str) or end not in nodes:
            known = ", ".join(nodes) or "none"
            reader.problem((*path, "endpoints", position), f"there is no node {shown(end)}; the nodes are {known}")
            return None
    if ends[0] == ends[1]:
        reader.problem((*path, "endpoints"), f'a link from "{ends[0]}" to itself leads nowhere; name two nodes')
        return None
    return ends[0], ends[1]


def _read_addresses(
    reader: Reader, path: KeyPath, value: Any, kind: Callable[[str], _Address]
) -> tuple[_Address, _Address] | None:
    items = reader.sequence(path, value, "addresses")
    if len(items) != 2:
        reader.problem(
            path,
            "give two addresses with prefix lengths, in the order of endpoints, such as [192.0.2.1/24, 192.0.2.2/24]",
        )
        return None
    addresses = []
    for position, item in enumerate(items):
        try:
            address = kind(str(item))
        except (AddressValueError, NetmaskValueError, ValueError) as error:
            reader.problem((*path, position), f"{shown(item)} is not an address with a prefix length: {error}")
            return None
        if "/" not in str(item):
            reader.problem(
                (*path, position),
                f"{shown(item)} has no prefix length; write it as {item}/{24 if address.version == 4 else 64}",
            )
            return None
        addresses.append(address)
    first, second = addresses
    if first.network != second.network:
        reader.problem(path, f"{first} and {second} are not in one prefix, so the two ends could not reach each other")
        return None
    if first.ip == second.ip:
        reader.problem(path, f"both ends have the address {first.ip}; give them two")
        return None
    return first, second


def _check_addresses(reader: Reader, links: list[LinkTemplate]) -> None:
    seen: dict[object, LinkTemplate] = {}
    for link in links:
        for address in (link.interfaces[0].ipv4, link.interfaces[0].ipv6):
            other = seen.setdefault(address.network, link) if address is not None else link
            if other is not link and address is not None:
                key = "ipv4" if address.version == 4 else "ipv6"
                reader.problem(
                    (*link.path, key),
                    f'the prefix {address.network} is that of the link "{other.name}" too; give each link its own',
                )


def _check_mtu(reader: Reader, factors: Factors, links: list[LinkTemplate]) -> None:
    for link in links:
        setting = link.settings.get("mtu")
        values = (
            []
            if setting is None
            else [setting.value]
            if isinstance(setting, Constant)
            else factors.by_key[setting.factor].values
        )
        for value in values:
            if isinstance(value, int) and value < topology.ETHERNET_MIN_MTU_V6:
                reader.problem(
                    (*link.path, "mtu"),
                    f"an MTU of {value} is too small for IPv6, which a path of this experiment uses: "
                    f"at least {topology.ETHERNET_MIN_MTU_V6} (RFC 8200 section 5)",
                )


def _parse_mtu(value: object) -> Scalar:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{shown(value)} is not an MTU: a whole number of bytes without a unit, such as 1500")
    if not topology.MIN_MTU_V4 <= value <= topology.MAX_MTU:
        raise ValueError(f"an MTU of {value} cannot be: from {topology.MIN_MTU_V4} (RFC 791) to {topology.MAX_MTU}")
    return value


def _parse_rate(value: object) -> Scalar:
    rate_bps = units.parse_rate(value)
    if not 8_000 <= rate_bps <= 10**12:
        raise ValueError(f"{shown(value)} is out of range: from 8kbit to 1000Gbit")
    return rate_bps


def _parse_queue(value: object) -> Scalar:
    text = str(value)
    try:
        return f"{_positive(units.parse_duration(value), text)}ns"
    except ValueError:
        try:
            return f"{_positive(units.parse_size(value), text)}B"
        except ValueError as error:
            raise ValueError(f"{shown(value)} is not a queue: a time such as 50ms or a size such as 100KiB") from error


def _positive(value: int, text: str) -> int:
    if value <= 0:
        raise ValueError(f"{text} is not more than nothing")
    return value


def _parse_loss(value: object) -> Scalar:
    ratio = units.parse_ratio(value)
    if not 0 <= ratio < 1:
        raise ValueError(f"{shown(value)} is not a loss: from 0% to under 100%")
    return ratio


def _parse_flag(value: object) -> Scalar:
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return value


_SETTINGS: dict[str, tuple[Callable[[object], Scalar], str]] = {
    "mtu": (_parse_mtu, "_bytes"),
    "rate": (_parse_rate, "_bps"),
    "queue": (_parse_queue, ""),
    "burst": (units.parse_size, "_bytes"),
    "delay": (units.parse_duration, "_ns"),
    "jitter": (units.parse_duration, "_ns"),
    "loss": (_parse_loss, "_ratio"),
    "offload": (_parse_flag, ""),
}


def _link(template: LinkTemplate, assignment: Assignment) -> Link:
    value = {key: resolve(setting, assignment) for key, setting in template.settings.items()}
    mtu_bytes = value.get("mtu", DEFAULT_MTU_BYTES)
    queue = value.get("queue")
    return Link(
        name=template.name,
        ends=template.interfaces,
        mtu_bytes=mtu_bytes,
        rate_bps=value.get("rate"),
        queue_bytes=units.parse_size(queue) if queue and queue.endswith("B") else None,
        queue_ns=units.parse_duration(queue) if queue and queue.endswith("ns") else None,
        burst_bytes=value.get("burst"),
        delay_ns=value.get("delay", 0),
        jitter_ns=value.get("jitter", 0),
        loss_ratio=value.get("loss", 0.0),
        offload=value.get("offload"),
    )
