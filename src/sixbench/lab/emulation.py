"""Impairments of links by our own emulator, which is one more node between the ends of each impaired link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..model.direction import Directions, LinkDirection
from ..model.emulation import ChosenPackets, GilbertElliott
from ..model.framing import ETHERNET_FRAMING, Framing
from ..model.headers import ETHERNET, FCS_BYTES, IPV4, MIN_FRAME_BYTES
from ..model.stage import NodeRequest
from ..model.topology import Link, Topology

EMULATOR = "(links)"
"""The node that carries the packets of emulated links. No node of a user's can have this name."""

SILENT_SYSCTL = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
"""The settings of a node that only carries packets: without IPv6 it sends nothing of its own."""

SUPER_PACKET_BYTES = 65_550
ASSUMED_RATE_BPS = 10**10
"""The rate that is assumed for a link without one, to compute how much memory its packets need."""
MOST_PACKETS_PER_S = 10**6
LEAST_PACKETS = 4096
MAX_HELD_BYTES = 2 * 2**30
SPACED_BYTES = (IPV4.size_bytes, MIN_FRAME_BYTES - ETHERNET.size_bytes - FCS_BYTES, 1500)
"""Sizes of IP packets among which framings differ most from Ethernet's: the least, the least that is not padded, and a
usual large one."""


def emulated_links(topology: Topology) -> list[tuple[int, Link]]:
    """The links that our emulator carries, with their numbers among the wires."""
    return [(index, link) for index, link in enumerate(topology.wires) if link.is_emulated and link.emulator != "netem"]


def ends_of(index: int) -> tuple[str, str]:
    """The emulator's interfaces of a link, opposite its first and its second end."""
    return f"l{index}a", f"l{index}b"


def device_lines(links: Iterable[tuple[int, Link]]) -> list[str]:
    """Lines for `ip -batch` in the emulator."""
    return [f"link set {name} mtu {link.mtu_bytes} arp off up" for index, link in links for name in ends_of(index)]


def requests(links: Iterable[tuple[int, Link]]) -> list[NodeRequest]:
    """The requests that make the links. The links do nothing to packets until `change` is sent, before each trial."""
    return [_request(index, link) for index, link in links]


def change(link: Link, seeds: tuple[int, int]) -> dict[str, Any]:
    """The fields of `emulate-change`: what the link does from the next packet on, with a seed for each direction."""
    forward, reverse = (_fields(direction, seed) for direction, seed in zip(link.directions, seeds, strict=True))
    return {"link": link.name, "forward": forward, "reverse": reverse}


def change_on(name: str, directions: Directions) -> dict[str, Any]:
    """The fields of `emulate-change` in the middle of a trial: the numbering of packets continues."""
    forward, reverse = (_fields(direction, 0) for direction in directions)
    return {"link": name, "forward": forward, "reverse": reverse, "continues": True}


def _fields(direction: LinkDirection, seed: int) -> dict[str, Any]:
    """One direction, as the request carries it (docs/protocol.md). tbf limits the rate. It sends in bunches what its
    timer missed, and the emulator spaces these packets."""
    impairments = direction.impairments
    fields: dict[str, Any] = {"delay_ns": impairments.delay_ns, "seed": seed}
    if direction.rate_bps is not None:
        fields["wire_bps"] = _spacing_bps(direction.rate_bps, direction.framing)
    quantiles = impairments.quantiles_ns()
    if quantiles:
        fields |= {"jitter_ns": quantiles, "jitter_correlation": impairments.jitter_correlation}
    if isinstance(impairments.loss, GilbertElliott):
        fields["loss"] = {"gilbert-elliott": vars(impairments.loss)}
    chosen = {
        "loss": impairments.loss,
        "duplicate": impairments.duplicate,
        "corrupt": impairments.corrupt,
        "reorder": impairments.overtaking,
    }
    for name, item in chosen.items():
        if isinstance(item, ChosenPackets):
            fields[name] = {"packets": list(item.packets)} if item.packets else {"ratio": item.ratio}
    if impairments.in_order:
        fields["in_order"] = True
    if impairments.late:
        fields["late"] = {"packets": list(impairments.late), "by": impairments.late_by}
    return fields


def _request(index: int, link: Link) -> NodeRequest:
    frame_bytes = ETHERNET.size_bytes + (SUPER_PACKET_BYTES if link.offload_on else link.mtu_bytes)
    return NodeRequest(
        op="emulate-add",
        fields={
            "link": link.name,
            "interfaces": list(ends_of(index)),
            "forward": {},
            "reverse": {},
            "frame_bytes": frame_bytes,
            "held_bytes": held_bytes(link, frame_bytes),
        },
    )


def held_bytes(link: Link, frame_bytes: int) -> int:
    """Memory for all packets that can be under way: bandwidth times delay in packets of the smallest size, and half as
    much again. Each direction gets half of it."""
    most = max(_held_bytes(direction, frame_bytes) for state in link.states for direction in state)
    return min(MAX_HELD_BYTES, 2 * most)


def _spacing_bps(rate_bps: int, framing: Framing) -> int:
    """The rate at which the emulator, which counts Ethernet's frames, spaces packets: never slower than the limiter."""
    ratios = (ETHERNET_FRAMING.wire_bytes(size) / framing.wire_bytes(size) for size in SPACED_BYTES)
    return round(rate_bps * max(1.0, *ratios))


def _held_bytes(direction: LinkDirection, frame_bytes: int) -> int:
    least_bytes = direction.framing.wire_bytes(IPV4.size_bytes)
    per_s = min(MOST_PACKETS_PER_S, (direction.rate_bps or ASSUMED_RATE_BPS) / (8 * least_bytes))
    packets = LEAST_PACKETS + 1.5 * per_s * direction.impairments.longest_delay_ns / 1e9
    return int(packets * frame_bytes)
