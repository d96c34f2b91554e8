"""A device of anyone's on the way of a path: where it stands, and how it changes addresses, as the experiment says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address

from ..model.device import Device, Translator
from ..model.leg import Address, Leg
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import ETHERNET_MIN_MTU_V6, Family, Topology
from . import embedding
from .common import check_overlap, check_router, legs_of
from .kind import MechanismError, Options
from .parting import part, plain_leg, prefix_option
from .program_options import (
    CLIENT_AS,
    DEVICE_ADDRESS,
    FAMILIES,
    FAMILY,
    HOPS,
    INTERFACE,
    ITS_OWN,
    PREFIX,
    SERVER_AS,
    STATE,
)


@dataclass(frozen=True, kw_only=True)
class DevicePlace:
    """Place of the device in a network.

    Attributes:
        near, far: the legs on the client's side and on the server's.
        device_addresses: its node's addresses at the end of `near` and at the beginning of `far`.
    """

    topology: Topology
    near: Leg
    far: Leg
    device_addresses: tuple[Address, Address]


@dataclass(frozen=True, kw_only=True)
class Through:
    """A device on the way.

    Attributes:
        legs: of the path, with the addresses that packets have on each side.
        prefix: in which it embeds IPv4 addresses; None: it embeds none.
        device: as other nodes know it.
    """

    place: DevicePlace
    legs: tuple[Leg, ...]
    prefix: IPv6Network | None
    device: Device


def through(path: Path, topology: Topology, between: tuple[str, str], made_by: str) -> Through:
    """The device of a path in its one node. Raises `MechanismError` where it is not on the way, or nothing says what it
    makes of an address.

    Args:
        made_by: the request that starts it.
    """
    first, last = FAMILIES[str(path.options.get(FAMILY.name, FAMILY.default))]
    prefix = prefix_option(path, PREFIX.name, "") if PREFIX.name in path.options else None
    place = _same_family(path, topology, between) if first == last else _two_families(path, topology, between)
    if prefix is not None:
        check_overlap(path, place.topology, [prefix], PREFIX.name)
    near, far = place.near, place.far
    destination = _seen(path, SERVER_AS, far.destination, first, prefix, place.device_addresses[0])
    source = _seen(path, CLIENT_AS, near.source, last, prefix, place.device_addresses[1])
    legs: tuple[Leg, ...] = (replace(near, destination=destination), replace(far, source=source))
    if first == last and (destination, source) == (far.destination, near.source):
        legs = (replace(near, far=far.far, destination=far.destination),)
    led = _led_here(place, prefix, source, destination)
    device = _device(path, place, led, made_by, changes_family=first != last, prefix=prefix)
    return Through(place=place, legs=legs, prefix=prefix, device=device)


def check_route(network: Network, between: tuple[str, str], node: str) -> None:
    """Raises `MechanismError` where no route leads through the device's node."""
    if not network.crossings:
        raise MechanismError(f'no route leads from "{between[0]}" to "{between[1]}" through "{node}"')


def _same_family(path: Path, topology: Topology, between: tuple[str, str]) -> DevicePlace:
    """Raises `MechanismError` where the device's node is not on the way."""
    [node] = path.nodes
    client, server = between
    check_router(topology, node, "a device's node", "nodes")
    if HOPS.name in path.options:
        raise MechanismError("hops is for a device that changes the family; one that does not is a router", HOPS.name)
    [leg, *others] = legs_of(topology, between, path.family)
    if others:
        raise MechanismError(f'"{others[0].near}" masquerades: a device is tested where nothing else does')
    route = topology.route(client, server, path.family) or ()
    if sum(node in (end.node for end in link.ends) for link in route) != 2:
        raise MechanismError(f'"{node}" is not on the way from "{client}" to "{server}" over IPv{path.family}', "nodes")
    far = plain_leg(path, topology, (node, server), path.family)
    inward = plain_leg(path, topology, (client, node), path.family)
    return DevicePlace(
        topology=topology,
        near=replace(leg, far=node),
        far=replace(far, destination=leg.destination),
        device_addresses=(inward.destination, far.source),
    )


def _two_families(path: Path, topology: Topology, between: tuple[str, str]) -> DevicePlace:
    parted = part(path, topology, between, embeds=False)
    near, far = parted.legs
    return DevicePlace(topology=parted.topology, near=near, far=far, device_addresses=(near.destination, far.source))


