"""SIIT-DC: a border relay, or an edge relay."""

from __future__ import annotations

from ...engines import EBPF
from ...mechanisms import siitdc
from ...mechanisms.tayga import TAYGA
from ..kind import DeviceRequest, FirstLine, PacketMechanism
from ..option import Given, PacketOption
from ..passing.network import PassingNetwork
from ..readers import choice
from .translating import program_network, tayga_network, translator_line, without

_ROLE = PacketOption(
    name="role",
    read=choice("br", "er"),
    is_required=True,
    help="The border relay (RFC 7755), or an edge relay in front of IPv4 servers (RFC 7756).",
)


def _first_line(given: Given) -> FirstLine:
    """The border relay translates packets from server to server twice (RFC 7755 section 4.4, by RFC 7757 section
    4.2.2)."""
    others = {name: value for name, value in given.items() if name != _ROLE.name}
    return translator_line(others | {"hairpin": given[_ROLE.name] == "br"})


def _program_network(request: DeviceRequest) -> PassingNetwork:
    return program_network(request, hosts_are=4 if request.given[_ROLE.name] == "er" else 6)


SIIT_DC = PacketMechanism(
    mechanism=siitdc.SIIT_DC,
    doc="A border or edge relay of an IPv6-only data centre (RFC 7755).",
    options=(_ROLE, *without("hairpin")),
    first_line=_first_line,
    networks={EBPF.name: _program_network, TAYGA.name: tayga_network},
)
