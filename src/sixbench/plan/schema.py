"""The JSON Schema of experiment files, so that editors complete and check them.

It is built from the registries that the readers use. It knows forms, not meanings. A file that it accepts may still be
refused, such as for a link to a node that does not exist or for an MTU too small for IPv6. A file that it refuses is
always refused. `docs/experiment.schema.json` is this schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..mechanisms import Mechanism
from ..model import units
from ..model.emulation import WAYS
from ..model.identifiers import LINK_NAME, NAME, SYSCTL
from ..model.parameter import MAX_FILE_NAME, Parameter, ParameterKind
from ..model.placement import PLACEMENTS
from ..model.topology import MAX_MTU, MIN_MTU_V4
from ..model.workload import WorkloadKind
from ..model.workloads import WORKLOADS
from .blocks_file import (
    BLOCKS_KEYS,
    DEFAULT_BLOCKS,
    DEFAULT_MAX_BLOCKS,
    DEFAULT_MAX_DECIDED,
    DEFAULT_MAX_TIMED,
    ESTIMATORS,
    MAX_BLOCKS,
    MAX_TRIM,
    STATISTICS_KEYS,
    UNTIL,
)
from .events_file import CHANGEABLE, EVENT_KEYS, MAX_EVENTS
from .experiment_file import BOTTLENECKS, DEFAULT_SEED, KEYS, MAX_SEED, REQUIRED
from .factors import FACTOR_NAME, MAX_LEVELS
from .kernels_file import MAX_KERNELS
from .link_addresses import NO_ADDRESSES
from .link_settings import DIRECTION_SETTINGS, LINK_SETTINGS
from .node_settings import NODE_KEYS, NODE_KINDS, NODE_SETTINGS
from .overrides import MAX_QUICK
from .profile_file import MAX_PROFILES, PROFILE_KEYS, SIDE_KEYS, SIDES, shipped_profiles
from .shape_file import SETTINGS
from .shapes import MAX_LINKS, MAX_NODES, SHAPES, Shape
from .topology_file import LINK_KEYS
from .workload_file import DISTRIBUTION

Schema = dict[str, Any]

_NUMBER = r"([0-9]+(\.[0-9]+)?|\.[0-9]+)"

_UNITS: dict[str, tuple[Iterable[str], str, list[str]]] = {
    "size": (units.SIZE_BYTES, "a size", ["64B", "8KiB", "1MB"]),
    "rate": (units.RATE_BPS, "a rate, per second", ["100Mbit", "1Gbit"]),
    "packet-rate": (units.PACKET_RATE_PPS, "packets per second", ["1000pps"]),
    "duration": ((*units.DURATION_NS, "µs", "μs"), "a time", ["5s", "50ms"]),
    "ratio": (units.RATIO, "a percentage", ["2%"]),
}


def experiment_schema(mechanisms: Mapping[str, Mechanism]) -> Schema:
    """The schema of experiments that can use these mechanisms."""
    properties: dict[str, Schema] = {
        "experiment": _ref("name") | {"description": "Name of the experiment; the run directory has it too."},
        "title": _text("One line for reports; unless given, the name."),
        "description": _text("What the experiment asks, in a few sentences."),
        "notes": {"type": "array", "items": _text(), "description": "Remarks that reports repeat."},
        "factors": {
            "type": "object",
            "propertyNames": {"pattern": _whole(FACTOR_NAME.pattern)},
            "additionalProperties": {"anyOf": [_ref("level"), _levels(_ref("level"))]},
            "description": "Lists of levels by name, for values that several places share as $name.",
        },
        "profiles": {
            "type": "object",
            "additionalProperties": _profile(),
            "maxProperties": MAX_PROFILES,
            "description": "Your own access networks, by name.",
        },
        "topology": _topology(),
        "between": {
            **_pair(_ref("name")),
            "description": "The two hosts that exchange traffic: the client, then the server.",
        },
        "paths": {
            "type": "object",
            "propertyNames": {"pattern": _whole(NAME.pattern)},
            "additionalProperties": _path(mechanisms),
            "minProperties": 1,
            "description": "The paths that are compared: for each name its mechanism.",
        },
        "baseline": _ref("name")
        | {"description": "The path that the others are compared with; unless given, the first."},
        "aa": {
            "type": "boolean",
            "default": False,
            "description": "Run the baseline twice, to learn how much it differs from itself.",
        },
        "workloads": {
            "type": "array",
            "items": _workload(),
            "minItems": 1,
            "description": "The traffic, and with it what is measured.",
        },
        "events": {
            "type": "array",
            "items": _event(),
            "minItems": 1,
            "maxItems": MAX_EVENTS,
            "description": "Changes of links during every trial; they are undone after it.",
        },
        "kernels": {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "maxItems": MAX_KERNELS}],
            "description": (
                "Kernels that it runs on, each in an emulated machine, such as debian-6.1. They are a factor."
            ),
        },
        "blocks": {
            **_blocks(),
            "default": DEFAULT_BLOCKS,
            "description": "How many blocks there are, and when to stop.",
        },
        "statistics": _statistics(),
        "seed": {
            **_integer(0, MAX_SEED),
            "default": DEFAULT_SEED,
            "description": "Seed of the random order of trials.",
        },
        "bottleneck": {
            "enum": list(BOTTLENECKS),
            "default": "any",
            "description": "With path, a trial is invalid if the machine limited it rather than the path.",
        },
        "placement": {
            "enum": list(PLACEMENTS),
            "description": (
                "Where the nodes of a path run: all on one processor, the server on one of its own, or wherever the "
                "kernel puts them. Left out, each workload has its own policy."
            ),
        },
        "keep-awake": {
            "type": "boolean",
            "description": (
                "Whether a thread of the idle class keeps every processor from sleeping. Left out: where the machine "
                "is virtual."
            ),
        },
        "quick": {
            "type": "object",
            "maxProperties": MAX_QUICK,
            "description": "Values that --quick sets, by their dotted paths, such as blocks: 3.",
        },
        "quick-virtual": {
            "type": "object",
            "maxProperties": MAX_QUICK,
            "description": "Values that --quick sets as well where the clock is virtual.",
        },
    }
    assert list(properties) == list(KEYS), "every key of an experiment has its schema"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sixbench experiment",
        "description": "A network, the paths through it and the traffic: see docs/experiments.",
        **_object(properties, required=REQUIRED),
        "$defs": _definitions(),
    }


def _definitions() -> dict[str, Schema]:
    quantities = {kind: _quantity(*about) for kind, about in _UNITS.items()}
    return {
        "name": {"type": ["string", "integer"], "pattern": _whole(NAME.pattern)},
        "factor": {
            "type": "string",
            "pattern": _whole(rf"\${FACTOR_NAME.pattern}"),
            "description": "A shared factor: its levels are under factors, by this name.",
        },
        "level": {"type": ["string", "number", "boolean"]},
        **quantities,
        "mtu": {**_integer(MIN_MTU_V4, MAX_MTU), "description": "whole bytes, without a unit"},
        "queue": {
            "anyOf": [_ref("duration"), _ref("size"), {"type": "string", "pattern": r"^\s*[0-9]+\s*packets?\s*$"}]
        },
        "flag": {"type": "boolean"},
        "profile": {"type": "string", "minLength": 1, "examples": list(shipped_profiles())},
        "states": {"type": "string", "pattern": r"^\s*([0-9.]+\s*%\s*){4}$"},
        "packets": {"type": ["string", "integer"], "pattern": r"^[0-9, -]+$"},
        "word": {"type": "string", "pattern": _whole("[A-Za-z0-9_-]{1,15}")},
        **_network_definitions(),
    }


def _quantity(names: Iterable[str], what: str, examples: list[str]) -> Schema:
    pattern = rf"^\s*{_NUMBER}\s*({'|'.join(names)})\s*$"
    return {
        "anyOf": [{"type": "string", "pattern": pattern}, {"enum": [0]}],
        "description": what,
        "examples": examples,
    }


def _topology() -> Schema:
    counts = {"minProperties": 1, "maxProperties": MAX_NODES}
    names = {"propertyNames": {"pattern": _whole(NAME.pattern)}}
    nodes = _named(_ref("node")) | names | counts | {"description": "For each name, host or router."}
    links = {"type": "array", "items": _ref("link"), "maxItems": MAX_LINKS, "description": "Point-to-point segments."}
    written = _object({"nodes": nodes, "links": links}, required=("nodes", "links"))
    return {"anyOf": [written, *map(_shape, SHAPES.values())], "description": "The network."}


def _profile() -> Schema:
    properties: dict[str, Schema] = {
        "title": _text("One line for people; unless given, the name."),
        "mtu": _ref("mtu"),
        **{
            side: _object({key: _value(DIRECTION_SETTINGS[key]) for key in SIDE_KEYS})
            | {"description": f"The link for packets {towards} the customer."}
            for side, towards in zip(SIDES, ("from", "to"), strict=True)
        },
        "sources": {**_named(_text()), "description": "Where the numbers come from, by key."},
    }
    assert tuple(properties) == PROFILE_KEYS, "every key of a profile has its schema"
    return _object(properties, required=SIDES)


def _network_definitions() -> dict[str, Schema]:
    """What explicit networks and short forms share."""
    links = {f"link-{key}": _parameter(parameter) for key, parameter in LINK_SETTINGS.items()}
    nodes = {f"node-{key}": _parameter(parameter) for key, parameter in NODE_SETTINGS.items()}
    sysctl = {
        "type": "object",
        "propertyNames": {"pattern": _whole(SYSCTL.pattern)},
        "additionalProperties": _swept({"type": ["string", "number", "boolean"]}),
        "description": "Settings of the network in this node, such as net.ipv4.tcp_sack: 0.",
    }
    per_link = {"type": "string", "pattern": r"^\s*[0-9]+\s*[-+]\s*[0-9]+\s+per\s+link\s*$"}
    doc = links["link-mtu"]["description"]
    return {
        **links,
        "row-mtu": _swept({"anyOf": [_ref("mtu"), per_link]})
        | {"description": f"{doc}; in a row of links also 1500 - 15 per link"},
        "first-prefix": {
            "type": "string",
            "pattern": r"^\S+/[0-9]+$",
            "description": "The prefix of the first link; each later link has the next one.",
        },
        **nodes,
        "sysctl": sysctl,
        "link": _object(_link_properties(), required=("endpoints",)),
        "changed-link": _object(_link_properties()),
        "node": {"anyOf": [{"enum": list(NODE_KINDS)}, _object(_node_properties(), required=("kind",))]},
        "changed-node": {"anyOf": [{"enum": list(NODE_KINDS)}, _object(_node_properties())]},
    }


def _node_properties() -> dict[str, Schema]:
    properties: dict[str, Schema] = {"kind": {"enum": list(NODE_KINDS)}, "sysctl": _ref("sysctl"), **_node_settings()}
    assert tuple(properties) == NODE_KEYS, "every key of a node has its schema"
    return properties


def _node_settings() -> dict[str, Schema]:
    return {key: _ref(f"node-{key}") for key in NODE_SETTINGS}


def _link_properties() -> dict[str, Schema]:
    address = {"type": "string", "pattern": r"^\S+/[0-9]+$"}
    doc = (
        "Addresses of the endpoints with prefix lengths; none if it does not carry the family; unless given: automatic"
    )
    addresses = {"anyOf": [{"enum": [NO_ADDRESSES]}, _pair(address)], "description": doc}
    properties = {
        "endpoints": {**_pair(_ref("name")), "description": "The two nodes that it joins."},
        "name": {
            "type": ["string", "integer"],
            "pattern": _whole(LINK_NAME.pattern),
            "description": "unless given: its endpoints with a dash between",
        },
        **{key: _ref(f"link-{key}") for key in LINK_SETTINGS},
        **{
            way: _object({key: _ref(f"link-{key}") for key in DIRECTION_SETTINGS})
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
    counts = {name: _integer(least, most) for name, (least, most) in shape.sizes.items()}
    settings: dict[str, Schema] = {
        "names": {"type": "string", "description": "the beginning of the names of nodes; numbers from 0 follow it"},
        **{key: _ref("row-mtu" if key == "mtu" and shape.is_row else f"link-{key}") for key in LINK_SETTINGS},
        "ipv4": _ref("first-prefix"),
        "ipv6": _ref("first-prefix"),
        **_node_settings(),
        "sysctl": _ref("sysctl"),
    }
    assert set(settings) == set(SETTINGS), "every key of a short form has its schema"
    long = _object({**counts, **settings}, required=shape.required)
    short = [counts[shape.required[0]]] if len(shape.required) == 1 else []
    further = {"type": "array", "items": _ref("link"), "description": "Further links."}
    changed = _named(_ref("changed-link")) | {
        "description": "Links of the shape that differ, by name, and further links."
    }
    properties = {
        shape.name: {"anyOf": [*short, long], "description": shape.doc},
        **settings,
        "nodes": _named(_ref("changed-node"))
        | {"description": "Nodes of the shape that differ, by name, and further nodes."},
        "links": {"anyOf": [further, changed]},
    }
    return _object(properties, required=(shape.name,))


def _named(item: Schema) -> Schema:
    return {"type": "object", "additionalProperties": item}


def _path(mechanisms: Mapping[str, Mechanism]) -> Schema:
    bare = [name for name, kind in mechanisms.items() if kind.node_count[0] == 0]
    by_name = {name: {**_arguments(kind), "description": kind.doc} for name, kind in mechanisms.items()}
    engines = sorted({engine for kind in mechanisms.values() for engine in kind.engines})
    options: dict[str, Schema] = {option.name: {} for kind in mechanisms.values() for option in kind.options}
    long = _object(
        {"mechanism": {"enum": list(mechanisms)}, "nodes": _one_or(_nodes()), "engine": {"enum": engines}, **options},
        required=("mechanism",),
    )
    short = _object(by_name) | {"minProperties": 1, "maxProperties": 1}
    return {"anyOf": [{"enum": bare}, short, long]}


def _arguments(kind: Mechanism) -> Schema:
    """The value after a mechanism's name: nothing, its nodes, or nodes, engine and options."""
    least, most = kind.node_count
    several = {**_nodes(kind.node_order), "maxItems": most}
    nodes = _one_or(several) if least == 1 else several
    properties: dict[str, Schema] = {"nodes": nodes, "engine": {"enum": list(kind.engines)}}
    properties |= {option.name: _option(option) for option in kind.options}
    bare = [_ref("name")] if least == 1 else []
    return {"anyOf": [{"type": "null"}, *bare, several, _object(properties)]}


