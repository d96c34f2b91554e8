"""An emulated machine with a kernel of its own as the device, which forwards or translates as the experiment says.

Its node's namespace has only what joins the links with the machine's interfaces. What its packets are on both sides is
evidence, as for a program of anyone's.
"""

from __future__ import annotations

import json

from ..engines import Engine
from ..model.guest import GUEST_START, GuestNode
from ..model.network import Network
from ..model.path import Path
from ..model.stage import Stage
from ..model.topology import Topology
from .kind import Mechanism, MechanismError
from .program_options import (
    GUEST_MEMORY,
    GUEST_READY_WITHIN,
    IN_GUEST,
    ITS_OWN,
    KERNEL,
    LINUX,
    MAPPING,
    SETUP,
    STATE,
)
from .through_device import Through, check_route, far_family, filled, near_family, through, words_of


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    [node] = path.nodes
    if KERNEL.name not in path.options:
        raise MechanismError(f"{KERNEL.name} is missing: {KERNEL.doc}", KERNEL.name)
    if path.options.get(STATE.name) == LINUX:
        raise MechanismError(f"the table of a guest is not visible: give {STATE.name}: {ITS_OWN}", STATE.name)
    result = through(path, topology, between, GUEST_START)
    _check_node(topology, node)
    network = Network(
        topology=result.place.topology,
        legs=result.legs,
        devices=(result.device,),
        guests={node: _guest(path, result)},
    )
    check_route(network, between, node)
    return network


def _check_node(topology: Topology, node: str) -> None:
    """Raises `MechanismError` where a node is more than a guest can be."""
    guest_node = topology.nodes[node]
    if guest_node.equipment is not None:
        raise MechanismError(f'"{node}" is equipment, and no guest')
    if guest_node.on is not None:
        raise MechanismError(
            f'"{node}" is on {guest_node.on}, and guests are on this machine alone; leave out its "on"'
        )
    numbers = {
        "masquerade": guest_node.masquerade,
        "nat-ports": guest_node.nat_ports != "kept",
        "mss-clamp": guest_node.mss_clamp,
        "icmp": guest_node.icmp != "all",
        "drop": guest_node.drop != "none",
        "filter-rules": guest_node.filter_rules,
    }
    given = next((name for name, is_given in numbers.items() if is_given), None)
    if given is not None:
        raise MechanismError(f'a guest does what its {SETUP.name} says: leave {given} of "{node}" out', SETUP.name)


def _guest(path: Path, result: Through) -> GuestNode:
    options, words = path.options, words_of(path, result, {})
    lines = json.loads(str(options.get(SETUP.name, "[]")))
    try:
        setup = tuple(filled(line, words) for line in lines)
    except MechanismError as error:
        raise MechanismError(str(error), SETUP.name) from None
    return GuestNode(
        kernel=str(options[KERNEL.name]),
        setup=setup,
        memory_bytes=int(options.get(GUEST_MEMORY.name, GUEST_MEMORY.default or 0)),
        ready_timeout_ns=int(options.get(GUEST_READY_WITHIN.name, GUEST_READY_WITHIN.default or 0)),
    )


ITSELF = Engine(
    name="guest",
    doc="The emulated machine that the experiment names.",
    make=lambda device: Stage(),
)
GUEST = Mechanism(
    name="guest",
    doc="An emulated machine with a kernel of its own in the place of a router, which forwards or translates as the "
    "experiment says.",
    family=near_family,
    server_family=far_family,
    install=_install,
    node_count=(1, 1),
    executed_by=(ITSELF,),
    options=(*IN_GUEST, *MAPPING),
    sample=("r1",),
    sample_options={KERNEL.name: "debian-6.1"},
)
