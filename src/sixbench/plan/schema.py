"""The JSON Schema of experiment files, so that editors complete and check them.

It is built from the registries that the readers use. It knows forms, not meanings. A file that it accepts may still be
refused, such as for a link to a node that does not exist or for an MTU too small for IPv6. A file that it refuses is
always refused. `docs/experiment.schema.json` is this schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..mechanisms import INTERNET, SHIPPED, SHIPPED_GUESTS, Mechanism
from ..model import units
from ..model.framing import FRAMINGS
from ..model.identifiers import NAME
from ..model.parameter import Parameter
from ..model.programs import RECIPES, end
from ..model.topology import MAX_MTU, MIN_MTU_V4
from ..model.workload import WorkloadKind
from ..model.workloads import WORKLOADS
from .dut_file import FORWARDING, PROGRAM, WIRE
from .experiment_keys import EXPERIMENT, REQUIRED
from .factors import FACTOR_NAME
from .key_schema import KeySchemas
from .path_levels import UNSWEPT
from .paths_file import engine_of
from .profile_file import shipped_profiles
from .schema_terms import (
    Schema,
    description_of,
    integer,
    levels,
    named,
    object_of,
    parameter_schema,
    ref,
    swept,
    value_schema,
    whole,
)
from .workload_file import DISTRIBUTION, OVER_PATHS

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
    schemas = KeySchemas()
    properties = schemas.properties(EXPERIMENT.entries)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sixbench experiment",
        "description": "A network, the paths through it and the traffic: see docs/experiments.",
        **object_of(properties, required=("workloads",)),
        "anyOf": [
            {"required": ["dut"]},
            {"required": ["servers"]},
            {"required": [key for key in REQUIRED if key != "workloads"]},
        ],
        "$defs": {**_definitions(), **schemas.definitions, **_compared(mechanisms)},
    }


def _compared(mechanisms: Mapping[str, Mechanism]) -> dict[str, Schema]:
    """The parts that follow from registries."""
    return {
        "device-name": {"enum": [FORWARDING, WIRE, *SHIPPED, *SHIPPED_GUESTS, *mechanisms]},
        "program": _arguments(mechanisms[PROGRAM]),
        "path": _path({**mechanisms, **INTERNET}),
        "program-end": {"anyOf": [{"enum": list(dict.fromkeys(recipe.name for recipe in RECIPES))}, _program_end()]},
        "workload": _workload(),
    }


def _program_end() -> Schema:
    """A program of the experiment's as an end of a trial."""
    properties = {
        end.PROGRAM: {"type": "string", "minLength": 1},
        end.FILES: named({"type": "string"}),
        end.READY_WITHIN: ref("duration"),
        end.MEMORY: ref("size"),
    }
    return object_of(properties, required=(end.PROGRAM,))


def _definitions() -> dict[str, Schema]:
    quantities = {kind: _quantity(*about) for kind, about in _UNITS.items()}
    return {
        "name": {"type": ["string", "integer"], "pattern": whole(NAME.pattern)},
        "factor": {
            "type": "string",
            "pattern": whole(rf"\${FACTOR_NAME.pattern}"),
            "description": "A shared factor: its levels are under factors, by this name.",
        },
        "level": {"type": ["string", "number", "boolean"]},
        "factor-levels": {"anyOf": [ref("level"), levels(ref("level"))]},
        "levels": {
            "anyOf": [ref("factor"), levels(ref("level"))],
            "description": "Levels of an option of a path: each makes a path of its own.",
        },
        **quantities,
        "mtu": {**integer(MIN_MTU_V4, MAX_MTU), "description": "whole bytes, without a unit"},
        "queue": {"anyOf": [ref("duration"), ref("size"), {"type": "string", "pattern": r"^\s*[0-9]+\s*packets?\s*$"}]},
        "overhead": {"anyOf": [{"enum": list(FRAMINGS)}, {"type": "string", "pattern": r"^[1-9][0-9]{1,3}B$"}]},
        "flag": {"type": "boolean"},
        "profile": {"type": "string", "minLength": 1, "examples": list(shipped_profiles())},
        "states": {"type": "string", "pattern": r"^\s*([0-9.]+\s*%\s*){4}$"},
        "packets": {"type": ["string", "integer"], "pattern": r"^[0-9, -]+$"},
        "word": {"type": "string", "pattern": whole("[A-Za-z0-9_-]{1,15}")},
    }


