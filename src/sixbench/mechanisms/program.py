"""A program of anyone's as the device: it runs in a router, and what it makes of addresses is what the experiment says.

sixbench gives the node addresses, routes and files, starts the program when the network is there, and waits until it is
ready. What its packets are on both sides is evidence, as for any other mechanism.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from ipaddress import IPv6Network

from ..engines import Engine
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import DEVICE_DIRECTORY, DEVICE_START, NodeRequest, Stage
from ..model.topology import Family, Topology
from .kind import Mechanism, MechanismError
from .program_options import (
    DNS64,
    FAMILY,
    FILES,
    INTERFACE,
    ITS_OWN,
    LINUX,
    MEMORY,
    OPTIONS,
    PREFIX,
    READY,
    READY_WITHIN,
    START,
    STARTING,
    STATE,
)
from .resolving import authority_of, resolver_ready
from .through_device import DevicePlace, Through, check_route, far_family, filled, near_family, through, words_of


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    [node] = path.nodes
    is_equipment = node in topology.nodes and topology.nodes[node].equipment is not None
    _check_start(path, is_equipment=is_equipment)
    result = through(path, topology, between, DEVICE_START)
    network = Network(
        topology=result.place.topology,
        legs=result.legs,
        devices=(result.device,),
        stages=() if is_equipment else _started(path, result),
    )
    check_route(network, between, node)
    return network


def _check_start(path: Path, *, is_equipment: bool) -> None:
    """Raises `MechanismError` where a program cannot be started, or equipment is to be."""
    if is_equipment:
        given = next((parameter.name for parameter in STARTING if parameter.name in path.options), None)
        if given is not None:
            raise MechanismError(f"equipment starts no program of ours: leave {given} out", given)
        if path.options.get(STATE.name) == LINUX:
            raise MechanismError(f"the table of equipment is not visible: give {STATE.name}: {ITS_OWN}", STATE.name)
        return
    for option in (START, READY):
        if option.name not in path.options:
            raise MechanismError(f"{option.name} is missing: {option.doc}", option.name)


def _started(path: Path, result: Through) -> tuple[Mapping[str, Stage], ...]:
    """The command that starts the program, and waits until it is ready."""
    [node] = path.nodes
    asked = _asked(path, result.place, result.prefix) if path.options.get(DNS64.name) else ()
    authority = authority_of(result.place.topology, node, result.legs[-1].far) if asked else None
    others = {"dir": DEVICE_DIRECTORY, "interface": path.options.get(INTERFACE.name), "authority": authority}
    words = words_of(path, result, others)
    return ({node: _stage(path, words, {leg.family for leg in result.legs})}, *asked)


def _asked(path: Path, place: DevicePlace, prefix: IPv6Network | None) -> tuple[Mapping[str, Stage], ...]:
    """The command that asks a resolver if it makes addresses in the prefix. Raises `MechanismError` where it cannot."""
    [node] = path.nodes
    if prefix is None:
        raise MechanismError(f"a resolver with DNS64 makes addresses in a prefix: give {PREFIX.name}", DNS64.name)
    if place.near.family != 6:
        raise MechanismError(
            f"a resolver with DNS64 is asked over IPv6 (RFC 8219 section 9.1): give {FAMILY.name}: 6", DNS64.name
        )
    what = shlex.split(str(path.options[START.name]))[0]
    return ({node: Stage(requests=(resolver_ready(place.device_addresses[0], prefix, what),))},)


def _stage(path: Path, words: Mapping[str, str], families: Iterable[Family]) -> Stage:
    """The command that starts the program. `families`: those of its packets."""
    options = path.options
    given = json.loads(str(options.get(FILES.name, "{}")))

    def argv(option: Parameter) -> list[str]:
        return [filled(word, words) for word in shlex.split(str(options[option.name]))]

    start = NodeRequest(
        op=DEVICE_START,
        fields={
            "argv": argv(START),
            "ready": argv(READY),
            "ready_timeout_ns": int(options.get(READY_WITHIN.name, READY_WITHIN.default or 0)),
            "memory_bytes": int(options.get(MEMORY.name, MEMORY.default or 0)),
            "files": {name: filled(content, words) for name, content in given.items()},
        },
    )
    interface = options.get(INTERFACE.name)
    tracks = frozenset(families) if options.get(STATE.name) == LINUX else frozenset[Family]()
    return Stage(requests=(start,), ip=() if interface is None else (f"link set {interface} up",), tracks=tracks)


ITSELF = Engine(
    name="program",
    doc="The program that the experiment names, which creates its device itself.",
    make=lambda device: Stage(),
)
PROGRAM = Mechanism(
    name="program",
    doc="A program of your choice in a router, which forwards or translates as the experiment says.",
    family=near_family,
    server_family=far_family,
    install=_install,
    node_count=(1, 1),
    executed_by=(ITSELF,),
    options=OPTIONS,
    sample=("r1",),
    sample_options={START.name: "sleep infinity", READY.name: "true"},
)
