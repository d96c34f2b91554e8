"""A network as commands (`sysctl`, `ip -batch`, `ethtool`, `tc -batch`, `nft`), one script a node. This module runs
nothing.

Order: settings, then links (a veth pair is made with both ends in place), then VLANs, then devices with addresses and
routes, then queues, then filters; where a path is installed, then its devices with their addresses, its stages one
after the other with the devices that wait for one, and the routes into the devices. Within a step the nodes are
independent of one another.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address

from ..mechanisms import find_engine
from ..model.device import Device
from ..model.network import Blueprint
from ..model.routing import Route, all_routes
from ..model.stage import NodeRequest, Stage
from ..model.topology import ETHERNET_MIN_MTU_V6, Interface, Link, Node, Topology
from .emulation import EMULATOR, SILENT_SYSCTL, device_lines, emulated_links, ends_of, requests
from .filters import ruleset
from .guests import in_guest, start_lines
from .machines import machine_lines
from .netem import tc_command
from .node_script import NodeScript
from .queues import queue_lines

ONE_SEGMENT = 1
"""TCP builds super-packets even where ethtool says `gso off` (they are cut behind the queue), and tbf would count the
wire's overhead once for each of them: 0.5 % to 2 % too fast, measured. A device that takes one segment at a time gets
none."""

BASE_SYSCTL = {
    "net.ipv6.conf.all.accept_dad": "0",
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.all.accept_ra": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.all.router_solicitations": "0",
    "net.ipv6.conf.default.router_solicitations": "0",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv6.conf.all.mldv2_unsolicited_report_interval": "1",
    "net.ipv6.conf.default.mldv2_unsolicited_report_interval": "1",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_tw_reuse": "1",
    "net.ipv4.ip_local_port_range": "1024 65535",
    "net.ipv4.ipfrag_time": "2",
    "net.ipv6.ip6frag_time": "2",
}
"""The settings of every node. Fragments whose other parts were lost are given up after 2 s instead of 30 and 60 s: they
would fill the reassembly's memory, and the trials after an overloaded one would receive nothing. Metrics are not saved
so that a trial does not start with what the one before it learned; ports are reused so that connection rates can be
measured for minutes. Multicast groups are reported within milliseconds: by default a node says them twice in its first
two seconds (RFC 3810 section 9.11), which on a link of 1 Mbit/s is a thousandth of what its first trial carries."""

REACHABLE_MS = 86_400_000
"""About how long a neighbour that has answered stays reachable. By default Linux forgets those of a network that
was idle for a minute, where all networks of the machine together have over 128 (neigh/default/gc_thresh1): a trial
then begins with a round trip of neighbour discovery, for which its first datagrams wait."""

FIRST_PROBE_MS = REACHABLE_MS
"""Time after its first use at which a neighbour that has only asked is probed (RFC 4861 section 7.3.3). By default it
is 5 s, and the probes of each link and family fall into a trial of a run's first seconds."""

FIRST_INTERFACE = 10
"""Number of the first interface; lower ones are the namespace's own."""

FIRST_BESIDE_BORROWED = 1_000_000
"""The same where nodes have interfaces of machines, which keep their numbers."""

ROUTER_SYSCTL = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}


def render(topology: Topology) -> dict[str, NodeScript]:
    """The script of every node but equipment, by name, and those of our emulator and of machines, where these carry
    links."""
    return _render(topology, all_routes(topology))


def _render(topology: Topology, routes: Mapping[str, list[Route]]) -> dict[str, NodeScript]:
    emulated = emulated_links(topology)
    links = _link_lines(topology, dict(emulated))
    machines = machine_lines(topology)
    scripts = {
        name: NodeScript(
            node=name,
            sysctl=_with_borrowed(node_sysctl(topology.nodes[name]), topology.borrowed(name)),
            links=links[name],
            devices=_devices(topology, name),
            routes=_route_lines(routes[name], over_wires=True),
            ethtool=[words for link in _wires_of(topology, name) for words in _ethtool(link, link.end_of(name))],
            queues=[line for link in _wires_of(topology, name) for line in queue_lines(link, link.end_of(name))],
            nft=ruleset(topology.nodes[name]),
            borrowed=topology.borrowed(name),
            vlans=[
                NodeRequest(op="vlan-begin", fields={"interface": link.end_of(name).name, "vlan_id": link.vlan_id})
                for link in _wires_of(topology, name)
                if link.vlan_id is not None
            ],
        )
        for name in topology.held
    }
    if emulated:
        scripts[EMULATOR] = NodeScript(
            node=EMULATOR, sysctl=SILENT_SYSCTL, devices=device_lines(emulated), emulation=requests(emulated)
        )
    for name, lines in machines.items():
        scripts[name] = NodeScript(node=name, links=lines)
    return scripts


