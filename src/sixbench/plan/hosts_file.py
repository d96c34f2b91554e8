"""The `hosts` part of an experiment, and what nodes and links say of machines: `on`, and `over`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from ..model.host import Host, Over
from ..model.identifiers import DEVICE, NAME, NAME_RULE, SSH_DESTINATION, SSH_RULE
from ..model.parameter import Parameter, Scalar
from ..model.quoting import listed, shown
from ..model.topology import Topology
from ..model.underlay import overhead_bytes
from .key_reader import read_keys, read_names, read_pair, read_plain, read_value
from .keys import A_NAME, CompoundKey, KnownKeys, NamedValues, NameRule, NoValue, ValueForms, ValuePair
from .reader import Reader, as_name, suggest
from .yaml_source import KeyPath

MAX_HOSTS = 64
MAX_INTERFACES = 32

VXLAN: Over = "vxlan"
INTERNET: Over = "internet"
VLAN_IDS = (1, 4094)
"""The numbers that a VLAN can have (IEEE 802.1Q table 9-2): 0 is none, and 4095 is reserved."""
UNDERLAY_MTU_BYTES = 1500
"""The MTU that the network between two machines is taken to have, unless the link says more."""
HERE = "this machine"


def _ssh(value: object) -> Scalar:
    if not isinstance(value, str) or not SSH_DESTINATION.fullmatch(value):
        raise ValueError(f"ssh must be {SSH_RULE}, not {shown(value)}")
    return value


def _address(value: object) -> Scalar:
    return str(ip_address(str(value)))


def _device_name(value: object) -> Scalar:
    if not isinstance(value, str) or not DEVICE.fullmatch(value):
        raise ValueError(f"give it as the host calls it, such as eth1, not {shown(value)}")
    return value


def _vlan_id(value: object) -> Scalar:
    least, most = VLAN_IDS
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{_VLAN_RULE}, not {shown(value)}")
    return value


_DEVICE_NAME = Parameter(name="device", kind="device", parser=_device_name, doc="")
INTERFACES = NamedValues(
    what="interfaces",
    item=_DEVICE_NAME,
    names=NameRule(noun="an interface", pattern=NAME, rule=NAME_RULE),
    most=MAX_INTERFACES,
)
HOST = KnownKeys(
    what="a host",
    entries=(
        Parameter(
            name="ssh",
            kind="ssh",
            parser=_ssh,
            unless_given=f"it is {HERE}",
            doc="the destination for ssh, such as user@lab1.example",
        ),
        Parameter(name="sudo", kind="flag", default=False, doc="agents are started by sudo, without a password"),
        CompoundKey(
            name="interfaces",
            value=INTERFACES,
            doc="the interfaces that nodes may borrow: for each name that links use, the host's own",
        ),
        Parameter(
            name="address",
            kind="address",
            parser=_address,
            doc=f"the address at which the other hosts reach it, for {VXLAN} and {INTERNET}",
        ),
    ),
)
HOSTS = NamedValues(
    what="hosts",
    item=ValueForms((NoValue(), HOST)),
    names=NameRule(noun="a host", pattern=NAME, rule=NAME_RULE),
    most=MAX_HOSTS,
)
ON = CompoundKey(name="on", value=A_NAME, unless_given=HERE, doc="the host that it is on")

_VLAN_RULE = f"vlan must be the number of a VLAN, {VLAN_IDS[0]} to {VLAN_IDS[1]}"
_CARRIER = Parameter(name="carrier", kind="choice", choices=(VXLAN, INTERNET), doc="")
_VLAN_ENDS = ValuePair(item=A_NAME, rule="on must be two interfaces, such as [left, left]")
_VLAN = KnownKeys(
    what="a VLAN",
    entries=(
        Parameter(
            name="vlan",
            kind="count",
            parser=_vlan_id,
            minimum=VLAN_IDS[0],
            maximum=VLAN_IDS[1],
            doc="the number of the VLAN: that of the tag of its frames",
        ),
        CompoundKey(name="on", value=_VLAN_ENDS, doc="the interfaces at both ends, which carry this VLAN alone"),
    ),
    missing={
        "vlan": f"{_VLAN_RULE}, which is missing",
        "on": "on must be the two interfaces that have the VLAN, such as [left, left], which is missing",
    },
)
_CABLE = ValuePair(
    item=A_NAME,
    rule=(
        f"over must be two interfaces, such as [left, left], a VLAN on them, such as {{vlan: 100, on: [left, left]}}, "
        f"{VXLAN}, or {INTERNET}"
    ),
)
OVER = CompoundKey(
    name="over",
    value=ValueForms((_CARRIER, _CABLE, _VLAN)),
    unless_given="both ends are on one machine",
    doc=(
        "the connection of two machines: a cable between an interface of the first and one of the second, by the names "
        "that hosts gives them, a VLAN on such a cable, vxlan, or internet: a network that is not ours"
    ),
)


@dataclass(frozen=True, kw_only=True)
class Carried:
    """The carrier of a link that joins machines.

    Attributes:
        devices: of a cable, the machines' names of the interfaces at its ends.
        vlan_id: of a cable, the number of the VLAN that it is.
        mtu_bytes: the MTU of the link unless it has one; None: that of any link.
    """

    over: Over | None = None
    devices: tuple[str, str] | None = None
    vlan_id: int | None = None
    mtu_bytes: int | None = None


NOTHING = Carried()


def read_hosts(reader: Reader, value: Any) -> dict[str, Host]:
    """The machines by name. What is wrong is noted and left out."""
    items = read_names(reader, ("hosts",), value, HOSTS)
    return {name: _read_host(reader, name, item) for name, item in items.items() if NAME.fullmatch(name)}


def _read_host(reader: Reader, name: str, item: Any) -> Host:
    path: KeyPath = ("hosts", name)
    data = read_keys(reader, path, {} if item is None else item, HOST)
    before = len(reader.problems)
    read = read_plain(reader, path, data, HOST)
    if read.get("sudo") and "ssh" not in data:
        reader.problem((*path, "sudo"), f"{name} has no ssh, so that it is {HERE}; run sixbench itself as root there")
    interfaces = _read_interfaces(reader, (*path, "interfaces"), data.get("interfaces", {}))
    if len(reader.problems) > before:
        return Host(name=name)  # so that nodes on it are not reported as well
    address = ip_address(read["address"]) if "address" in read else None
    return Host(name=name, ssh=read.get("ssh"), sudo=read.get("sudo", False), interfaces=interfaces, address=address)


def _read_interfaces(reader: Reader, path: KeyPath, value: Any) -> dict[str, str]:
    devices: dict[str, str] = {}
    for name, item in read_names(reader, path, value, INTERFACES).items():
        device = read_value(reader, (*path, name), item, _DEVICE_NAME) if NAME.fullmatch(name) else None
        if device in devices.values():
            reader.problem((*path, name), f"{device} has two names; leave one of them out")
        elif device is not None:
            devices[name] = str(device)
    return devices


def read_on(reader: Reader, path: KeyPath, value: Any, hosts: Mapping[str, Host]) -> str | None:
    """The host that a node names. One that there is not is noted, and kept so that the node's links are not reported as
    well."""
    name = as_name(value)
    if isinstance(name, str) and name in hosts:
        return name
    hint = suggest(name if isinstance(name, str) else "", hosts)
    if not hosts:
        hint = "describe it, such as hosts: {lab1: {ssh: user@lab1.example}}"
    reader.problem(path, f"there is no host {shown(value)}; {hint}")
    return str(name)


def read_over(
    reader: Reader,
    path: KeyPath,
    data: Mapping[str, Any],
    ends: tuple[str, str],
    places: Mapping[str, str | None],
    hosts: Mapping[str, Host],
    taken: dict[tuple[str, str], str],
) -> Carried | None:
    """The carrier of a link. None where that is wrong, or missing.

    Args:
        places: the hosts of nodes, by their names.
        taken: the interfaces that links have so far, by host and name, with the link.
    """
    on = (places.get(ends[0]), places.get(ends[1]))
    if any(name is not None and name not in hosts for name in on):
        return NOTHING
    what = " and ".join(name or HERE for name in on)
    place = (*path, "over")
    if "over" not in data:
        if _is_one(on, hosts):
            return NOTHING
        reader.problem(
            path,
            f"this link joins {what} and needs a connection: give over: [left, left], a cable between two of their "
            f"interfaces, over: {VXLAN}, or over: {INTERNET}",
        )
        return None
    over = data["over"]
    carrier = next((name for name in (VXLAN, INTERNET) if name == over), None)
    if carrier is not None:
        return _read_underlay(reader, place, carrier, on, what, hosts)
    if isinstance(over, dict):
        return _read_vlan(reader, place, over, ends, on, hosts, taken)
    devices = _read_cable(reader, place, over, _CABLE, ends, on, hosts, taken)
    return None if devices is None else Carried(over="cable", devices=devices)


def _read_vlan(
    reader: Reader,
    place: KeyPath,
    over: Mapping[str, Any],
    ends: tuple[str, str],
    on: tuple[str | None, str | None],
    hosts: Mapping[str, Host],
    taken: dict[tuple[str, str], str],
) -> Carried | None:
    before = len(reader.problems)
    data = read_keys(reader, place, over, _VLAN)
    read = read_plain(reader, place, data, _VLAN)
    if "on" not in data:
        return None
    devices = _read_cable(reader, (*place, "on"), data["on"], _VLAN_ENDS, ends, on, hosts, taken)
    if devices is None or len(reader.problems) > before:
        return None
    return Carried(over="cable", devices=devices, vlan_id=read["vlan"])


def _read_cable(
    reader: Reader,
    place: KeyPath,
    value: Any,
    pair: ValuePair,
    ends: tuple[str, str],
    on: tuple[str | None, str | None],
    hosts: Mapping[str, Host],
    taken: dict[tuple[str, str], str],
) -> tuple[str, str] | None:
    """The interfaces at both ends, as the machines call them."""
    names = read_pair(reader, place, value, pair)
    if names is None:
        return None
    devices = [
        _device(reader, (*place, index), item, on[index], hosts, taken, ends) for index, item in enumerate(names)
    ]
    return None if None in devices else (str(devices[0]), str(devices[1]))


def _is_one(on: tuple[str | None, str | None], hosts: Mapping[str, Host]) -> bool:
    """True if both nodes are on one machine, by whichever name."""
    first, second = (None if name is None or hosts[name].ssh is None else name for name in on)
    return first == second


def _read_underlay(
    reader: Reader, place: KeyPath, over: Over, on: tuple[str | None, str | None], what: str, hosts: Mapping[str, Host]
) -> Carried | None:
    if _is_one(on, hosts):
        reader.problem(place, f"both ends are on {on[0] or HERE}, and need no network between them; leave over out")
        return None
    addresses = [None if name is None else hosts[name].address for name in on]
    if None in addresses:
        lacking = on[addresses.index(None)]
        whose = f"give hosts.{lacking} its address"
        if lacking is None:
            whose = f"describe {HERE} as a host without ssh, with its address"
        reader.problem(place, f"{over} between {what} needs addresses of both; {whose}, at which the other reaches it")
        return None
    known = [address for address in addresses if address is not None]
    if len({address.version for address in known}) > 1:
        reader.problem(place, f"the addresses of {what} are of two families; give both of one")
        return None
    return Carried(over=over, mtu_bytes=UNDERLAY_MTU_BYTES - overhead_bytes(known[0]))


def _device(
    reader: Reader,
    place: KeyPath,
    name: Any,
    on: str | None,
    hosts: Mapping[str, Host],
    taken: dict[tuple[str, str], str],
    ends: tuple[str, str],
) -> str | None:
    """The interface that a host's name for it means, which no other link may have."""
    if on is None:
        reader.problem(
            place,
            f"this end is on {HERE}, which has no interfaces to borrow; describe {HERE} as a host without ssh",
        )
        return None
    interfaces = hosts[on].interfaces
    if name not in interfaces:
        hint = suggest(name if isinstance(name, str) else "", interfaces) if interfaces else "it has none; list them"
        reader.problem(place, f"{on} has no interface {shown(name)}; {hint}")
        return None
    device = interfaces[name]
    if (on, device) in taken:
        reader.problem(place, f"{name} of {on} carries {taken[on, device]} already; give this end another interface")
        return None
    taken[on, device] = "-".join(ends)
    return device


def check_machines(reader: Reader, topologies: Iterable[Topology], kernels: Sequence[str]) -> None:
    """Notes what networks on several machines cannot have."""
    topologies = list(topologies)
    if any(item.hosts for item in topologies) and not any(item.is_spread for item in topologies):
        reader.problem(("hosts",), "no node is on any of these; put one there, such as client: {kind: host, on: lab1}")
    for topology in topologies:
        if not topology.is_spread:
            continue
        if kernels:
            reader.problem(("kernels",), "an emulated machine has no others beside it; leave kernels or hosts out")
            return
        emulated: dict[str | None, int] = {}
        for index, link in enumerate(topology.links):
            if not link.is_emulated or link.emulator == "netem":
                continue
            if link.over is not None:
                reader.problem(
                    ("topology", "links", index),
                    "no emulator of ours stands between two machines: leave delay and loss out, or give "
                    "emulator: netem where their kernels have it",
                )
                return
            emulated.setdefault(topology.nodes[link.ends[0].node].on, index)
        if len(emulated) > 1:
            reader.problem(
                ("topology", "links", list(emulated.values())[1]),
                f"emulated links are on {listed([name or HERE for name in emulated])}; put all of them on one machine",
            )
            return
