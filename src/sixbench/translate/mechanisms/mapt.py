"""MAP-T: the border relay of a domain, or a customer edge."""

from __future__ import annotations

from ...engines import EBPF
from ...mechanisms import mapt
from ...mechanisms.mapt import DMR_PREFIX, HAIRPIN
from ...mechanisms.translating import PREFIX
from ..kind import DeviceRequest, FirstLine, PacketMechanism
from ..option import Given, option_of
from ..passing.network import PassingNetwork
from .mapdomain import CUSTOMER_EDGE, DOMAIN_OPTIONS, map_node
from .translating import program_network, translator_line, without

_DOMAIN_OPTIONS = (*DOMAIN_OPTIONS, option_of(DMR_PREFIX, is_required=True))


def _first_line(given: Given) -> FirstLine:
    names = {option.name for option in _DOMAIN_OPTIONS}
    others = {name: value for name, value in given.items() if name not in names}
    line = translator_line(others | {PREFIX.name: [given[DMR_PREFIX.name]]})
    line["siit"]["domain"] = map_node(given).domain
    return line


def _network(request: DeviceRequest) -> PassingNetwork:
    return program_network(request, hosts_are=4 if CUSTOMER_EDGE.name in request.given else 6)


MAP_T = PacketMechanism(
    mechanism=mapt.MAP_T,
    doc="The border relay of a MAP-T domain, or a customer edge (RFC 7599).",
    options=(*_DOMAIN_OPTIONS, option_of(HAIRPIN), *without("prefix", "eam", "overlapping", "hairpin")),
    first_line=_first_line,
    networks={EBPF.name: _network},
)
