"""Captured packets as tshark reads them: an independent reader, which shares nothing with sixbench."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_FIELDS = (
    *("frame.section_number", "frame.protocols", "frame.len"),
    *("ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "ip.proto", "ip.len", "ip.flags.mf"),
    *("gre.proto", "vxlan.flags", "vxlan.vni"),
    *("ip.flags.df", "ip.dsfield", "ipv6.tclass", "ipv6.fraghdr.offset"),
    *("icmpv6.type", "icmpv6.mtu", "icmpv6.nd.ns.target_address"),
    *("ip.checksum.status", "tcp.checksum.status", "udp.checksum.status"),
    *("icmp.checksum.status", "icmpv6.checksum.status", "gre.checksum.status", "tcp.checksum"),
)
_PREFERENCES = (
    *("ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"),
    *("ip.defragment:FALSE", "ipv6.defragment:FALSE"),
)
_BAD = "0"
"""Value of tshark for a checksum that is wrong; 1 is right, 2 unverified (a fragment), 3 not present."""

_ALL_ONES = "0xffff"

_ETHERNET_BYTES = 14

_VXLAN_FLAGS = 0x0800
"""Those of RFC 7348, section 5: nothing but that the identifier is there."""

_NETWORK = ("ip", "ipv6", "gre", "vxlan")
_TRANSPORT = ("tcp", "udp", "icmp", "icmpv6", "igmp", "arp")

DISCOVERY = frozenset({*range(130, 138), 143})
"""ICMPv6 of the link's own: multicast listeners (RFC 3810), neighbours (RFC 4861)."""


@dataclass(frozen=True, kw_only=True)
class Packet:
    """A packet.

    Attributes:
        stack: network and tunnel headers, outermost first, by tshark's names: `("ip", "ipv6")`.
        transport: what they carry; `data` in a fragment that is not the first one.
        sources, destinations: of the IP headers, outermost first, those that errors quote too.
    """

    file: Path
    stack: tuple[str, ...]
    transport: str
    sources: tuple[str, ...]
    destinations: tuple[str, ...]
    fields: dict[str, str]

    @property
    def has_wrong_checksum(self) -> bool:
        """True if a checksum is wrong. The packet that an error quotes is not looked at: it is cut off. Nor is a TCP
        checksum of all ones, once in 65536 segments: in one's complement it is the zero that tshark wants, and Linux
        writes it (CSUM_MANGLED_0)."""
        quoted = ["tcp", "udp"] if self.transport.startswith("icmp") else []
        if self.fields["tcp.checksum"] == _ALL_ONES:
            quoted.append("tcp")
        names = (name for name in _FIELDS if name.endswith(".checksum.status") and name.split(".")[0] not in quoted)
        return any(_BAD in self.fields[name].split(",") for name in names)

    @property
    def more_fragments(self) -> bool:
        """The outermost IPv4 header's flag. tshark writes 1, and from 4.2 on True."""
        return self.fields["ip.flags.mf"].split(",")[0] in ("1", "True")

    @property
    def dont_fragment(self) -> bool:
        """The outermost IPv4 header's flag."""
        return self.fields["ip.flags.df"].split(",")[0] in ("1", "True")

    @property
    def traffic_classes(self) -> list[int]:
        """The eight bits of DSCP and ECN of the IP headers, IPv4's first; of an error, those of what it quotes too."""
        return [int(item, 0) for name in ("ip.dsfield", "ipv6.tclass") for item in _list(self.fields[name])]

    @property
    def has_fragment_header(self) -> bool:
        """True if IPv6 has a Fragment header, in a fragment or not."""
        return self.fields["ipv6.fraghdr.offset"] != ""

    @property
    def ip_bytes(self) -> int:
        """Length of the outermost IP packet, on a link of Ethernet."""
        return int(self.fields["frame.len"]) - _ETHERNET_BYTES

    @property
    def icmp_types(self) -> list[int]:
        """Types of the ICMPv6 messages in it."""
        return [int(number) for number in self.fields["icmpv6.type"].split(",") if number]

    @property
    def keeps_the_link_going(self) -> bool:
        """True if it is about the link alone: discovery of neighbours and listeners, ARP, IGMP."""
        return self.transport in ("igmp", "arp") or (self.stack == ("ipv6",) and self.is_discovery)

    @property
    def is_discovery(self) -> bool:
        """True if it discovers neighbours or listeners, in a tunnel or not."""
        return self.transport == "icmpv6" and self.icmp_types[0] in DISCOVERY


def decode(files: Sequence[Path], scratch: Path) -> list[Packet]:
    """All packets of pcapng files. A pcapng file may be several ones in a row, and tshark takes a while to start."""
    if not files:
        return []
    whole = scratch / "all.pcapng"
    whole.write_bytes(b"".join(file.read_bytes() for file in files))
    words = ["tshark", "-r", str(whole), "-T", "fields", "-E", "separator=/t"]
    words += [word for field in _FIELDS for word in ("-e", field)]
    words += [word for preference in _PREFERENCES for word in ("-o", preference)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [_packet(files, line) for line in done.stdout.splitlines()]


def _packet(files: Sequence[Path], line: str) -> Packet:
    fields = dict(zip(_FIELDS, line.split("\t"), strict=True))
    protocols = fields["frame.protocols"].split(":")
    if "vxlan" in protocols and int(fields["vxlan.flags"], 0) != _VXLAN_FLAGS:
        # tshark goes by the port alone, and a trial's own datagrams may have it.
        protocols = protocols[: protocols.index("vxlan")]
    stack, transport = _headers(protocols)
    four = list(zip(_list(fields["ip.src"]), _list(fields["ip.dst"]), strict=True))
    six = list(zip(_list(fields["ipv6.src"]), _list(fields["ipv6.dst"]), strict=True))
    pairs = [(four if name == "ip" else six).pop(0) for name in stack if name in ("ip", "ipv6")]
    return Packet(
        file=files[int(fields["frame.section_number"]) - 1],
        stack=stack,
        transport=transport,
        sources=tuple(source for source, _ in pairs),
        destinations=tuple(destination for _, destination in pairs),
        fields=fields,
    )


def _headers(protocols: Iterable[str]) -> tuple[tuple[str, ...], str]:
    stack: list[str] = []
    transport = "data"
    for name in protocols:
        if name in _NETWORK:
            stack.append(name)
            transport = "data"
        elif name in _TRANSPORT:
            if transport != "data":
                break
            transport = name
            if name != "udp":
                break
    return tuple(stack), transport


def _list(field: str) -> list[str]:
    return [item for item in field.split(",") if item]
