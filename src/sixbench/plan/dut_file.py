"""The `dut` part of an experiment: a device under test between two hosts that test it.

It is written out as a topology and paths, which are then read like any others. The origin of each value is kept, so
that messages name the line in the file. The automatic addresses are those of RFC 2544 and RFC 5180.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ..mechanisms import SHIPPED, SHIPPED_GUESTS, Mechanism
from ..mechanisms.program_options import FAMILY, IN_GUEST, KERNEL, MAPPING
from ..model.identifiers import DEVICE, NAME
from ..model.parameter import Parameter
from ..model.quoting import listed, shown
from ..model.topology import Port
from .key_reader import read_keys
from .keys import CompoundKey, Key, KnownKeys, SharedValue, ValueForms, ValuePair
from .link_keys import swept_setting
from .link_settings import LINK_SETTINGS, MTU
from .reader import Reader, as_name, suggest
from .topology_file import Equipment
from .yaml_source import KeyPath

LEFT, RIGHT = "left", "right"
"""The hosts that test the device: the client, and the server."""
DEVICE_NODE = "dut"
"""The node that has the device where the file names none."""
WIRE = "wire"
"""No device at all: what the tester does by itself, or a wire of a known rate."""
FORWARDING = "forwarding"
"""The kernel's forwarding of both families."""

PROGRAM = "program"
"""A program of anyone's, which is a mechanism of that name."""

GUEST = "guest"
"""An emulated machine with a kernel of its own, which is a mechanism of that name."""

PORTS = "ports"
"""Equipment between two interfaces of this machine."""
DESCRIPTION = "description"
EQUIPMENT = "equipment"
"""The path through equipment that changes addresses."""

OF_GUEST = tuple(option.name for option in IN_GUEST if option is not KERNEL)
MAPPED = tuple(option.name for option in MAPPING)
"""Addresses of equipment and guests."""
REPLACED = ("topology", "between", "paths")
"""The parts of an experiment that a device gives."""

_LINKS = tuple(map(swept_setting, LINK_SETTINGS.values()))
_MECHANISM = CompoundKey(
    name="mechanism",
    value=ValueForms((SharedValue(name="device-name"), SharedValue(name="path"))),
    doc="the device under test: a mechanism, or a device that sixbench knows",
)
_PROGRAM = CompoundKey(name=PROGRAM, value=SharedValue(name="program"), doc="the device under test: any program")
_GUEST = (
    replace(KERNEL, name=GUEST, doc=f"the device under test: an emulated machine; {KERNEL.doc}"),
    *(option for option in IN_GUEST if option is not KERNEL),
)
_PORT_PAIR = ValuePair(
    item=Parameter(name="port", kind="device", doc=""), rule=f"{PORTS} are two interfaces, such as [eth1, eth2]"
)
_PORTS = CompoundKey(
    name=PORTS,
    value=_PORT_PAIR,
    doc=(
        f"the two interfaces of this machine between which equipment stands: the client's ({LEFT}), then the server's "
        f"({RIGHT})"
    ),
)
_DESCRIPTION = CompoundKey(
    name=DESCRIPTION,
    value=Parameter(name=DESCRIPTION, kind="text", doc=""),
    doc="a name for the equipment, on one line; the record has nothing else about it",
)
EQUIPMENT_KEYS = (_PORTS, _DESCRIPTION)
DUT = KnownKeys(what="dut", entries=(_MECHANISM, _PROGRAM, *_GUEST, *EQUIPMENT_KEYS, *MAPPING, *_LINKS))


def _form(*entries: Key, needs: tuple[str, ...]) -> KnownKeys:
    return KnownKeys(what=DUT.what, entries=entries, missing=dict.fromkeys(needs, ""))


DEVICE_UNDER_TEST = ValueForms(
    (
        SharedValue(name="device-name"),
        _form(_MECHANISM, *_LINKS, needs=("mechanism",)),
        _form(_PROGRAM, *_LINKS, needs=(PROGRAM,)),
        _form(*_GUEST, *MAPPING, *_LINKS, needs=(GUEST,)),
        _form(*EQUIPMENT_KEYS, *MAPPING, swept_setting(MTU), needs=(PORTS, DESCRIPTION)),
    )
)
"""The forms of a device. A key of one is refused in another."""

_PLACE: KeyPath = ("dut",)
_NATIVE = {"ipv4": "native4", "ipv6": "native6"}


