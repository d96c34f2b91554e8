"""The keys of a topology, declared: nodes and links, or a shape with its settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..model.identifiers import NAME, NAME_RULE
from ..model.parameter import Parameter, Scalar
from ..model.quoting import shown
from .keys import (
    CompoundKey,
    Key,
    KnownKeys,
    NamedValues,
    NameRule,
    SharedValue,
    SweptParameter,
    Value,
    ValueForms,
    ValueList,
)
from .link_keys import A_CHANGED_LINK, A_LINK, swept_setting
from .link_settings import LINK_SETTINGS, MTU, parse_mtu_profile
from .node_settings import A_CHANGED_NODE, A_NODE, SWEPT_NODE_SETTINGS, SYSCTL_PART
from .shapes import MAX_LINKS, MAX_NODES, SHAPES, Shape

NODES = NamedValues(
    what="nodes",
    item=A_NODE,
    names=NameRule(noun="a node", pattern=NAME, rule=NAME_RULE),
    most=MAX_NODES,
    empty="no node is given; a network has at least two hosts, such as {h1: host, h2: host}",
)
LINKS = ValueList(what="links", item=A_LINK, most=MAX_LINKS)
WRITTEN_OUT = KnownKeys(
    what="topology",
    entries=(
        CompoundKey(name="nodes", value=NODES, doc="for each name, host or router"),
        CompoundKey(name="links", value=LINKS, doc="point-to-point segments"),
    ),
    missing={
        "nodes": (
            "the nodes are missing; give a mapping such as {h1: host, r1: router, h2: host}, or a shape such as "
            "chain: 5"
        ),
        "links": "the links are missing; give a list such as [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]",
    },
)
"""A network without a short form."""


def _names(value: object) -> Scalar:
    if not isinstance(value, str) or not value.replace("-", "").isalnum() or not value.isascii() or len(value) > 30:
        raise ValueError(f"names of nodes cannot begin with {shown(value)}; give at most 30 letters, digits and dashes")
    return value


NODE_NAMES = Parameter(
    name="names",
    kind="text",
    parser=_names,
    doc="the beginning of the names of nodes; numbers from 0 follow it",
)
_ROW_MTU = replace(
    MTU, kind="row-mtu", parser=parse_mtu_profile, doc=f"{MTU.doc}; in a row of links also 1500 - 15 per link"
)
_FIRST_PREFIX = SharedValue(name="first-prefix", value=Parameter(name="prefix", kind="cidr", doc=""))


def _settings(is_row: bool) -> Iterator[Key]:
    """The keys of a short form beside its size. They are for every link, for every router, or for every node."""
    yield NODE_NAMES
    for parameter in LINK_SETTINGS.values():
        is_row_mtu = is_row and parameter is MTU
        yield SweptParameter(parameter=_ROW_MTU, definition="row-mtu") if is_row_mtu else swept_setting(parameter)
    for family in ("ipv4", "ipv6"):
        doc = "the prefix of the first link; each later link has the next one"
        yield CompoundKey(name=family, value=_FIRST_PREFIX, doc=doc)
    yield from SWEPT_NODE_SETTINGS
    yield SYSCTL_PART


SETTINGS = tuple(entry.name for entry in _settings(is_row=False))
"""The keys of a short form beside its size."""


def sizes_of(shape: Shape) -> dict[str, Parameter]:
    """The keys that say how large a shape is."""
    return {
        name: Parameter(name=name, kind="count", minimum=least, maximum=most, doc="")
        for name, (least, most) in shape.sizes.items()
    }


def form_of(shape: Shape) -> KnownKeys:
    """A shape as a mapping: its size, and settings."""
    return KnownKeys(what=f"a {shape.name}", entries=(*sizes_of(shape).values(), *_settings(shape.is_row)))


def _topology_of(shape: Shape) -> KnownKeys:
    """A short form: a shape with settings beside it, and the nodes and links that differ."""
    long: Value = replace(form_of(shape), missing=dict.fromkeys(shape.required, ""))
    value = ValueForms((sizes_of(shape)[shape.required[0]], long)) if len(shape.required) == 1 else ValueForms((long,))
    nodes = NamedValues(what="nodes", item=A_CHANGED_NODE)
    links = ValueForms((ValueList(what="links", item=A_LINK), NamedValues(what="links", item=A_CHANGED_LINK)))
    return KnownKeys(
        what="topology",
        entries=(
            CompoundKey(name=shape.name, value=value, doc=shape.doc),
            *_settings(shape.is_row),
            CompoundKey(name="nodes", value=nodes, doc="nodes of the shape that differ, by name, and further nodes"),
            CompoundKey(
                name="links",
                value=links,
                doc="further links, or by name links of the shape that differ and further ones",
            ),
        ),
        missing={shape.name: ""},
    )


TOPOLOGY = SharedValue(name="topology", value=ValueForms((WRITTEN_OUT, *map(_topology_of, SHAPES.values()))))