def _one_or(several: Schema) -> Schema:
    """A list, or its only element without the list."""
    return {"anyOf": [_ref("name"), several]}


def _option(option: Parameter) -> Schema:
    return {**_value(option), "description": _described(option, option.doc)}


def _nodes(order: str = "") -> Schema:
    words = f": {order}" if order else ""
    return {"type": "array", "items": _ref("name"), "description": f"The nodes that it is installed on{words}."}


def _workload() -> Schema:
    named = {
        name: {"anyOf": [{"type": "null"}, _parameters(kind)], "description": kind.doc}
        for name, kind in WORKLOADS.items()
    }
    one = _object(named) | {"minProperties": 1, "maxProperties": 1}
    return {"anyOf": [{"enum": list(WORKLOADS)}, one]}


def _parameters(kind: WorkloadKind) -> Schema:
    described = {parameter.name: _parameter(parameter) for parameter in kind.parameters}
    if kind.parameter("packet-rate") is not None:
        described["rate"] |= _swept({"anyOf": [_ref("rate"), _ref("packet-rate")]})
    properties = {}
    for name, schema in described.items():
        parts = {key.partition(".")[2]: part for key, part in described.items() if key.startswith(f"{name}.")}
        if "." not in name:
            properties[name] = {"anyOf": [schema, _object({DISTRIBUTION: schema} | parts)]} if parts else schema
    return _object(properties)


