"""The packets of `vectors/outside`: what comes to a translator with state from outside and belongs to nobody."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from ip_packets import ICMP, TCP, UDP, checksum, ipv4
from lab.packets import Ends, sealed, udp

VECTORS = Path(__file__).parents[1] / "vectors" / "outside" / "nat64.json"
BOUND_PORT, SERVER_PORT = 9999, 53
"""Addresses of the IPv6 host that has a binding, and of the server that it has sent to."""
_NUMBERS = {"udp": UDP, "tcp": TCP, "icmp": ICMP}


def outside_packets() -> list[dict[str, Any]]:
    """The list, as vectors/README.md describes it."""
    packets: list[dict[str, Any]] = json.loads(VECTORS.read_text())["packets"]
    return packets


def packet_of(vector: Mapping[str, Any], addresses: Mapping[str, str]) -> bytes:
    """A packet of the list. `addresses`: those of `pool`, `server`, `stranger` and `router`, and the first one that
    stands for an IPv6 host between translator and NAT44, `inside`."""
    source, destination = (_address(vector[end], addresses) for end in ("source", "destination"))
    ends = Ends(source=source, destination=destination, ports=tuple(vector.get("ports", (0, 0))))
    payload = _payload(vector, ends, addresses)
    flags = 0
    if "fragment" in vector:
        offset, more = vector["fragment"]["offset"], vector["fragment"]["more"]
        payload, flags = payload[offset : 16 if more else None], more << 13 | offset // 8
    packet = ipv4(
        payload,
        source=source,
        destination=destination,
        protocol=_number(vector["protocol"]),
        flags_and_offset=flags,
        ttl=vector.get("ttl", 64),
        identification=0x1234,
    )
    options = bytes.fromhex(vector.get("options", ""))
    if "route" in vector:
        options = _source_route(vector["route"], addresses)
    return _with_header(packet, options, vector.get("header_checksum"))


def _address(name: str, addresses: Mapping[str, str]) -> str:
    base, _, number = name.partition("+")
    return str(IPv4Address(addresses.get(base, base)) + int(number or 0))


def _number(protocol: str | int) -> int:
    return protocol if isinstance(protocol, int) else _NUMBERS[protocol]


def _payload(vector: Mapping[str, Any], ends: Ends, addresses: Mapping[str, str]) -> bytes:
    match vector["protocol"]:
        case "udp":
            return udp(ends, 24)
        case "tcp":
            head = struct.pack("!HHIIHHHH", *ends.ports, 1, 0, 0x5000 | vector["flags"], 1000, 0, 0)
            return sealed(ends, TCP, head, 16)
        case "icmp":
            quoted = _quoted(vector["quoted"], addresses) if "quoted" in vector else bytes(16)
            head = struct.pack("!BBHHH", vector["type"], vector["code"], 0, vector.get("identifier", 0), 0)
            return sealed(ends, ICMP, head + quoted, 2)
        case _:
            return bytes(40)


def _quoted(vector: Mapping[str, Any], addresses: Mapping[str, str]) -> bytes:
    source, destination = (_address(vector[end], addresses) for end in ("source", "destination"))
    ends = Ends(source=source, destination=destination, ports=tuple(vector["ports"]))
    protocol = _number(vector["protocol"])
    payload = udp(ends) if protocol == UDP else struct.pack("!HH", *ends.ports) + bytes(12)
    return ipv4(payload, source=source, destination=destination, protocol=protocol)[: vector.get("bytes")]


def _source_route(route: Mapping[str, Any], addresses: Mapping[str, str]) -> bytes:
    """RFC 791 section 3.1, and the end of the options."""
    hops = b"".join(IPv4Address(_address(hop, addresses)).packed for hop in route["addresses"])
    return bytes([route["kind"], 3 + len(hops), route["pointer"]]) + hops + b"\0"


def _with_header(packet: bytes, options: bytes, header_checksum: int | None) -> bytes:
    """The packet with options, and its header's checksum."""
    length = len(packet) + len(options)
    head = bytes([0x45 + len(options) // 4]) + packet[1:2] + struct.pack("!H", length) + packet[4:10]
    rest = packet[12:20] + options
    value = checksum(head + b"\0\0" + rest) if header_checksum is None else header_checksum
    return head + struct.pack("!H", value) + rest + packet[20:]
