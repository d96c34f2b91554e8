"""The settings of a node beside its kind: what it filters, and settings of its kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from ..model.host import Host
from ..model.identifiers import SYSCTL
from ..model.parameter import Parameter, Scalar
from ..model.quoting import printable, shown
from ..model.topology import FragmentPolicy, IcmpPolicy, NatPorts, Node, NodeKind
from .factors import Assignment, Factors, Setting, Varying, resolve
from .hosts_file import ON, read_on
from .key_reader import read_keys, read_names, read_value
from .keys import CompoundKey, KnownKeys, NamedValues, NameRule, SharedValue, SweptParameter, ValueForms
from .reader import Reader
from .yaml_source import KeyPath

SEVERAL_NUMBERS = frozenset(f"net.ipv4.{name}" for name in ("tcp_mem", "tcp_rmem", "tcp_wmem", "udp_mem"))


MAX_FILTER_RULES = 10_000

_OF_NODES = (
    Parameter(
        name="masquerade",
        kind="flag",
        doc="packets that it forwards leave with its own address as their source (NAT), in both families",
        default=False,
    ),
    Parameter(
        name="nat-ports",
        column="nat_ports",
        kind="choice",
        choices=get_args(NatPorts),
        doc=(
            "the ports of a router that masquerades: with kept, packets of a socket leave from its own port if that is "
            "free, whomever they are for; with random, from another one for each destination, as a symmetric NAT does"
        ),
        default="kept",
    ),
    Parameter(
        name="mss-clamp",
        kind="flag",
        doc="the MSS of TCP connections that it forwards is lowered to what its links carry, in both families",
        default=False,
    ),
    Parameter(
        name="icmp",
        kind="choice",
        choices=get_args(IcmpPolicy),
        doc=(
            "the ICMP errors that it sends and forwards: all of them; with no-too-big all but Packet Too Big and "
            "Fragmentation Needed, which makes a black hole; with none, no error at all"
        ),
        default="all",
    ),
    Parameter(
        name="drop",
        kind="choice",
        choices=get_args(FragmentPolicy),
        doc=(
            "the fragments that it drops: none; first-fragments are those at offset 0; later-fragments are all others; "
            "fragments are all, also whole IPv6 packets that have a fragment header (RFC 6946)"
        ),
        default="none",
    ),
    Parameter(
        name="filter-rules",
        kind="count",
        minimum=0,
        maximum=MAX_FILTER_RULES,
        doc=(
            "rules that every packet is checked against, one after the other, before it is forwarded; "
            "none matches: the cost of a firewall of that length"
        ),
        default=0,
    ),
)
NODE_SETTINGS: Mapping[str, Parameter] = {parameter.name: parameter for parameter in _OF_NODES}
"""The parameters of a router, by name. A column is the field of `model.topology.Node` that it sets."""
SWEPT_NODE_SETTINGS = tuple(
    SweptParameter(parameter=parameter, definition=f"node-{parameter.name}") for parameter in _OF_NODES
)


def _sysctl_value(value: object) -> Scalar:
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, (str, int, float)) or not str(value) or printable(str(value)) != str(value):
        raise ValueError(f"a setting's value must be a number or text on one line, not {shown(value)}")
    return value


_SYSCTL_VALUE = Parameter(name="value", kind="sysctl", parser=_sysctl_value, doc="the value of the setting")
_SYSCTL_NAMES = NameRule(
    noun="a setting",
    pattern=SYSCTL,
    sentence="only settings of the network can be set in a node, such as net.ipv4.tcp_sack",
)
_SYSCTL = NamedValues(what="sysctl", item=SweptParameter(parameter=_SYSCTL_VALUE), names=_SYSCTL_NAMES)
SYSCTL_PART = CompoundKey(
    name="sysctl",
    value=SharedValue(name="sysctl", value=_SYSCTL),
    doc="kernel settings of the node's network, such as net.ipv4.tcp_sack: 0",
)

KIND = Parameter(name="kind", kind="choice", noun="kind of node", choices=get_args(NodeKind), doc="host or router")
NODE = KnownKeys(
    what="a node",
    entries=(KIND, ON, SYSCTL_PART, *SWEPT_NODE_SETTINGS),
    missing={"kind": "the kind is missing; it is host or router"},
)
A_NODE = SharedValue(name="node", value=ValueForms((KIND, NODE)))
A_CHANGED_NODE = SharedValue(
    name="changed-node", value=ValueForms((KIND, KnownKeys(what="the changes of a node", entries=NODE.entries)))
)
"""A node of a shape, of which only the differences are given."""


@dataclass(frozen=True, kw_only=True)
class NodeTemplate:
    """A node whose settings may still vary: by key, and those of its kernel by name. `on` is its host."""

    name: str
    kind: NodeKind
    on: str | None = None
    settings: dict[str, Setting] = field(default_factory=dict)
    sysctl: dict[str, Setting] = field(default_factory=dict)

    def factors(self) -> list[Any]:
        """Keys of the factors on which it depends, in order of appearance."""
        both = (*self.settings.values(), *self.sysctl.values())
        return list(dict.fromkeys(setting.factor for setting in both if isinstance(setting, Varying)))

    def concrete(self, assignment: Assignment) -> Node:
        """The node at one combination of levels."""
        chosen = {NODE_SETTINGS[key].column: resolve(setting, assignment) for key, setting in self.settings.items()}
        sysctl = {name: str(resolve(setting, assignment)) for name, setting in self.sysctl.items()}
        return Node(name=self.name, kind=self.kind, on=self.on, sysctl=sysctl, **chosen)


def read_node(
    reader: Reader, factors: Factors, path: KeyPath, name: str, item: Any, hosts: Mapping[str, Host]
) -> NodeTemplate:
    """Reads `router`, or a mapping with a kind and settings. What is wrong is noted and left out."""
    if not isinstance(item, dict):
        return NodeTemplate(name=name, kind=_kind(reader, path, item))
    data = read_keys(reader, path, item, NODE)
    on = read_on(reader, (*path, "on"), data["on"], hosts) if "on" in data else None
    sysctl = _read_sysctl(reader, factors, (*path, "sysctl"), data["sysctl"]) if "sysctl" in data else {}
    if "kind" not in data:
        return NodeTemplate(name=name, kind="host", on=on, sysctl=sysctl)
    kind = _kind(reader, (*path, "kind"), data["kind"])
    settings: dict[str, Setting] = {}
    for key in (key for key in data if key in NODE_SETTINGS):
        pair = (("node", key), f"node_{NODE_SETTINGS[key].column}")
        read = factors.setting((*path, key), data[key], NODE_SETTINGS[key].parse, "", pair)
        if kind == "host":
            reader.problem(
                (*path, key), f'"{name}" is a host, and only routers forward: leave {key} out, or set it at a router'
            )
        elif key == "nat-ports" and data.get("masquerade", False) is False:
            reader.problem(
                (*path, key),
                f'"{name}" does not masquerade, and chooses no ports: set masquerade too, or leave {key} out',
            )
        elif read is not None:
            settings[key] = read
    return NodeTemplate(name=name, kind=kind, on=on, settings=settings, sysctl=sysctl)


def _kind(reader: Reader, path: KeyPath, value: Any) -> NodeKind:
    return "router" if read_value(reader, path, value, KIND) == "router" else "host"


def _read_sysctl(reader: Reader, factors: Factors, place: KeyPath, value: Any) -> dict[str, Setting]:
    sysctl: dict[str, Setting] = {}
    for name, setting in read_names(reader, place, value, _SYSCTL).items():
        path = (*place, name)
        if not _SYSCTL_NAMES.allows(name):
            continue
        if isinstance(setting, list) and name.replace("/", ".") in SEVERAL_NUMBERS and any(map(_is_number, setting)):
            words = "several numbers in one text, such as 4096 87380 6291456; a list would mean levels"
            reader.problem(path, f"{name} takes {words}")
            continue
        pair = (("sysctl", name), re.sub(r"[^A-Za-z0-9]", "_", name))
        read = factors.setting(path, setting, _SYSCTL_VALUE.parse, "", pair)
        if read is not None:
            sysctl[name] = read
    return sysctl


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))