def _link_lines(topology: Topology, emulated: Mapping[int, Link]) -> dict[str, list[str]]:
    """The lines that make links, by the node in which they are run. The other end of an emulated link's end is the
    emulator's."""
    lines: dict[str, list[str]] = {name: [] for name in topology.nodes}
    first = FIRST_BESIDE_BORROWED if any(map(topology.borrowed, topology.nodes)) else FIRST_INTERFACE
    for index, link in enumerate(topology.wires):
        if link.over is not None or link.port is not None:
            continue  # its interfaces exist already, or the machines create them
        opposite = [(end.name, f" address {_mac(index, 2)}", end.node) for end in link.ends[::-1]]
        pairs = [(link.ends[0], 0, opposite[0])]
        if index in emulated:
            names = ends_of(index)
            pairs = [(end, number, (names[number], "", EMULATOR)) for number, end in enumerate(link.ends)]
        for end, number, (name, address, node) in pairs:
            number_here, other = (first + _number(index, item) for item in (number, 1 - number))
            lines[end.node].append(
                f"link add name {end.name} index {number_here} address {_mac(index, number + 1)} type veth "
                f"peer name {name} index {other}{address} netns {{pid:{node}}}"
            )
    return lines


def render_path(network: Blueprint, engine: str) -> dict[str, NodeScript]:
    """The script of every node of a network with a path installed. The engine of that name makes its devices."""
    make = find_engine(engine).make
    routes = all_routes(network.topology, network.devices)
    scripts = {
        name: replace(
            script,
            devices=script.devices + _loopback_lines(network.devices, name),
            first_devices=[make(device) for device in _made_after(network, 0) if device.node == name],
            made_addresses=_first_addresses(network, name) + _segment_lines(network, _made_after(network, 0), name),
            stages=_stages(network, name, make),
            made_routes=_route_lines(routes[name], over_wires=False),
        )
        if name in routes
        else replace(script, stages=[Stage() for _ in _stages(network, name, make)])
        for name, script in _render(network.topology, routes).items()
    }
    node_scripts = {
        name: in_guest(scripts[name], network.topology, guest, _macs(network.topology, name))
        for name, guest in network.guests.items()
    }
    return {name: node_scripts.get(name, script) for name, script in scripts.items()}


def device_lines_of(network: Blueprint, device: Device) -> list[str]:
    """The lines for `ip -batch` that a device needs once it is made: for its segments, and the routes into it. Those of
    IPv6 come first, so that no answer to a translated packet finds none and circles between node and router."""
    routes = all_routes(network.topology, network.devices)[device.node]
    of_device = sorted((route for route in routes if route.device == device.device), key=lambda route: -route.family)
    return [*_segment_lines(network, [device], device.node), *_route_lines(of_device, over_wires=False)]


def _made_after(network: Blueprint, stages: int) -> list[Device]:
    return [device for device in network.devices if device.made_by is None and device.after_stages == stages]


def _first_addresses(network: Blueprint, node: str) -> list[str]:
    late = {
        device.device
        for device in network.devices
        if device.node == node and (device.autoconfigured or device.after_stages)
    }
    return _made_addresses(network.topology, node, lambda device: device not in late)


def _stages(network: Blueprint, node: str, make: Callable[[Device], Stage]) -> list[Stage]:
    """The stages of a node, with the devices that are made after one of them: as many in every node."""
    stages: list[Stage] = []
    for number, stage in enumerate(network.stages, start=1):
        stages.append(stage.get(node, Stage()))
        devices = _made_after(network, number)
        if devices:
            stage_of = {device.device: make(device) for device in devices if device.node == node}
            lines = [line for item in stage_of.values() for line in item.ip]
            lines += _made_addresses(network.topology, node, stage_of.__contains__)
            lines += _segment_lines(network, devices, node)
            requests = tuple(request for item in stage_of.values() for request in item.requests)
            stages.append(Stage(requests=requests, ip=tuple(lines)))
    return stages


