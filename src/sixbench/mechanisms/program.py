"""A program of anyone's as the device: it runs in a router, and what it makes of addresses is what the experiment says.

sixbench gives the node addresses, routes and files, starts the program when the network is there, and waits until it is
ready. What its packets are on both sides is evidence, as for any other mechanism.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from typing import Any

from ..engines import Engine
from ..model.device import Device, Translator
from ..model.leg import Address, Leg
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import DEVICE_START, Request, Stage
from ..model.topology import ETHERNET_MIN_MTU_V6, Family, Topology
from . import embedding
from .common import check_overlap, check_router, legs_of
from .kind import Mechanism, MechanismError, Options
from .parting import part, plain_leg, prefix_option
from .program_options import (
    CLIENT_AS,
    DNS64,
    FAMILIES,
    FAMILY,
    FILES,
    HOPS,
    INTERFACE,
    ITS_OWN,
    LINUX,
    MEMORY,
    OPTIONS,
    OWN,
    PREFIX,
    READY,
    READY_WITHIN,
    SERVER_AS,
    START,
    STARTING,
    STATE,
)
from .resolving import resolver_ready
from .shipped_programs import SHIPPED

DIRECTORY = "/run/device"
"""The program's private directory, as the agent makes it."""


def commands_of(path: Path) -> tuple[str, ...]:
    """The commands of the experiment that a path runs as whoever runs sixbench; empty: none. Those that sixbench brings
    are no commands of the experiment."""
    if path.mechanism != PROGRAM.name or any(_is(path, shipped) for shipped in SHIPPED.values()):
        return ()
    return tuple(str(path.options[one.name]) for one in (START, READY) if one.name in path.options)


def _is(path: Path, shipped: Mapping[str, Any]) -> bool:
    """Whether the path runs a program that sixbench brings, with its files."""
    return all(
        path.options.get(one.name) == (one.parse(shipped[one.name]) if one.name in shipped else None)
        for one in (START, READY, FILES, INTERFACE)
    )


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where the program stands in a network.

    Attributes:
        near, far: the legs on the client's side and on the server's.
        own: its node's addresses at the end of `near` and at the beginning of `far`.
    """

    topology: Topology
    near: Leg
    far: Leg
    own: tuple[Address, Address]


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    [node] = path.nodes
    is_equipment = node in topology.nodes and topology.nodes[node].equipment is not None
    _check_start(path, is_equipment=is_equipment)
    first, last = FAMILIES[str(path.options.get(FAMILY.name, FAMILY.default))]
    prefix = prefix_option(path, PREFIX.name, "") if PREFIX.name in path.options else None
    place = _same_family(path, topology, between) if first == last else _two_families(path, topology, between)
    if prefix is not None:
        check_overlap(path, place.topology, [prefix], PREFIX.name)
    near, far = place.near, place.far
    destination = _seen(path, SERVER_AS, far.destination, first, prefix, place.own[0])
    source = _seen(path, CLIENT_AS, near.source, last, prefix, place.own[1])
    legs: tuple[Leg, ...] = (replace(near, destination=destination), replace(far, source=source))
    if first == last and (destination, source) == (far.destination, near.source):
        legs = (replace(near, far=far.far, destination=far.destination),)
    led = _led_here(place, prefix, source, destination)
    network = Network(
        topology=place.topology,
        legs=legs,
        devices=(_device(path, place, led, changes_family=first != last, prefix=prefix),),
        stages=() if is_equipment else _started(path, place, legs, prefix),
    )
    if not network.crossings:
        raise MechanismError(f'no route leads from "{between[0]}" to "{between[1]}" through "{node}"')
    return network


def _check_start(path: Path, *, is_equipment: bool) -> None:
    """Raises `MechanismError` where a program cannot be started, or equipment is to be."""
    if is_equipment:
        given = next((one.name for one in STARTING if one.name in path.options), None)
        if given is not None:
            raise MechanismError(f"equipment runs what it runs, and starts nothing of ours: leave {given} out", given)
        if path.options.get(STATE.name) == LINUX:
            raise MechanismError(f"nobody sees the table of equipment: give {STATE.name}: {ITS_OWN}", STATE.name)
        return
    for option in (START, READY):
        if option.name not in path.options:
            raise MechanismError(f"{option.name} is missing: {option.doc}", option.name)


def _started(
    path: Path, place: _Place, legs: Sequence[Leg], prefix: IPv6Network | None
) -> tuple[Mapping[str, Stage], ...]:
    """What starts the program, and waits until it is ready."""
    [node] = path.nodes
    words = _words(path, place, legs, prefix)
    asked = _asked(path, place, prefix) if path.options.get(DNS64.name) else ()
    words |= _authority(place, legs[-1].far) if asked else {}
    return ({node: _stage(path, words, {leg.family for leg in legs})}, *asked)


def _asked(path: Path, place: _Place, prefix: IPv6Network | None) -> tuple[Mapping[str, Stage], ...]:
    """What asks a resolver whether it makes addresses in the prefix. Raises `MechanismError` where it cannot."""
    [node] = path.nodes
    if prefix is None:
        raise MechanismError(f"a resolver with DNS64 makes addresses in a prefix: give {PREFIX.name}", DNS64.name)
    if place.near.family != 6:
        raise MechanismError(
            f"a resolver with DNS64 is asked over IPv6 (RFC 8219 section 9.1): give {FAMILY.name}: 6", DNS64.name
        )
    what = shlex.split(str(path.options[START.name]))[0]
    return ({node: Stage(requests=(resolver_ready(place.own[0], prefix, what),))},)


def _authority(place: _Place, server: str) -> dict[str, str]:
    """The server's IPv4 address, at which a resolver asks for the names of the workload dns64. Empty without one."""
    node = place.near.far
    if not place.topology.route(node, server, 4):
        return {}
    return {"authority": str(legs_of(place.topology, (node, server), 4)[-1].destination)}