def _quantity(names: Iterable[str], what: str, examples: list[str]) -> Schema:
    pattern = rf"^\s*{_NUMBER}\s*({'|'.join(names)})\s*$"
    return {
        "anyOf": [{"type": "string", "pattern": pattern}, {"enum": [0]}],
        "description": what,
        "examples": examples,
    }


def _path(mechanisms: Mapping[str, Mechanism]) -> Schema:
    bare = [name for name, kind in mechanisms.items() if kind.node_count[0] == 0]
    by_name = {name: {**_arguments(kind), "description": kind.doc} for name, kind in mechanisms.items()}
    engines = sorted({engine for kind in mechanisms.values() for engine in kind.engines})
    options: dict[str, Schema] = {option.name: {} for kind in mechanisms.values() for option in kind.options}
    long = object_of(
        {
            "mechanism": {"enum": list(mechanisms)},
            "nodes": _one_or(_nodes()),
            "engine": _or_levels({"enum": engines}),
            **options,
        },
        required=("mechanism",),
    )
    short = object_of(by_name) | {"minProperties": 1, "maxProperties": 1}
    return {"anyOf": [{"enum": bare}, short, long]}


def _arguments(kind: Mechanism) -> Schema:
    """The value after a mechanism's name: nothing, its nodes, or nodes, engine and options."""
    least, most = kind.node_count
    several = {**_nodes(kind.node_order), "maxItems": most}
    nodes = _one_or(several) if least == 1 else several
    properties: dict[str, Schema] = {
        "nodes": nodes,
        **{option.name: _swept_option(option) for option in (engine_of(kind), *kind.options)},
    }
    bare = [ref("name")] if least == 1 else []
    return {"anyOf": [{"type": "null"}, *bare, several, object_of(properties)]}


def _one_or(several: Schema) -> Schema:
    """A list, or its only element without the list."""
    return {"anyOf": [ref("name"), several]}


def _option(option: Parameter) -> Schema:
    return {**value_schema(option), "description": description_of(option, option.doc)}


def _swept_option(option: Parameter) -> Schema:
    """An option of a path: a value, or levels that make a path each."""
    if option.kind in UNSWEPT:
        return _option(option)
    return {**_or_levels(value_schema(option)), "description": description_of(option, option.doc)}


def _or_levels(value: Schema) -> Schema:
    """A value, or levels that make a path each. Their values are not looked at: the schema would be twice as long."""
    return {"anyOf": [value, ref("levels")]}


def _nodes(order: str = "") -> Schema:
    words = f": {order}" if order else ""
    return {"type": "array", "items": ref("name"), "description": f"The nodes that it is installed on{words}."}


def _workload() -> Schema:
    named = {
        name: {"anyOf": [{"type": "null"}, _with_paths(_parameters(kind))], "description": kind.doc}
        for name, kind in WORKLOADS.items()
    }
    item = object_of(named) | {"minProperties": 1, "maxProperties": 1}
    return {"anyOf": [{"enum": list(WORKLOADS)}, item]}


def _with_paths(parameters: Schema) -> Schema:
    """The parameters, and the key that names the paths that the workload goes over."""
    return parameters | {"properties": parameters["properties"] | KeySchemas().properties((OVER_PATHS,))}


def _parameters(kind: WorkloadKind) -> Schema:
    described = {parameter.name: parameter_schema(parameter) for parameter in kind.parameters}
    if kind.parameter("packet-rate") is not None and "rate" in described:
        described["rate"] |= swept({"anyOf": [ref("rate"), ref("packet-rate")]})
    properties = {}
    for name, schema in described.items():
        parts = {key.partition(".")[2]: part for key, part in described.items() if key.startswith(f"{name}.")}
        if "." not in name:
            properties[name] = {"anyOf": [schema, object_of({DISTRIBUTION: schema} | parts)]} if parts else schema
    return object_of(properties)