def carries_ipv6(link: Link) -> bool:
    """True if the kernel lets a link of this MTU carry IPv6 (RFC 8200 section 5)."""
    return link.mtu_bytes >= ETHERNET_MIN_MTU_V6


def script_text(script: NodeScript) -> str:
    """The script as a person would type it into a shell in that node."""
    lines = [f"sysctl -w {name}={shlex.quote(value)}" for name, value in script.sysctl.items()]
    lines += [f"ip {line}" for line in script.links]
    lines += [
        f"# in the machine's own namespace: ip link set dev {name} netns {{pid:{script.node}}}"
        for name in script.borrowed
    ]
    lines += [_request_text(request) for request in script.vlans]
    lines += [f"ip {line}" for line in script.devices]
    lines += [f"ip {line}" for line in script.routes]
    lines += ["ethtool " + " ".join(arguments) for arguments in script.ethtool]
    lines += [f"{shlex.join(tc_command(line))} {line}" for line in script.queues]
    lines += [_request_text(request) for request in script.emulation]
    lines += _nft_lines(script.nft)
    lines += [line for request in script.starts for line in start_lines(request)]
    for stage in script.first_devices:
        lines += stage_lines(stage)
    lines += [f"ip {line}" for line in script.made_addresses]
    for stage in script.stages:
        lines += stage_lines(stage)
    lines += [f"ip {line}" for line in script.made_routes]
    return "\n".join(lines)


def stage_lines(stage: Stage) -> list[str]:
    """A stage as a person would type it. What only the agent can do is a comment."""
    lines = [f"sysctl -w {name}={shlex.quote(value)}" for name, value in stage.sysctl.items()]
    lines += [_request_text(request) for request in stage.requests]
    lines += [f"ip {line}" for line in stage.ip]
    lines += _nft_lines(stage.nft)
    for program in stage.programs:
        lines += [f"{shlex.join(program.argv)} <<'END' &", *program.stdin.splitlines(), "END"]
    return lines


def _nft_lines(ruleset: str) -> list[str]:
    return ["nft -f - <<'END'", *ruleset.rstrip().splitlines(), "END"] if ruleset else []


def _request_text(request: NodeRequest) -> str:
    return f"# the agent: {request.op} {json.dumps(request.fields, default=str)}"


def fill_pids(text: str, pids: Mapping[str, str]) -> str:
    """Replaces `{pid:NAME}` by process numbers."""
    return _PID.sub(lambda match: pids.get(match[1], match[0]), text)


_PID = re.compile(r"\{pid:([^}]*)\}")


def _number(link: int, end: int) -> int:
    """Interface numbers, from the first one's on, which differ at the two ends. Where they are the same, Linux does not
    take the veth for a stacked device and may wait up to a second (linkwatch) before its carrier counts, and IPv6 does
    nothing until then."""
    return 2 * link + end


def _mac(link: int, end: int) -> str:
    """A locally administered address, predictable like the IP addresses."""
    return f"02:00:00:{link >> 8:02x}:{link & 0xFF:02x}:{end:02x}"


def _with_borrowed(sysctl: Mapping[str, str], devices: Iterable[str]) -> dict[str, str]:
    """Settings of a node with those of the interfaces that it has of its machine: these were there before the node's
    defaults. Of detecting duplicate addresses the larger of an interface's own setting and that of all holds, and of
    taking router advertisements its own alone (ip-sysctl)."""
    defaults = [(name.split("."), value) for name, value in sysctl.items() if ".conf.default." in name]
    # With slashes: the name of an interface may have dots.
    of_borrowed = {"/".join([*parts[:3], device, *parts[4:]]): value for device in devices for parts, value in defaults}
    return {**sysctl, **of_borrowed}


def _macs(topology: Topology, node: str) -> dict[str, str]:
    """The Ethernet addresses of a node's ends of links that sixbench makes, by name."""
    return {
        end.name: _mac(index, number)
        for index, link in enumerate(topology.wires)
        for number, end in enumerate(link.ends, start=1)
        if end.node == node
    }