def _same_family(path: Path, topology: Topology, between: tuple[str, str]) -> _Place:
    """Raises `MechanismError` where the program's node is not on the way."""
    [node] = path.nodes
    client, server = between
    check_router(topology, node, "a program's node", "nodes")
    if HOPS.name in path.options:
        raise MechanismError("hops is for a program that changes the family; one that does not is a router", HOPS.name)
    [leg, *others] = legs_of(topology, between, path.family)
    if others:
        raise MechanismError(f'"{others[0].near}" masquerades: a program is tested where nothing else does')
    passed = [
        link.other_end(node).node for link in topology.route(client, server, path.family) or () if _at(link, node)
    ]
    if len(passed) != 2:
        raise MechanismError(f'"{node}" is not on the way from "{client}" to "{server}" over IPv{path.family}', "nodes")
    far = plain_leg(path, topology, (node, server), path.family)
    inward = plain_leg(path, topology, (client, node), path.family)
    return _Place(
        topology=topology,
        near=replace(leg, far=node),
        far=replace(far, destination=leg.destination),
        own=(inward.destination, far.source),
    )


def _at(link: object, node: str) -> bool:
    return any(end.node == node for end in link.ends)  # type: ignore[attr-defined]


def _two_families(path: Path, topology: Topology, between: tuple[str, str]) -> _Place:
    parted = part(path, topology, between, embeds=False)
    near, far = parted.legs
    return _Place(topology=parted.topology, near=near, far=far, own=(near.destination, far.source))


def _seen(
    path: Path, option: Parameter, address: Address, family: Family, prefix: IPv6Network | None, own: Address
) -> Address:
    """A host's address on the other side of the program. Raises `MechanismError` where nothing says which."""
    given = path.options.get(option.name)
    if given == OWN and option is CLIENT_AS:
        return own
    if given is not None:
        if given == OWN or ip_address(str(given)).version != family:
            raise MechanismError(f"{option.name} must be an IPv{family} address here, not {given}", option.name)
        return ip_address(str(given))
    if address.version == family:
        return address
    if isinstance(address, IPv4Address) and prefix is not None:
        return embedding.embed(prefix, address)
    other = f", or {PREFIX.name}" if family == 6 else f", such as {OWN}" if option is CLIENT_AS else ""
    raise MechanismError(
        f"nothing says which IPv{family} address the program gives {address}: give {option.name}{other}", option.name
    )


def _led_here(
    place: _Place, prefix: IPv6Network | None, source: Address, destination: Address
) -> list[IPv4Network | IPv6Network]:
    """What all nodes have routes to that lead to the program's node."""
    led: list[IPv4Network | IPv6Network] = [] if prefix is None else [prefix]
    for address, actual in ((source, {place.near.source, *place.own}), (destination, {place.far.destination})):
        is_led = prefix is not None and address in prefix
        if address not in actual and not is_led:
            led.append(IPv4Network(address) if isinstance(address, IPv4Address) else IPv6Network(address))
    return led