def _parameter(parameter: Parameter) -> Schema:
    described = parameter.doc
    if parameter.kind not in _BOUNDED and parameter.minimum is not None and parameter.maximum is not None:
        described += f"; from {parameter.format(parameter.minimum)} to {parameter.format(parameter.maximum)}"
    return {**_swept(_value(parameter)), "description": _described(parameter, described)}


def _described(parameter: Parameter, doc: str) -> str:
    return f"{doc}; unless given: {parameter.default_text}" if parameter.default_text else doc


_BOUNDED = ("count", "number", "mtu")
"""The kinds whose schema has their bounds."""


def _value(parameter: Parameter) -> Schema:
    kind: ParameterKind = parameter.kind
    if kind == "count":
        return _integer(int(parameter.minimum or 0), int(parameter.maximum or MAX_SEED))
    if kind == "choice":
        return {"enum": list(parameter.choices)}
    if kind == "number":
        return {"type": "number", "minimum": parameter.minimum, "maximum": parameter.maximum}
    if kind == "file":
        return {"type": "string", "minLength": 1, "maxLength": MAX_FILE_NAME}
    if kind == "mtu-or-size":
        return {"anyOf": [_ref("mtu"), _ref("size")]}
    if kind == "ipv4-prefix":
        return {"type": "string", "pattern": r"^[0-9.]+/[0-9]+$"}
    if kind == "eam":
        return {"anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"type": "string"}]}
    if kind == "ipv6-prefix":
        return {"type": "string", "pattern": r"^[0-9A-Fa-f:.]+/[0-9]+$"}
    return _ref(kind)


def _event() -> Schema:
    properties = {
        "at": {**_swept(_ref("duration")), "description": "time after the traffic begins, with the warm-up"},
        "link": _ref("name") | {"pattern": _whole(LINK_NAME.pattern), "description": "the name of a link"},
        "mtu": {**_swept(_ref("mtu")), "description": "MTU of both ends from then on"},
        **{key: _ref(f"link-{key}") for key in CHANGEABLE},
        **{
            way: _object({key: _ref(f"link-{key}") for key in CHANGEABLE})
            | {"description": f"Changes for packets that leave the {end} endpoint of the link."}
            for way, end in zip(WAYS, ("first", "second"), strict=True)
        },
    }
    assert tuple(properties) == EVENT_KEYS, "every key of an event has its schema"
    return _object(properties, required=("at", "link")) | {"minProperties": 3}


def _blocks() -> Schema:
    count = _integer(1, MAX_BLOCKS)
    ratio = _ref("ratio")
    parts = {
        "min": {**count, "description": f"the fewest blocks; unless given: {DEFAULT_BLOCKS}"},
        "max": {
            **count,
            "description": f"the most blocks; unless given: {DEFAULT_MAX_BLOCKS} with precision or deviation, "
            f"{DEFAULT_MAX_DECIDED} with until, {DEFAULT_MAX_TIMED} with time alone, else min",
        },
        "precision": {
            **ratio,
            "description": "stop when the interval of every ratio to the baseline has at most this half-width",
        },
        "deviation": {**ratio, "description": "stop when every path's standard deviation is under this share"},
        "until": {
            "enum": list(UNTIL),
            "description": "stop when every path is different from the baseline, or equivalent to it; "
            "the error allows for all looks",
        },
        "time": {
            **_ref("duration"),
            "description": "begin no block after the minimum that would end later than this after the run began",
        },
    }
    assert tuple(parts) == BLOCKS_KEYS, "every key of blocks has its schema"
    return {"anyOf": [count, _object(parts)]}


def _statistics() -> Schema:
    parts = {
        "confidence": {**_ref("ratio"), "default": "95%", "description": "confidence of every interval"},
        "margin": {
            **_ref("ratio"),
            "default": "1%",
            "description": "differences within this share count as no difference",
        },
        "margins": {
            **_object({name: _ref("ratio") for name in WORKLOADS}),
            "description": "the same of workloads that have a margin of their own",
        },
        "trim": {
            **_integer(0, MAX_TRIM),
            "default": 0,
            "description": "how many of the lowest and of the highest trials a path's estimate leaves out, each",
        },
        "estimator": {
            "enum": list(ESTIMATORS),
            "default": "biweight",
            "description": "how the ratios of a comparison's blocks become one: with little weight for those that are "
            "far from the others (from five blocks on), or their geometric mean",
        },
    }
    assert tuple(parts) == STATISTICS_KEYS, "every key of statistics has its schema"
    return {**_object(parts), "description": "How trials become findings."}


def _swept(value: Schema) -> Schema:
    """A value, a list of levels, or a shared factor."""
    return {"anyOf": [value, _ref("factor"), _levels(value)]}


def _levels(value: Schema) -> Schema:
    return {"type": "array", "items": value, "minItems": 1, "maxItems": MAX_LEVELS}


def _object(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


def _pair(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 2, "maxItems": 2}


def _integer(minimum: int, maximum: int) -> Schema:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def _text(description: str = "") -> Schema:
    schema: Schema = {"type": "string", "minLength": 1}
    return schema | ({"description": description} if description else {})


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _whole(pattern: str) -> str:
    return f"^{pattern}$"
