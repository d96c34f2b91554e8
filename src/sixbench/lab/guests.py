"""A node that is an emulated machine: what its namespace has, and what is done in the machine.

The machine's interfaces end at taps in the namespace. Each is joined with its link by a redirect in both directions,
which takes every frame as it is: nothing is learned, answered or held. The namespace has no address, and no IPv6.
"""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace

from ..model.guest import GUEST_START, GuestCommand, GuestNode, GuestPort
from ..model.stage import NodeRequest
from ..model.topology import Topology
from .emulation import SILENT_SYSCTL
from .node_script import NodeScript

QUEUED_FRAMES = 1000
"""Number of frames that wait at a tap until QEMU takes them. More are dropped, and counted there."""

TAP = "sixtap"
_REDIRECT = "u32 match u32 0 0 action mirred egress redirect dev"


def in_guest(script: NodeScript, topology: Topology, guest: GuestNode, addresses: dict[str, str]) -> NodeScript:
    """The script of a node that is an emulated machine.

    Args:
        script: as it would be were it none.
        addresses: the Ethernet addresses of its ends of links, by name.
    """
    ports = [
        GuestPort(tap=f"{TAP}{number}", address=addresses[end.name], name=end.name, mtu_bytes=link.mtu_bytes)
        for number, (link, end) in enumerate(
            (link, link.end_of(script.node)) for link in topology.links_of(script.node)
        )
    ]
    pairs = [pair for port in ports for pair in ((port.name, port.tap), (port.tap, port.name))]
    start = NodeRequest(
        op=GUEST_START,
        fields={
            "kernel": guest.kernel,
            "memory_bytes": guest.memory_bytes,
            "ready_timeout_ns": guest.ready_timeout_ns,
            "ports": [asdict(port) for port in ports],
            "commands": [asdict(command) for command in commands(script, guest)],
        },
    )
    return replace(
        script,
        sysctl=SILENT_SYSCTL,
        devices=[
            "link set lo up",
            *(
                line
                for port in ports
                for line in (
                    f"tuntap add dev {port.tap} mode tap",
                    f"link set {port.tap} mtu {port.mtu_bytes} txqueuelen {QUEUED_FRAMES} up",
                    f"link set {port.name} mtu {port.mtu_bytes} up",
                )
            ),
        ],
        routes=[],
        queues=[
            *script.queues,
            *(f"qdisc replace dev {port.tap} root noqueue" for port in ports),
            *(f"qdisc add dev {source} handle ffff: ingress" for source, _ in pairs),
            *(f"filter add dev {source} parent ffff: protocol all prio 1 {_REDIRECT} {to}" for source, to in pairs),
        ],
        starts=[start],
    )


def start_lines(request: NodeRequest) -> list[str]:
    """The agent's command, and the machine's commands, as comments."""
    lines = [f"# the agent: QEMU with {request.fields['kernel']}, whose interfaces are at these taps; in it:"]
    return [*lines, *(f"#   {command['line']}" for command in request.fields["commands"])]


def commands(script: NodeScript, guest: GuestNode) -> list[GuestCommand]:
    """The machine's commands: those of the node's namespace, and then its setup."""
    settings = [f"sysctl -qw {shlex.quote(f'{name}={value}')}" for name, value in script.sysctl.items()]
    lines = [f"ip {line}" for line in (*script.devices, *script.routes)]
    # A guest's device offloads nothing; features that the link switches off are switched off in the guest too.
    offloads = [f"ethtool {shlex.join(words)}" for words in script.ethtool if "off" in words]
    guest_commands = [GuestCommand(label=f"`{line}`", line=line) for line in (*settings, *lines, *offloads)]
    setup = [
        GuestCommand(label=f"setup command {number}, `{line}`,", line=line)
        for number, line in enumerate(guest.setup, start=1)
    ]
    return [*guest_commands, *setup]