def _device(
    path: Path,
    place: _Place,
    led: Sequence[IPv4Network | IPv6Network],
    *,
    changes_family: bool,
    prefix: IPv6Network | None,
) -> Device:
    [node] = path.nodes
    interface = path.options.get(INTERFACE.name)
    links = place.topology.links_of(node)
    mtu_bytes = max(*(link.mtu_bytes for link in links), ETHERNET_MIN_MTU_V6)
    made = {
        "node": node,
        "device": PROGRAM.name if interface is None else str(interface),
        "mtu_bytes": mtu_bytes,
        "prefixes": tuple(led),
        "made_by": DEVICE_START,
        "routes_itself": interface is None,
        "keeps_state": path.options.get(STATE.name) == ITS_OWN,
    }
    if not changes_family:
        return Device(**made)  # type: ignore[arg-type]
    mtus = {family: min(link.mtu_bytes for link in links if link.carries(family)) for family in (4, 6)}
    mapping = {
        "kind": PROGRAM.name,
        "prefixes": [] if prefix is None else [str(prefix)],
        "lowest_ipv6_mtu": ETHERNET_MIN_MTU_V6,
        "mtu4": mtus[4],
        "mtu6": mtus[6],
    }
    hops = None if HOPS.name not in path.options else int(path.options[HOPS.name])
    return Translator(**made, mapping=mapping, hops=hops)  # type: ignore[arg-type]


def _words(path: Path, place: _Place, legs: Sequence[Leg], prefix: IPv6Network | None) -> dict[str, str]:
    """What stands for the names in braces in commands and files."""
    [node] = path.nodes
    known = {
        "dir": DIRECTORY,
        "client": legs[0].source,
        "server": legs[-1].destination,
        "client-as": legs[-1].source,
        "server-as": legs[0].destination,
        "prefix": prefix,
        "interface": path.options.get(INTERFACE.name),
        "near": _facing(place.topology, node, legs[0].near, legs[0].family),
        "far": _facing(place.topology, node, legs[-1].far, legs[-1].family),
        "near-address": place.own[0],
        "far-address": place.own[1],
    }
    return {name: str(value) for name, value in known.items() if value is not None}


def _facing(topology: Topology, node: str, other: str, family: Family) -> str:
    """The interface of a node by which it sends to another."""
    way = topology.route(node, other, family) or []
    return way[0].end_of(node).name


def _stage(path: Path, words: Mapping[str, str], families: Iterable[Family]) -> Stage:
    """What starts the program. `families`: those of its packets."""
    options = path.options
    given = json.loads(str(options.get(FILES.name, "{}")))

    def argv(option: Parameter) -> list[str]:
        return [filled(word, words) for word in shlex.split(str(options[option.name]))]

    start = Request(
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


_NAMES = ("dir", "client", "server", "client-as", "server-as", "prefix", "interface", "near", "far", "authority")
_BRACED = re.compile(r"\{(" + "|".join((*_NAMES, "near-address", "far-address")) + r")\}")


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with what stands for names in braces. Other braces are as they are. Raises `MechanismError` where
    nothing stands for one of the names."""

    def word(found: re.Match[str]) -> str:
        if found[1] not in words:
            raise MechanismError(f"{{{found[1]}}} stands in a command or a file, but there is no {found[1]}; give it")
        return words[found[1]]

    return _BRACED.sub(word, text)


def _family(options: Options) -> Family:
    return FAMILIES[str(options.get(FAMILY.name, FAMILY.default))][0]


def _server_family(options: Options, nodes: Sequence[str]) -> Family:
    return FAMILIES[str(options.get(FAMILY.name, FAMILY.default))][1]


ITSELF = Engine(
    name="program",
    doc="The program that the experiment names, which makes its device itself.",
    make=lambda device: Stage(),
)
PROGRAM = Mechanism(
    name="program",
    doc="A program of anyone's in a router, which forwards or translates as the experiment says.",
    family=_family,
    server_family=_server_family,
    install=_install,
    carriers=frozenset({4, 6}),
    node_count=(1, 1),
    executed_by=(ITSELF,),
    options=OPTIONS,
    sample=("r1",),
    sample_options={START.name: "sleep infinity", READY.name: "true"},
)
