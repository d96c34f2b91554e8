"""The sizes of headers, and what a packet takes on an Ethernet wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Header:
    """A protocol header without options. `fragment_bytes`: what fragmentation adds to a network header."""

    name: str
    size_bytes: int
    reference: str
    fragment_bytes: int = 0


ETHERNET = Header(name="Ethernet II", size_bytes=14, reference="RFC 894, RFC 2464 section 3")
VLAN_TAG = Header(name="VLAN tag", size_bytes=4, reference="IEEE 802.1Q clause 9.6, after the addresses of the frame")
IPV4 = Header(name="IPv4", size_bytes=20, reference="RFC 791 section 3.1")
IPV6 = Header(
    name="IPv6", size_bytes=40, reference="RFC 8200 section 3; Fragment header: section 4.5", fragment_bytes=8
)
TCP = Header(name="TCP", size_bytes=20, reference="RFC 9293 section 3.1")
UDP = Header(name="UDP", size_bytes=8, reference="RFC 768")
GRE = Header(name="GRE", size_bytes=4, reference="RFC 2784 section 2.1")
GRE_KEY = Header(name="GRE key", size_bytes=4, reference="RFC 2890 section 2.1")
VXLAN = Header(name="VXLAN", size_bytes=8, reference="RFC 7348 section 5")
TEREDO = Header(name="Teredo", size_bytes=0, reference="RFC 4380 section 5.1.1: packets without indications")
ICMP = Header(name="ICMP", size_bytes=8, reference="RFC 792 and RFC 4443 section 4.1: echo")

HEADERS: Mapping[str, Header] = {
    "ipv4": IPV4,
    "ipv6": IPV6,
    "gre": GRE,
    "gre-key": GRE_KEY,
    "udp": UDP,
    "vxlan": VXLAN,
    "teredo": TEREDO,
    "ethernet": ETHERNET,
}
"""The headers, by the name that mechanisms give them."""

IP_HEADERS = ("ipv4", "ipv6")

FRAME_HEADERS = ("ethernet", "vlan")
"""The headers of a frame, before those of the packet in it."""

STACK_HEADERS = (*IP_HEADERS, "gre", "vxlan", "teredo")
"""The headers that tell paths apart. Stacks are named by them."""


def stack_name(headers: Iterable[str]) -> str:
    """The name of a stack of headers, such as `ipv6 in ipv4`, by those that tell paths apart.

    Args:
        headers: outermost first.
    """
    return " in ".join(reversed([header for header in headers if header in STACK_HEADERS]))


def in_vlan(stack: str, vlan_id: int | None) -> str:
    """The name of a stack of headers in frames with the tag of a VLAN, such as `ipv6 in vlan 100`. None: without."""
    return stack if vlan_id is None else f"{stack} in vlan {vlan_id}"


FCS_BYTES = 4
"""Frame check sequence (IEEE 802.3 clause 3.2.9)."""

PREAMBLE_BYTES = 8
"""Preamble and start-of-frame delimiter (IEEE 802.3 clauses 3.2.1 and 3.2.2)."""

GAP_BYTES = 12
"""Inter-frame gap of 96 bit times (IEEE 802.3 clause 4.4.2)."""

MIN_FRAME_BYTES = 64
"""The least frame, FCS included (IEEE 802.3 clause 4.4.2); shorter ones are padded."""


def frame_bytes(packet_bytes: int, tag_bytes: int = 0) -> int:
    """The Ethernet frame of an IP packet, FCS included: RFC 2544's frame size. A tagged frame has the same least
    size (IEEE 802.3 clause 3.2.7)."""
    return max(ETHERNET.size_bytes + tag_bytes + packet_bytes + FCS_BYTES, MIN_FRAME_BYTES)


def wire_bytes(packet_bytes: int, tag_bytes: int = 0) -> int:
    """The bytes of a link's rate that an IP packet takes: its frame, preamble and gap; at least 84."""
    return frame_bytes(packet_bytes, tag_bytes) + PREAMBLE_BYTES + GAP_BYTES
