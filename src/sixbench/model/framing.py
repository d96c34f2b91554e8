"""Framing of a link: the bytes of its rate that an IP packet takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .headers import ETHERNET, FCS_BYTES, GAP_BYTES, MIN_FRAME_BYTES, PREAMBLE_BYTES, VLAN_TAG

ATM_CELL_BYTES = 53
ATM_PAYLOAD_BYTES = 48
"""A cell of ATM and its payload (ITU-T I.361). AAL5 pads each packet to whole cells (RFC 2684 section 4)."""

PPPOE_BYTES = 8
"""The headers of PPPoE, 6 bytes, and of PPP, 2 bytes (RFC 2516 section 7)."""

PPPOE_MTU_BYTES = 1492
"""The largest IP packet in PPPoE over Ethernet (RFC 2516 section 7)."""


@dataclass(frozen=True, kw_only=True)
class Framing:
    """The way in which a link's rate counts packets.

    Attributes:
        name: a name of `FRAMINGS`; a size such as `44B` where only the number is known.
        overhead_bytes: bytes of each packet beside the IP packet.
        least_bytes: the least number of bytes that a packet takes.
        atm: whether packets are cut into cells of ATM.
    """

    name: str
    overhead_bytes: int
    least_bytes: int = 0
    atm: bool = False

    @property
    def is_pppoe(self) -> bool:
        """True if packets are in PPPoE, whose MTU is 1492 bytes (RFC 2516 section 7)."""
        return self.name.startswith("pppoe")

    def wire_bytes(self, packet_bytes: int, tag_bytes: int = 0) -> int:
        """The bytes of the rate that an IP packet takes. `tag_bytes`: those of the tag of a VLAN that sixbench adds."""
        return self.carried_bytes(max(packet_bytes + self.overhead_bytes + tag_bytes, self.least_bytes))

    def carried_bytes(self, frames_bytes: int) -> int:
        """The bytes of the rate that so many bytes of frames take: those of whole cells where there are cells."""
        return -(-frames_bytes // ATM_PAYLOAD_BYTES) * ATM_CELL_BYTES if self.atm else frames_bytes


_WIRE_BYTES = ETHERNET.size_bytes + FCS_BYTES + PREAMBLE_BYTES + GAP_BYTES


def _on_ethernet(name: str, more_bytes: int) -> Framing:
    least_bytes = MIN_FRAME_BYTES + PREAMBLE_BYTES + GAP_BYTES
    return Framing(name=name, overhead_bytes=_WIRE_BYTES + more_bytes, least_bytes=least_bytes)


ETHERNET_FRAMING = _on_ethernet("ethernet", 0)

FRAMINGS: dict[str, Framing] = {
    framing.name: framing
    for framing in (
        ETHERNET_FRAMING,
        _on_ethernet("vlan", VLAN_TAG.size_bytes),
        _on_ethernet("pppoe", PPPOE_BYTES),
        _on_ethernet("pppoe-vlan", PPPOE_BYTES + VLAN_TAG.size_bytes),
        Framing(name="docsis", overhead_bytes=18, least_bytes=64),
        Framing(name="bridged-ptm", overhead_bytes=22),
        Framing(name="pppoe-ptm", overhead_bytes=30),
        Framing(name="bridged-llcsnap", overhead_bytes=32, atm=True),
        Framing(name="bridged-vcmux", overhead_bytes=24, atm=True),
        Framing(name="pppoe-llcsnap", overhead_bytes=40, atm=True),
        Framing(name="pppoe-vcmux", overhead_bytes=32, atm=True),
        Framing(name="pppoa-llc", overhead_bytes=14, atm=True),
        Framing(name="ipoa-llcsnap", overhead_bytes=16, atm=True),
    )
}
"""The framings by name. Names and numbers beside Ethernet's are those of tc-cake(8), section "Overhead compensation
parameters": DOCSIS counts the Ethernet frame with its FCS; those of VDSL2 (`ptm`) leave out the coding of 64 in 65
bytes, which is a matter of the rate; those of ADSL count the AAL5 trailer of 8 bytes."""

LEAST_OVERHEAD_BYTES = ETHERNET.size_bytes
"""tc counts a packet from its Ethernet header on, and can add to that alone."""

MOST_OVERHEAD_BYTES = 1024

_SIZE = re.compile(r"([1-9][0-9]{1,3})B")


def framing_of(overhead: str) -> Framing:
    """The framing of that name, or of that number of bytes beside the IP packet, as in `44B`. Raises `ValueError`
    saying which there are."""
    if overhead in FRAMINGS:
        return FRAMINGS[overhead]
    size = _SIZE.fullmatch(overhead)
    if size is None or not LEAST_OVERHEAD_BYTES <= int(size[1]) <= MOST_OVERHEAD_BYTES:
        raise ValueError(
            f"give {', '.join(FRAMINGS)}, or the bytes of a packet beside the IP packet, "
            f"{LEAST_OVERHEAD_BYTES}B to {MOST_OVERHEAD_BYTES}B"
        )
    return Framing(name=overhead, overhead_bytes=int(size[1]))


def is_framing(overhead: str) -> bool:
    """True if that is the name of a framing."""
    try:
        framing_of(overhead)
    except ValueError:
        return False
    return True