def write_dut(
    reader: Reader, data: dict[str, Any], mechanisms: Mapping[str, Mechanism]
) -> tuple[dict[str, Any], Equipment | None]:
    """The experiment with the topology and the paths of its device, and the equipment if it is such. What is wrong is
    noted and left out."""
    for key in (key for key in REPLACED if key in data):
        reader.problem((key,), f"{key} follows from dut; leave {key} out, or leave dut out and write all three")
    given, equipment = data["dut"], None
    if isinstance(given, dict) and PORTS in given:
        equipment, given = _equipment(reader, read_keys(reader, _PLACE, given, DUT))
        place = _PLACE
    elif isinstance(given, dict) and GUEST in given:
        given, place = _guest(reader, read_keys(reader, _PLACE, given, DUT)), _PLACE
    elif isinstance(given, dict):
        given, place = _mechanism(reader, given)
    else:
        given, place = {"mechanism": given}, _PLACE
    mechanism = given.get("mechanism")
    paths, nodes = _paths(reader, place, mechanism, mechanisms) if "mechanism" in given else ({}, [])
    between = [node for node in nodes if node not in (LEFT, RIGHT)]
    row = [LEFT, *between, RIGHT]
    settings = {key: value for key, value in given.items() if key in LINK_SETTINGS}
    kinds = {node: "host" if node in (LEFT, RIGHT) else "router" for node in row}
    links = [{"endpoints": [text, other], **settings} for text, other in pairwise(row)]
    for part in REPLACED:
        reader.moved[part,] = _PLACE
    reader.moved["paths",] = place
    for name in paths:
        reader.moved["paths", name] = place
    for number in range(len(links)):
        for key in settings:
            reader.moved["topology", "links", number, key] = (*_PLACE, key)
    others = {key: value for key, value in data.items() if key not in REPLACED}
    written = others | {"topology": {"nodes": kinds, "links": links}, "between": [LEFT, RIGHT], "paths": paths}
    return written, equipment


def _mechanism(reader: Reader, given: dict[str, Any]) -> tuple[dict[str, Any], KeyPath]:
    """A device that is a mechanism or a program, and its place in the file."""
    read_keys(reader, _PLACE, given, DUT)
    for key in (key for key in (DESCRIPTION, *MAPPED, *OF_GUEST) if key in given):
        equipment, guest = f"equipment between {PORTS}", f"a {GUEST}"
        what = guest if key in OF_GUEST else equipment if key == DESCRIPTION else f"{equipment} or {guest}"
        reader.problem((*_PLACE, key), f"{key} is for {what}; leave it out")
    if PROGRAM in given and "mechanism" in given:
        reader.problem(_PLACE, "a device is a mechanism or a program: leave out one of the two")
    elif PROGRAM in given:
        place: KeyPath = (*_PLACE, PROGRAM)
        return {**given, "mechanism": {PROGRAM: reader.mapping(place, given[PROGRAM], "a program")}}, place
    elif "mechanism" not in given:
        reader.problem(
            _PLACE,
            f"the mechanism is missing: give {FORWARDING}, {WIRE}, or such as {{siit: [dut]}}; or give a "
            f"{PROGRAM}, a {GUEST}, or {PORTS}",
        )
    return given, (*_PLACE, "mechanism")


def _equipment(reader: Reader, given: dict[str, Any]) -> tuple[Equipment | None, dict[str, Any]]:
    """Equipment, and a device that has its network and paths."""
    for key in (name for name in ("mechanism", PROGRAM, GUEST) if name in given):
        reader.problem((*_PLACE, key), f"a device is a pair of {PORTS} or a {key}: leave out one of the two")
    for key in (key for key in OF_GUEST if key in given):
        reader.problem((*_PLACE, key), f"{key} is for a {GUEST}; leave it out")
    for key in (key for key in given if key in LINK_SETTINGS and key != MTU.name):
        reader.problem((*_PLACE, key), f"the lines of equipment are as they are, but for their mtu: leave {key} out")
    names, description = _ports(reader, given)
    options = {option.name: given[option.name] for option in MAPPING if option.name in given}
    mtu = {MTU.name: given[MTU.name]} if MTU.name in given else {}
    device = {**mtu, "mechanism": _Equipment(options=options)}
    if reader.problems:
        return None, device
    line = reader.source.line_of((*_PLACE, PORTS))
    ports = {host: Port(name=name, line=line) for host, name in zip((LEFT, RIGHT), names, strict=True)}
    return Equipment(node=DEVICE_NODE, description=description, ports=ports), device


def _guest(reader: Reader, given: dict[str, Any]) -> dict[str, Any]:
    """A device that is an emulated machine. Where nothing says what it makes of addresses, it forwards both
    families."""
    for key in (name for name in ("mechanism", PROGRAM) if name in given):
        reader.problem((*_PLACE, key), f"a device is a {GUEST} or a {key}: leave out one of the two")
    if DESCRIPTION in given:
        reader.problem((*_PLACE, DESCRIPTION), f"{DESCRIPTION} is for equipment between {PORTS}; leave it out")
    options = {KERNEL.name: given[GUEST]} | {key: given[key] for key in (*OF_GUEST, *MAPPED) if key in given}
    for option in (*IN_GUEST, *MAPPING):
        if option.name in options:
            place = (*_PLACE, GUEST if option is KERNEL else option.name)
            try:
                option.parse(options[option.name])
            except ValueError as error:
                reader.problem(place, str(error))
    settings = {key: value for key, value in given.items() if key in LINK_SETTINGS}
    return {**settings, "mechanism": _Guest(options=options)}


