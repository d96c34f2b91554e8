"""The `hosts` part of an experiment, and what nodes and links say of machines: `on`, and `over`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from ..model.host import Host, Over
from ..model.identifiers import DEVICE, NAME, NAME_RULE, SSH_DESTINATION, SSH_RULE
from ..model.quoting import listed, shown
from ..model.topology import Topology
from ..model.underlay import overhead_bytes
from .reader import Reader, as_name, suggest
from .yaml_source import KeyPath

HOST_KEYS = ("ssh", "sudo", "interfaces", "address")
MAX_HOSTS = 64
MAX_INTERFACES = 32

VXLAN: Over = "vxlan"
INTERNET: Over = "internet"
VLAN_KEYS = ("vlan", "on")
VLAN_IDS = (1, 4094)
"""The numbers that a VLAN can have (IEEE 802.1Q table 9-2): 0 is none, and 4095 is reserved."""
UNDERLAY_MTU_BYTES = 1500
"""The MTU that the network between two machines is taken to have, unless the link says more."""
HERE = "this machine"
_FORMS = (
    f"over must be two interfaces, such as [left, left], a VLAN on them, such as {{vlan: 100, on: [left, left]}}, "
    f"{VXLAN}, or {INTERNET}"
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
    items = reader.mapping(("hosts",), value, "hosts")
    if len(items) > MAX_HOSTS:
        reader.problem(("hosts",), f"{len(items)} hosts are more than {MAX_HOSTS}; leave some out")
        return {}
    read = {name: _read_host(reader, name, item) for name, item in items.items()}
    return {name: host for name, host in read.items() if host is not None}


def _read_host(reader: Reader, name: str, item: Any) -> Host | None:
    path: KeyPath = ("hosts", name)
    if not NAME.fullmatch(name):
        reader.problem(path, f"{shown(name)} cannot name a host: {NAME_RULE}")
        return None
    data = reader.mapping(path, {} if item is None else item, "a host", HOST_KEYS)
    before = len(reader.problems)
    ssh = data.get("ssh")
    if ssh is not None and not (isinstance(ssh, str) and SSH_DESTINATION.fullmatch(ssh)):
        reader.problem((*path, "ssh"), f"ssh must be {SSH_RULE}, not {shown(ssh)}")
    sudo = data.get("sudo", False)
    if not isinstance(sudo, bool):
        reader.problem((*path, "sudo"), f"sudo must be true or false, not {shown(sudo)}")
    elif sudo and ssh is None:
        reader.problem((*path, "sudo"), f"{name} has no ssh, so that it is {HERE}; run sixbench itself as root there")
    interfaces = _read_interfaces(reader, (*path, "interfaces"), data.get("interfaces", {}))
    address = None
    if "address" in data:
        address = reader.parsed((*path, "address"), data["address"], lambda text: ip_address(str(text)))
    if len(reader.problems) > before:
        return Host(name=name)  # so that nodes on it are not reported as well
    return Host(name=name, ssh=ssh, sudo=sudo, interfaces=interfaces, address=address)


def _read_interfaces(reader: Reader, path: KeyPath, value: Any) -> dict[str, str]:
    items = reader.mapping(path, value, "interfaces")
    if len(items) > MAX_INTERFACES:
        reader.problem(path, f"{len(items)} interfaces are more than {MAX_INTERFACES}; leave some out")
        return {}
    texts: dict[str, str] = {}
    for name, device in items.items():
        if not NAME.fullmatch(name):
            reader.problem((*path, name), f"{shown(name)} cannot name an interface: {NAME_RULE}")
        elif not isinstance(device, str) or not DEVICE.fullmatch(device):
            reader.problem((*path, name), f"give it as the host calls it, such as eth1, not {shown(device)}")
        elif device in texts.values():
            reader.problem((*path, name), f"{device} has two names; leave one of them out")
        else:
            texts[name] = device
    return texts


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
    devices = _read_cable(reader, place, over, _FORMS, ends, on, hosts, taken)
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
    data = reader.mapping(place, over, "a VLAN", VLAN_KEYS)
    number = data.get("vlan")
    least, most = VLAN_IDS
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        given = f"not {shown(number)}" if "vlan" in data else "which is missing"
        where = (*place, "vlan") if "vlan" in data else place
        reader.problem(where, f"vlan must be the number of a VLAN, {least} to {most}, {given}")
    if "on" not in data:
        reader.problem(
            place, "on must be the two interfaces that have the VLAN, such as [left, left], which is missing"
        )
        return None
    form = "on must be two interfaces, such as [left, left]"
    devices = _read_cable(reader, (*place, "on"), data["on"], form, ends, on, hosts, taken)
    if devices is None or len(reader.problems) > before:
        return None
    return Carried(over="cable", devices=devices, vlan_id=number)


def _read_cable(
    reader: Reader,
    place: KeyPath,
    value: Any,
    form: str,
    ends: tuple[str, str],
    on: tuple[str | None, str | None],
    hosts: Mapping[str, Host],
    taken: dict[tuple[str, str], str],
) -> tuple[str, str] | None:
    """The interfaces at both ends, as the machines call them. `form`: what is said of anything else."""
    names = list(map(as_name, value)) if isinstance(value, list) else None
    if names is None or len(names) != 2:
        reader.problem(place, f"{form}, not {shown(value)}")
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
