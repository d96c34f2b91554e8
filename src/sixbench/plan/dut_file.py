"""The `dut` part of an experiment: a device under test between two hosts that test it.

It is written out as a topology and paths, which are then read like any others. The origin of each value is kept, so
that messages name the line in the file. The automatic addresses are those of RFC 2544 and RFC 5180.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ..mechanisms import SHIPPED, Mechanism
from ..model.identifiers import NAME
from ..model.quoting import listed, shown
from .link_settings import LINK_SETTINGS
from .reader import Reader, as_name, suggest
from .yaml_source import KeyPath

LEFT, RIGHT = "left", "right"
"""The hosts that test the device: the client, and the server."""
DEVICE = "dut"
"""The node that has the device where the file names none."""
WIRE = "wire"
"""No device at all: what the tester does by itself, or a wire of a known rate."""
FORWARDING = "forwarding"
"""The kernel's forwarding of both families."""

PROGRAM = "program"
"""A program of anyone's, which is a mechanism of that name."""

DUT_KEYS = ("mechanism", PROGRAM, *LINK_SETTINGS)
REPLACED = ("topology", "between", "paths")
"""The parts of an experiment that a device gives."""

_PLACE: KeyPath = ("dut",)
_NATIVE = {"ipv4": "native4", "ipv6": "native6"}


def write_dut(reader: Reader, data: dict[str, Any], mechanisms: Mapping[str, Mechanism]) -> dict[str, Any]:
    """The experiment with the topology and the paths of its device. What is wrong is noted and left out."""
    for key in (key for key in REPLACED if key in data):
        reader.problem((key,), f"{key} follows from dut; leave {key} out, or leave dut out and write all three")
    given = data["dut"]
    if not isinstance(given, dict):
        given = {"mechanism": given}
        place = _PLACE
    else:
        reader.mapping(_PLACE, given, "dut", DUT_KEYS)
        place = (*_PLACE, "mechanism")
        if PROGRAM in given and "mechanism" in given:
            reader.problem(_PLACE, "a device is a mechanism or a program: leave out one of the two")
        elif PROGRAM in given:
            place = (*_PLACE, PROGRAM)
            own = reader.mapping(place, given[PROGRAM], "a program")
            given = {**given, "mechanism": {PROGRAM: own}}
        elif "mechanism" not in given:
            reader.problem(
                _PLACE,
                f"the mechanism is missing: give {FORWARDING}, {WIRE}, or such as {{siit: [dut]}}, or give a {PROGRAM}",
            )
    mechanism = given.get("mechanism")
    paths, nodes = _paths(reader, place, mechanism, mechanisms) if "mechanism" in given else ({}, [])
    between = [node for node in nodes if node not in (LEFT, RIGHT)]
    row = [LEFT, *between, RIGHT]
    settings = {key: value for key, value in given.items() if key in LINK_SETTINGS}
    kinds = {node: "host" if node in (LEFT, RIGHT) else "router" for node in row}
    links = [{"endpoints": [one, other], **settings} for one, other in pairwise(row)]
    for part in REPLACED:
        reader.moved[part,] = _PLACE
    reader.moved["paths",] = place
    for name in paths:
        reader.moved["paths", name] = place
    for number in range(len(links)):
        for key in settings:
            reader.moved["topology", "links", number, key] = (*_PLACE, key)
    others = {key: value for key, value in data.items() if key not in REPLACED}
    return others | {"topology": {"nodes": kinds, "links": links}, "between": [LEFT, RIGHT], "paths": paths}


def _paths(
    reader: Reader, place: KeyPath, value: Any, mechanisms: Mapping[str, Mechanism]
) -> tuple[dict[str, Any], list[str]]:
    """The paths of a device, and the nodes between the hosts, each once."""
    if value == WIRE:
        return dict(_NATIVE), []
    if value == FORWARDING:
        return dict(_NATIVE), [DEVICE]
    if isinstance(value, str) and value in SHIPPED:
        return {value: {PROGRAM: {"nodes": [DEVICE], **SHIPPED[value]}}}, [DEVICE]
    item = value
    if isinstance(value, dict) and "mechanism" in value:
        name, options = value["mechanism"], {key: one for key, one in value.items() if key != "mechanism"}
    elif isinstance(value, dict) and len(value) == 1:
        [(name, arguments)] = value.items()
        options = arguments if isinstance(arguments, dict) else {} if arguments is None else {"nodes": arguments}
    else:
        name, options = value, {}
    if not isinstance(name, str) or name not in mechanisms:
        hint = suggest(name if isinstance(name, str) else "", [FORWARDING, WIRE, *SHIPPED, *mechanisms])
        reader.problem(place, f"{shown(name)} is not a device; {hint}")
        return {}, []
    least, _ = mechanisms[name].node_count
    if least and "nodes" not in options:
        own = [DEVICE] if least == 1 else [f"{DEVICE}{number}" for number in range(1, least + 1)]
        item = {name: {**options, "nodes": own}}
        return {name: item}, own
    nodes = options.get("nodes", DEVICE)
    names = list(map(as_name, nodes if isinstance(nodes, list) else [nodes]))
    wrong = [one for one in names if not isinstance(one, str) or not NAME.fullmatch(one)]
    if wrong:
        reader.problem(place, f"{shown(wrong[0])} cannot name a node; give names such as {listed([DEVICE])}")
        return {}, []
    return {name: item}, list(dict.fromkeys(names))