def node_sysctl(node: Node) -> dict[str, str]:
    """The settings of a node, in the order in which they are made: those of every node, then the user's."""
    return BASE_SYSCTL | (ROUTER_SYSCTL if node.kind == "router" else {}) | node.sysctl


def _devices(topology: Topology, node: str) -> list[str]:
    lines = ["link set lo up"]
    for link in _wires_of(topology, node):
        end = link.end_of(node)
        if end.ipv4 is not None:
            lines.append(f"address add {end.ipv4} dev {end.name}")
        if carries_ipv6(link) and end.ipv6 is not None:
            lines.append(f"address add {end.ipv6} dev {end.name} nodad")
        segments = "" if link.offload_on else f" gso_max_segs {ONE_SEGMENT}"
        lines.append(f"link set {end.name} mtu {link.mtu_bytes}{segments} up")
        lines += [
            f"ntable change name {table} dev {end.name} base_reachable {REACHABLE_MS} delay_probe {FIRST_PROBE_MS}"
            for table in (["arp_cache"] if end.ipv4 is not None else [])
            + (["ndisc_cache"] if carries_ipv6(link) and end.ipv6 is not None else [])
        ]
    return lines


def _ethtool(link: Link, end: Interface) -> list[list[str]]:
    offload = [_offload(link, end)] if link.offload is not None or not link.offload_on else []
    # A network card would drop the frames of a VLAN that the kernel has no device for.
    return offload if link.vlan_id is None else [*offload, ["-K", end.name, "rx-vlan-filter", "off"]]


def _offload(link: Link, end: Interface) -> list[str]:
    state = "on" if link.offload_on else "off"
    return [
        "-K",
        end.name,
        *(word for feature in ("tso", "gso", "gro", "tx-udp-segmentation") for word in (feature, state)),
    ]


def _wires_of(topology: Topology, node: str) -> list[Link]:
    return [link for link in topology.links_of(node) if not link.is_tunnel]


def _loopback_lines(devices: Iterable[Device], node: str) -> list[str]:
    """The lines that give a node the addresses that it has for its devices' sake, each once."""
    loopback_addresses = [address for device in devices if device.node == node for address in device.addresses]
    return [f"address add {own_address(address)}" for address in dict.fromkeys(loopback_addresses)]


def own_address(address: IPv4Address | IPv6Address) -> str:
    """The end of the line that gives a node an address of its own. Without `nodad` the kernel looks for other nodes
    with an IPv6 address even on `lo`, in a thread, and no socket can be bound to it until then."""
    return f"{address}/{address.max_prefixlen} dev lo" + (" nodad" if address.version == 6 else "")


def _made_addresses(topology: Topology, node: str, is_meant: Callable[[str], bool]) -> list[str]:
    """The lines that give the tunnel devices that are meant their addresses, each device once: a device may be an end
    of several links."""
    lines: dict[str, None] = {}
    for link in topology.links_of(node):
        end = link.end_of(node)
        if not link.is_tunnel or not is_meant(end.name):
            continue
        if end.ipv4 is not None:
            lines[f"address add {end.ipv4} dev {end.name}"] = None
        if end.ipv6 is not None:
            lines[f"address add {end.ipv6} dev {end.name} nodad"] = None
    return list(lines)


def _segment_lines(network: Blueprint, devices: Iterable[Device], node: str) -> list[str]:
    """The lines for devices that were made in a node, so that its own TCP gives them no super-packets where one of its
    wires is to carry none: they would leave by that as they are."""
    if all(link.offload_on for link in _wires_of(network.topology, node)):
        return []
    return [f"link set {device.device} gso_max_segs {ONE_SEGMENT}" for device in devices if device.node == node]


def _route_lines(routes: Iterable[Route], *, over_wires: bool) -> list[str]:
    return [_route_line(route) for route in routes if route.is_over_wire == over_wires]


def _route_line(route: Route) -> str:
    return f"route add {route_words(route)}"


def route_words(route: Route) -> str:
    """A route as `ip route` takes it."""
    onlink = " onlink" if route.is_onlink else ""
    via = "" if route.gateway is None else f"via {route.gateway} "
    kind = "local " if route.is_local else ""
    return f"{kind}{route.prefix or 'default'} {via}dev {route.device}{onlink}"
