"""The part of the schema of experiment files that is about networks: topologies, profiles, and events on links."""

from __future__ import annotations

from ..model.emulation import WAYS
from ..model.identifiers import LINK_NAME, NAME, SYSCTL
from .events_file import CHANGEABLE, EVENT_KEYS
from .hosts_file import ON, OVER
from .key_schema import KeySchemas
from .link_addresses import NO_ADDRESSES
from .link_settings import DIRECTION_SETTINGS, LINK_SETTINGS
from .node_settings import NODE_KEYS, NODE_KINDS, NODE_SETTINGS
from .profile_file import PROFILE_KEYS, SIDE_KEYS, SIDES
from .schema_terms import (
    Schema,
    integer,
    named,
    object_of,
    pair,
    parameter_schema,
    ref,
    swept,
    text,
    value_schema,
    whole,
)
from .shape_file import SETTINGS
from .shapes import MAX_LINKS, MAX_NODES, SHAPES, Shape
from .topology_file import LINK_KEYS


def topology_schema() -> Schema:
    """A network, written out or in a short form."""
    counts = {"minProperties": 1, "maxProperties": MAX_NODES}
    names = {"propertyNames": {"pattern": whole(NAME.pattern)}}
    nodes = named(ref("node")) | names | counts | {"description": "For each name, host or router."}
    links = {"type": "array", "items": ref("link"), "maxItems": MAX_LINKS, "description": "Point-to-point segments."}
    written = object_of({"nodes": nodes, "links": links}, required=("nodes", "links"))
    return {"anyOf": [written, *map(_shape, SHAPES.values())]}


def profile_schema() -> Schema:
    """An access network."""
    properties: dict[str, Schema] = {
        "title": text("One line for people; unless given, the name."),
        "mtu": ref("mtu"),
        **{
            side: object_of({key: value_schema(DIRECTION_SETTINGS[key]) for key in SIDE_KEYS})
            | {"description": f"The link for packets {towards} the customer."}
            for side, towards in zip(SIDES, ("from", "to"), strict=True)
        },
        "sources": {**named(text()), "description": "Sources of the numbers, by key."},
    }
    assert tuple(properties) == PROFILE_KEYS, "every key of a profile has its schema"
    return object_of(properties, required=SIDES)


def network_definitions(schemas: KeySchemas) -> dict[str, Schema]:
    """Parts that explicit networks and short forms share."""
    links = {f"link-{key}": parameter_schema(parameter) for key, parameter in LINK_SETTINGS.items()}
    nodes = {f"node-{key}": parameter_schema(parameter) for key, parameter in NODE_SETTINGS.items()}
    sysctl = {
        "type": "object",
        "propertyNames": {"pattern": whole(SYSCTL.pattern)},
        "additionalProperties": swept({"type": ["string", "number", "boolean"]}),
        "description": "Settings of the network in this node, such as net.ipv4.tcp_sack: 0.",
    }
    per_link = {"type": "string", "pattern": r"^\s*[0-9]+\s*[-+]\s*[0-9]+\s+per\s+link\s*$"}
    doc = links["link-mtu"]["description"]
    return {
        **links,
        "row-mtu": swept({"anyOf": [ref("mtu"), per_link]})
        | {"description": f"{doc}; in a row of links also 1500 - 15 per link"},
        "first-prefix": {
            "type": "string",
            "pattern": r"^\S+/[0-9]+$",
            "description": "The prefix of the first link; each later link has the next one.",
        },
        **nodes,
        "sysctl": sysctl,
        "link": object_of(_link_properties(schemas), required=("endpoints",)),
        "changed-link": object_of(_link_properties(schemas)),
        "node": {"anyOf": [{"enum": list(NODE_KINDS)}, object_of(_node_properties(schemas), required=("kind",))]},
        "changed-node": {"anyOf": [{"enum": list(NODE_KINDS)}, object_of(_node_properties(schemas))]},
    }


