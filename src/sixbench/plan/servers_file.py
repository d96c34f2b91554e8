"""The `servers` part of an experiment: servers of others, in place of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from ..mechanisms.internet import INTERNET4, INTERNET6
from ..model.addresses import why_no_single_host
from ..model.host import Host, split_destination
from ..model.parameter import Parameter, Scalar
from ..model.path import Path
from ..model.quoting import shown
from ..model.server import DEFAULT_PORT, Server, addresses_in, why_no_server
from ..model.workloads import WORKLOADS
from .hosts_file import HERE, read_hosts
from .key_reader import read_items, read_keys, read_plain, read_value
from .keys import A_NAME, CompoundKey, KnownKeys, ValueForms, ValueList
from .reader import Reader, as_name
from .yaml_source import KeyPath

MAX_SERVERS = 1000
SERVERS = "servers"

SERVER_WORKLOADS = tuple(kind.name for kind in WORKLOADS.values() if kind.to_servers is not None)
"""The workloads that need nothing of sixbench at the other end."""

DEFAULT_PATHS: Mapping[str, str] = {"ipv4": INTERNET4.name, "ipv6": INTERNET6.name}
"""The paths of an experiment with servers that names none."""

NOT_WITH_SERVERS: Mapping[str, str] = {
    "topology": "the network to servers is not ours to describe",
    "dut": "a device under test stands in a network of sixbench",
    "between": "each server is an end",
    "profiles": "they are of links, and the links to servers are not ours",
    "events": "the links to servers are not ours to change",
    "kernels": "an emulated machine has no way to servers",
    "placement": "there are no nodes to place",
    "keep-awake": "there are no nodes whose processors would sleep",
}
"""The keys that have no meaning beside `servers`, and why."""


def _host(value: object) -> Scalar:
    name = as_name(value)
    if not isinstance(name, str):
        raise ValueError(f"a server is the name of a host or an address, not {shown(value)}")
    wrong = why_no_server(name)
    if wrong is not None:
        raise ValueError(f"{wrong}; give servers one by one, such as www.example.org or 2001:db8::1")
    return name


def _address(value: object) -> Scalar:
    text = str(value)
    try:
        address = ip_address(text)
    except ValueError:
        raise ValueError(f"resolver must be an IP address, not {shown(value)}") from None
    wrong = why_no_single_host(text)
    if wrong is not None or "%" in text:
        raise ValueError(f"resolver must be the address of one host, without an interface, not {shown(value)}")
    return str(address)


HOST_NAME = Parameter(
    name="name", kind="line", parser=_host, doc="the name of a host, an address, or two with a comma between"
)
WORKLOAD_NAMES = ValueList(what="workloads", item=A_NAME, empty="no workload is named; leave workloads out for all")
SERVER = KnownKeys(
    what="a server",
    entries=(
        HOST_NAME,
        Parameter(
            name="port",
            kind="count",
            minimum=1,
            maximum=65535,
            default=DEFAULT_PORT,
            doc="the port of TCP, TLS, HTTP and QUIC",
        ),
        Parameter(
            name="mine",
            kind="flag",
            default=False,
            doc="its owner lets more than one connection a second come, which needs --mine on the command line. "
            "Servers with private addresses are mine",
        ),
        CompoundKey(
            name="workloads",
            value=WORKLOAD_NAMES,
            unless_given="all that it offers",
            doc="the workloads that go to it, by their names",
        ),
    ),
    missing={"name": ""},
)
SERVER_LIST = ValueList(
    what=SERVERS,
    item=ValueForms((HOST_NAME, SERVER)),
    most=MAX_SERVERS,
    empty="no server is given; name one at least, such as www.example.org",
)
SERVERS_KEY = CompoundKey(
    name=SERVERS,
    value=SERVER_LIST,
    unless_given="none",
    doc="servers of others, one by one; they stand in place of topology, and paths are then optional",
)
RESOLVER = Parameter(
    name="resolver",
    kind="line",
    parser=_address,
    unless_given="that of the system",
    doc="the address of the resolver that is asked for the names of servers",
)
HIDE_ADDRESSES = Parameter(
    name="hide-addresses",
    kind="flag",
    default=False,
    doc="keep the addresses of the machines that measure, and of their networks, out of every file of a run to servers",
)


def read_servers(reader: Reader, value: Any) -> tuple[Server, ...]:
    """Reads the list: each entry a name, or a mapping with its name."""
    servers: dict[str, Server] = {}
    for index, item in enumerate(read_items(reader, (SERVERS,), value, SERVER_LIST)):
        server = _read_server(reader, (SERVERS, index), item)
        if server is None:
            continue
        if server.label in servers:
            reader.problem((SERVERS, index), f"{shown(server.label)} is given twice; keep one")
        servers[server.label] = server
    return tuple(servers.values())


def _read_server(reader: Reader, place: KeyPath, item: Any) -> Server | None:
    if not isinstance(item, dict):
        name = read_value(reader, place, item, HOST_NAME)
        return None if name is None else Server(name=str(name))
    given = read_keys(reader, place, item, SERVER)
    read = read_plain(reader, place, given, SERVER)
    if "name" not in read:
        return None
    server = Server(**read)
    workloads_place = (*place, "workloads")
    items = read_items(reader, workloads_place, given["workloads"], WORKLOAD_NAMES) if "workloads" in given else []
    names = [
        reader.one_of((*workloads_place, index), name, "workload to servers", SERVER_WORKLOADS)
        for index, name in enumerate(items)
    ]
    return replace(server, workloads=tuple(name for name in names if name is not None))


def read_vantages(reader: Reader, value: Any, *, hides_addresses: bool) -> tuple[Host, ...]:
    """Reads the machines that an experiment with servers is measured from: `hosts`, as a network on several machines
    has them. A host without `ssh` is this machine."""
    vantages = tuple(read_hosts(reader, value).values())
    known: dict[str | None, str] = {}
    for host in vantages:
        place: KeyPath = ("hosts", host.name)
        if host.ssh in known:
            what = HERE if host.ssh is None else host.ssh
            reader.problem(place, f"{known[host.ssh]} and {host.name} are both {what}; keep one")
        known.setdefault(host.ssh, host.name)
        if hides_addresses and host.address is not None:
            words = f"the address of {host.name} is to be hidden, and servers are measured without it; leave it out"
            reader.problem((*place, "address"), words)
        if hides_addresses and host.ssh is not None and addresses_in(split_destination(host.ssh)[1].partition("%")[0]):
            reader.problem(
                (*place, "ssh"),
                f"the run's files name {host.name} so, and its address is to be hidden; give it a name in "
                "~/.ssh/config, and that name here",
            )
    return vantages


def check_keys_beside(reader: Reader, data: Mapping[str, Any]) -> None:
    """Notes the keys that an experiment with servers cannot have."""
    for key, why in NOT_WITH_SERVERS.items():
        if key in data:
            reader.problem((key,), f"{why}; leave {key} or servers out")


def check_keys_without(reader: Reader, data: Mapping[str, Any]) -> None:
    """Notes the keys that only an experiment with servers has."""
    for parameter in (RESOLVER, HIDE_ADDRESSES):
        if parameter.name in data:
            reader.problem((parameter.name,), f"{parameter.name} needs servers, which this experiment lacks")


def check_server_paths(reader: Reader, paths: list[Path]) -> None:
    """Notes paths that are the same."""
    seen: dict[str, str] = {}
    for path in paths:
        if path.mechanism in seen:
            words = f"{path.name} and {seen[path.mechanism]} are both {path.mechanism}; for an A/A path give aa: true"
            reader.problem(("paths", path.name), words)
        seen[path.mechanism] = path.name