def _seen(
    path: Path, option: Parameter, address: Address, family: Family, prefix: IPv6Network | None, device_address: Address
) -> Address:
    """A host's address on the other side of the device. Raises `MechanismError` where nothing says which."""
    given = path.options.get(option.name)
    if given == DEVICE_ADDRESS and option is CLIENT_AS:
        return device_address
    if given is not None:
        if given == DEVICE_ADDRESS or ip_address(str(given)).version != family:
            raise MechanismError(f"{option.name} must be an IPv{family} address here, not {given}", option.name)
        return ip_address(str(given))
    if address.version == family:
        return address
    if isinstance(address, IPv4Address) and prefix is not None:
        return embedding.embed(prefix, address)
    other = f", or {PREFIX.name}" if family == 6 else f", such as {DEVICE_ADDRESS}" if option is CLIENT_AS else ""
    raise MechanismError(
        f"the IPv{family} address that the device gives {address} is not known: give {option.name}{other}", option.name
    )


def _led_here(
    place: DevicePlace, prefix: IPv6Network | None, source: Address, destination: Address
) -> list[IPv4Network | IPv6Network]:
    """Addresses to which all nodes have routes that lead to the device's node."""
    led: list[IPv4Network | IPv6Network] = [] if prefix is None else [prefix]
    for address, actual in (
        (source, {place.near.source, *place.device_addresses}),
        (destination, {place.far.destination}),
    ):
        is_led = prefix is not None and address in prefix
        if address not in actual and not is_led:
            led.append(IPv4Network(address) if isinstance(address, IPv4Address) else IPv6Network(address))
    return led


def _device(
    path: Path,
    place: DevicePlace,
    led: Sequence[IPv4Network | IPv6Network],
    made_by: str,
    *,
    changes_family: bool,
    prefix: IPv6Network | None,
) -> Device:
    [node] = path.nodes
    interface = path.options.get(INTERFACE.name)
    links = place.topology.links_of(node)
    mtu_bytes = max(*(link.mtu_bytes for link in links), ETHERNET_MIN_MTU_V6)
    results = {
        "node": node,
        "device": path.mechanism if interface is None else str(interface),
        "mtu_bytes": mtu_bytes,
        "prefixes": tuple(led),
        "made_by": made_by,
        "routes_itself": interface is None,
        "keeps_state": path.options.get(STATE.name) == ITS_OWN,
    }
    if not changes_family:
        return Device(**results)  # type: ignore[arg-type]
    mtus = {family: min(link.mtu_bytes for link in links if link.carries(family)) for family in (4, 6)}
    mapping = {
        "kind": path.mechanism,
        "prefixes": [] if prefix is None else [str(prefix)],
        "lowest_ipv6_mtu": ETHERNET_MIN_MTU_V6,
        "mtu4": mtus[4],
        "mtu6": mtus[6],
    }
    hops = None if HOPS.name not in path.options else int(path.options[HOPS.name])
    return Translator(**results, mapping=mapping, hops=hops)  # type: ignore[arg-type]


def words_of(path: Path, result: Through, others: Mapping[str, object]) -> dict[str, str]:
    """Values of the names in braces in commands and files. `others`: what stands for further names."""
    [node] = path.nodes
    place, legs = result.place, result.legs
    known: dict[str, object] = {
        "client": legs[0].source,
        "server": legs[-1].destination,
        "client-as": legs[-1].source,
        "server-as": legs[0].destination,
        "prefix": result.prefix,
        "near": _facing(place.topology, node, legs[0].near, legs[0].family),
        "far": _facing(place.topology, node, legs[-1].far, legs[-1].family),
        "near-address": place.device_addresses[0],
        "far-address": place.device_addresses[1],
        **others,
    }
    return {name: str(value) for name, value in known.items() if value is not None}


def _facing(topology: Topology, node: str, other: str, family: Family) -> str:
    """The interface of a node by which it sends to another."""
    route = topology.route(node, other, family) or []
    return route[0].end_of(node).name


_NAMES = ("dir", "client", "server", "client-as", "server-as", "prefix", "interface", "near", "far", "authority")
_BRACED = re.compile(r"\{(" + "|".join((*_NAMES, "near-address", "far-address")) + r")\}")


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with what stands for names in braces. Other braces are as they are. Raises `MechanismError` where
    nothing stands for one of the names."""

    def word(match: re.Match[str]) -> str:
        if match[1] not in words:
            raise MechanismError(f"{{{match[1]}}} stands in a command or a file, but there is no {match[1]}; give it")
        return words[match[1]]

    return _BRACED.sub(word, text)


def near_family(options: Options) -> Family:
    """The family on the client's side."""
    return FAMILIES[str(options.get(FAMILY.name, FAMILY.default))][0]


def far_family(options: Options, nodes: Sequence[str]) -> Family:
    """The family on the server's side."""
    return FAMILIES[str(options.get(FAMILY.name, FAMILY.default))][1]