def _ports(reader: Reader, given: dict[str, Any]) -> tuple[Sequence[str], str]:
    """The interfaces, and what stands between them."""
    names = reader.sequence((*_PLACE, PORTS), given[PORTS], PORTS)
    if len(names) != 2:
        reader.problem((*_PLACE, PORTS), f"{_PORT_PAIR.rule}, not {len(names)}")
    wrong = [name for name in names if not isinstance(name, str) or not DEVICE.fullmatch(name)]
    for item in wrong:
        reader.problem((*_PLACE, PORTS), f"{shown(item)} cannot name an interface; give names such as eth1")
    if not wrong and len(set(names)) < len(names):
        reader.problem(
            (*_PLACE, PORTS), f"{names[0]} is given twice; equipment stands between two different interfaces"
        )
    description = given.get(DESCRIPTION)
    if not isinstance(description, str) or not description.strip() or not description.isprintable():
        reader.problem(
            (*_PLACE, DESCRIPTION) if DESCRIPTION in given else _PLACE,
            f"the {DESCRIPTION} must describe the equipment between the ports in one line, such as its maker, model "
            "and software: the record has no other description",
        )
    return names, str(description).strip()


@dataclass(frozen=True, kw_only=True)
class _Equipment:
    """Equipment, by what it makes of packets. Where that is not said, it forwards both families."""

    options: Mapping[str, Any]

    @property
    def paths(self) -> dict[str, Any]:
        """Those through it."""
        return {EQUIPMENT: {PROGRAM: {"nodes": [DEVICE_NODE], **self.options}}} if self.options else dict(_NATIVE)


@dataclass(frozen=True, kw_only=True)
class _Guest:
    """An emulated machine, by what it is and what it makes of packets."""

    options: Mapping[str, Any]

    @property
    def paths(self) -> dict[str, Any]:
        """Those through it: one where it changes packets, else one of each family, which have the machine in common."""
        entry = {"nodes": [DEVICE_NODE], **self.options}
        if any(name in self.options for name in MAPPED):
            return {GUEST: {GUEST: entry}}
        return {name: {GUEST: entry | {FAMILY.name: family}} for name, family in (("ipv4", 4), ("ipv6", 6))}


def _paths(
    reader: Reader, place: KeyPath, value: Any, mechanisms: Mapping[str, Mechanism]
) -> tuple[dict[str, Any], list[str]]:
    """The paths of a device, and the nodes between the hosts, each once."""
    if value == WIRE:
        return dict(_NATIVE), []
    if value == FORWARDING:
        return dict(_NATIVE), [DEVICE_NODE]
    if isinstance(value, _Equipment | _Guest):
        return value.paths, [DEVICE_NODE]
    if isinstance(value, str) and value in SHIPPED:
        return {value: {PROGRAM: {"nodes": [DEVICE_NODE], **SHIPPED[value]}}}, [DEVICE_NODE]
    if isinstance(value, str) and value in SHIPPED_GUESTS:
        return {value: {GUEST: {"nodes": [DEVICE_NODE], **SHIPPED_GUESTS[value]}}}, [DEVICE_NODE]
    item = value
    if isinstance(value, dict) and "mechanism" in value:
        name, options = value["mechanism"], {key: element for key, element in value.items() if key != "mechanism"}
    elif isinstance(value, dict) and len(value) == 1:
        [(name, arguments)] = value.items()
        options = arguments if isinstance(arguments, dict) else {} if arguments is None else {"nodes": arguments}
    else:
        name, options = value, {}
    if not isinstance(name, str) or name not in mechanisms:
        hint = suggest(
            name if isinstance(name, str) else "", [FORWARDING, WIRE, *SHIPPED, *SHIPPED_GUESTS, *mechanisms]
        )
        reader.problem(place, f"{shown(name)} is not a device; {hint}")
        return {}, []
    least, _ = mechanisms[name].node_count
    if least and "nodes" not in options:
        device_nodes = [DEVICE_NODE] if least == 1 else [f"{DEVICE_NODE}{number}" for number in range(1, least + 1)]
        item = {name: {**options, "nodes": device_nodes}}
        return {name: item}, device_nodes
    nodes = options.get("nodes", DEVICE_NODE)
    names = list(map(as_name, nodes if isinstance(nodes, list) else [nodes]))
    wrong = [element for element in names if not isinstance(element, str) or not NAME.fullmatch(element)]
    if wrong:
        reader.problem(place, f"{shown(wrong[0])} cannot name a node; give names such as {listed([DEVICE_NODE])}")
        return {}, []
    return {name: item}, list(dict.fromkeys(names))