def _node_properties(schemas: KeySchemas) -> dict[str, Schema]:
    properties: dict[str, Schema] = {
        "kind": {"enum": list(NODE_KINDS)},
        **schemas.properties((ON,)),
        "sysctl": ref("sysctl"),
        **_node_settings(),
    }
    assert tuple(properties) == NODE_KEYS, "every key of a node has its schema"
    return properties


def _node_settings() -> dict[str, Schema]:
    return {key: ref(f"node-{key}") for key in NODE_SETTINGS}


def _link_properties(schemas: KeySchemas) -> dict[str, Schema]:
    address = {"type": "string", "pattern": r"^\S+/[0-9]+$"}
    doc = (
        "Addresses of the endpoints with prefix lengths; none if it does not carry the family; unless given: automatic"
    )
    addresses = {"anyOf": [{"enum": [NO_ADDRESSES]}, pair(address)], "description": doc}
    properties = {
        "endpoints": {**pair(ref("name")), "description": "The two nodes that it joins."},
        "name": {
            "type": ["string", "integer"],
            "pattern": whole(LINK_NAME.pattern),
            "description": "unless given: its endpoints with a dash between",
        },
        **schemas.properties((OVER,)),
        **{key: ref(f"link-{key}") for key in LINK_SETTINGS},
        **{
            way: object_of({key: ref(f"link-{key}") for key in DIRECTION_SETTINGS})
            | {"description": f"Settings for packets that leave the {end} endpoint."}
            for way, end in zip(WAYS, ("first", "second"), strict=True)
        },
        "ipv4": addresses,
        "ipv6": addresses,
    }
    assert set(properties) == set(LINK_KEYS), "every key of a link has its schema"
    return properties


def _shape(shape: Shape) -> Schema:
    """A short form: its size, the settings of all links and all routers, and the nodes and links that differ."""
    counts = {name: integer(least, most) for name, (least, most) in shape.sizes.items()}
    settings: dict[str, Schema] = {
        "names": {"type": "string", "description": "the beginning of the names of nodes; numbers from 0 follow it"},
        **{key: ref("row-mtu" if key == "mtu" and shape.is_row else f"link-{key}") for key in LINK_SETTINGS},
        "ipv4": ref("first-prefix"),
        "ipv6": ref("first-prefix"),
        **_node_settings(),
        "sysctl": ref("sysctl"),
    }
    assert set(settings) == set(SETTINGS), "every key of a short form has its schema"
    long = object_of({**counts, **settings}, required=shape.required)
    short = [counts[shape.required[0]]] if len(shape.required) == 1 else []
    further = {"type": "array", "items": ref("link"), "description": "Further links."}
    changed = named(ref("changed-link")) | {
        "description": "Links of the shape that differ, by name, and further links."
    }
    properties = {
        shape.name: {"anyOf": [*short, long], "description": shape.doc},
        **settings,
        "nodes": named(ref("changed-node"))
        | {"description": "Nodes of the shape that differ, by name, and further nodes."},
        "links": {"anyOf": [further, changed]},
    }
    return object_of(properties, required=(shape.name,))


def event_schema() -> Schema:
    """A change of a link in the middle of trials."""
    properties = {
        "at": {**swept(ref("duration")), "description": "time after the traffic begins, with the warm-up"},
        "link": ref("name") | {"pattern": whole(LINK_NAME.pattern), "description": "the name of a link"},
        "mtu": {**swept(ref("mtu")), "description": "MTU of both ends from then on"},
        **{key: ref(f"link-{key}") for key in CHANGEABLE},
        **{
            way: object_of({key: ref(f"link-{key}") for key in CHANGEABLE})
            | {"description": f"Changes for packets that leave the {end} endpoint of the link."}
            for way, end in zip(WAYS, ("first", "second"), strict=True)
        },
    }
    assert tuple(properties) == EVENT_KEYS, "every key of an event has its schema"
    return object_of(properties, required=("at", "link")) | {"minProperties": 3}
