"""A packet of our own behind each packet of the capture, for a program that counts nothing.

tayga takes one packet after the other, and answers an echo request to its own address itself. So its answer says that
it has dealt with whatever it was given before.
"""

from __future__ import annotations

import secrets
import struct
from ipaddress import IPv4Address

from ...mechanisms import tayga

SOURCE = IPv4Address("192.0.0.10")
PROGRAM = IPv4Address(tayga.TAYGA_ADDRESS)
NODE = IPv4Address("192.0.0.9")
"""That of its node, which cannot have the same."""

_TOKEN_BYTES = 16
_ECHO_REQUEST, _ICMP = 8, 1


class Barrier:
    """Echo requests to a program, each with a token of its own."""

    def __init__(self) -> None:
        self._token = b""

    def request(self) -> bytes:
        self._token = secrets.token_bytes(_TOKEN_BYTES)
        echo = struct.pack("!BBHHH", _ECHO_REQUEST, 0, 0, 0, 0) + self._token
        echo = echo[:2] + struct.pack("!H", _checksum(echo)) + echo[4:]
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(echo), 0, 0, 64, _ICMP, 0) + SOURCE.packed + PROGRAM.packed
        return head[:10] + struct.pack("!H", _checksum(head)) + head[12:] + echo

    def is_answer(self, packet: bytes) -> bool:
        """True if a packet answers the last request."""
        return packet[16:20] == SOURCE.packed and packet.endswith(self._token)


def _checksum(data: bytes) -> int:
    """RFC 1071, of an even number of bytes."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
