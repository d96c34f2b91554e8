"""SIIT: a translator without state."""

from __future__ import annotations

from ...engines import EBPF
from ...mechanisms import siit
from ...mechanisms.tayga import TAYGA
from ..kind import PacketMechanism
from .translating import TRANSLATOR_OPTIONS, program_network, tayga_network, translator_line

SIIT = PacketMechanism(
    mechanism=siit.SIIT,
    doc="A stateless translator between IPv4 and IPv6 (RFC 7915).",
    options=TRANSLATOR_OPTIONS,
    first_line=translator_line,
    networks={EBPF.name: program_network, TAYGA.name: tayga_network},
)
