"""lw4o6: the lwAFTR with its binding table, or an lwB4."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from ...engines import EBPF
from ...mechanisms import lw4o6
from ...mechanisms.binding import PortSet
from ...model.errors import UsageError
from ...model.map_rule import PORT_BITS, Psid, Rule, RuleError
from ..kind import DeviceRequest, FirstLine, PacketMechanism
from ..option import Given, PacketOption
from ..passing.network import PassingNetwork
from ..passing.tunnels import SoftwireRow
from ..readers import choice, fields, ipv4, ipv6, number
from .softwires import ROUTER_OPTIONS, edge_network, refuse_router, router_network, with_router
from .tunnels import IPV4_TUNNEL, OWN4, OWN6, tunnel_line

_A_BINDING = "IPV4,BITS,PSID,B4[,OFFSET[,AFTR]], such as 192.0.2.1,6,5,2001:db8:b4::1"
_ICMP = choice("both", "v4", "v6", "none")

_TABLE_OPTIONS = (
    PacketOption(
        name="role",
        read=choice("aftr", "b4"),
        is_required=True,
        help="The lwAFTR, or the lwB4 of the only --binding: it takes packets that have its address and ports already.",
    ),
    PacketOption(
        name="br",
        read=ipv6,
        is_required=True,
        help="The lwAFTR's address: lwB4s send packets to it, and accept packets only from it.",
    ),
    PacketOption(
        name="binding",
        metavar="IPV4,BITS,PSID,B4[,OFFSET[,AFTR]]",
        read=fields(
            _A_BINDING, ipv4, number(0, PORT_BITS), number(0, 2**PORT_BITS - 1), ipv6, number(0, 15), ipv6, optional=2
        ),
        is_required=True,
        is_repeated=True,
        help="A row of the binding table (RFC 7596 section 5.1): the IPv4 address, the length of the PSID, the PSID "
        "and the lwB4's IPv6 address, such as 192.0.2.1,6,5,2001:db8:b4::1; may be repeated. OFFSET: number of bits "
        "of a port before the PSID; default: 0. AFTR: the lwAFTR's address that this lwB4 knows; default: that of "
        "--br.",
    ),
)

_AFTR_OPTIONS = (
    PacketOption(name="hairpin", turns_off=True, help="The lwAFTR: do not send packets from one lwB4 on to another."),
    PacketOption(
        name="tell",
        read=_ICMP,
        help="The lwAFTR: the version of ICMP errors about packets that are not carried (RFC 7596 section 6.2); "
        "default: both.",
    ),
    PacketOption(
        name="icmp",
        read=_ICMP,
        help="The lwAFTR: the ICMP to accept: v4, messages from the IPv4 side (RFC 7596 section 8.1); v6, errors "
        "about packets in the tunnel (RFC 2473 section 8); default: both.",
    ),
    *ROUTER_OPTIONS,
)


def _first_line(given: Given) -> FirstLine:
    """The first line for an lwAFTR or lwB4. Raises `UsageError` where it cannot be."""
    table: dict[str, list[Rule]] = {}
    for row in given["binding"]:
        _, _, _, _, *more = row
        br = more[1] if len(more) > 1 else given["br"]
        table.setdefault(br, []).append(_binding_rule(row))
    names = {option.name for option in _TABLE_OPTIONS}
    others = {name: value for name, value in given.items() if name not in names}
    if given["role"] == "b4":
        return _b4_line(others, table)
    line, *further = (
        tunnel_line(
            {**others, "local": br},
            "lw4o6",
            "ipv6",
            "ipv4",
            {"kind": "map", "rules": [row.protocol_form for row in rows]},
        )
        for br, rows in table.items()
    )
    node = {
        "hairpins": given.get("hairpin", True),
        "tells_unbound": True,
        "tells": given.get("tell", "both"),
        "takes_icmp": given.get("icmp", "both"),
    }
    ends = {"node": line["node"] | node, "others": [entry["tunnel"] for entry in further]}
    return with_router(line | ends, given)


def _b4_line(others: Given, table: dict[str, list[Rule]]) -> FirstLine:
    refuse_router(others, "an lwB4", _AFTR_OPTIONS)
    rows = [(br, row) for br, rows in table.items() for row in rows]
    if len(rows) != 1:
        raise UsageError(f"an lwB4 has one --binding, and not {len(rows)}")
    [(br, row)] = rows
    mapping = {"kind": "map", "own": row.protocol_form, "border_relay": br}
    return tunnel_line({**others, "local": str(row.ipv6.network_address)}, "lw4o6", "ipv6", "ipv4", mapping)


def _binding_rule(row: Sequence[Any]) -> Rule:
    """A row of the binding table, as `--binding` has it: a rule that one lwB4 alone has. Raises `UsageError`."""
    address, bits, psid, b4, *more = row
    offset = more[0] if more else 0
    rule = Rule(
        ipv6=IPv6Network(b4),
        ipv4=IPv4Network(address),
        ea_bits=0,
        psid_offset=offset,
        psid=Psid(bits=bits, value=psid) if bits else None,
    )
    try:
        rule.check(128)
        rule.check_hosts()
    except RuleError as error:
        raise UsageError(str(error)) from error
    if psid >> bits:
        raise UsageError(f"the PSID {psid} of {address} has more than {bits} bits")
    return rule


def _network(request: DeviceRequest) -> PassingNetwork:
    """Raises `UsageError` where a device cannot be such a node."""
    given = request.given
    if given["role"] == "aftr":
        return router_network(request, _rows(given), _AFTR_OPTIONS)
    rule = _binding_rule(given["binding"][0])
    return edge_network(request, rule, rule.ipv4.network_address, rule.psid.value if rule.psid else 0)


def _rows(given: Given) -> list[SoftwireRow]:
    rows = []
    for address, bits, psid, softwire, *more in given["binding"]:
        offset = more[0] if more else 0
        relay = more[1] if len(more) > 1 else given["br"]
        rows.append(SoftwireRow(address=address, ports=PortSet.of(bits, psid, offset), softwire=softwire, relay=relay))
    return rows


LW4O6 = PacketMechanism(
    mechanism=lw4o6.LW4O6,
    doc="An lwAFTR with its binding table, or an lwB4 (RFC 7596).",
    options=(*_TABLE_OPTIONS, *_AFTR_OPTIONS, *IPV4_TUNNEL, OWN4, OWN6),
    first_line=_first_line,
    networks={EBPF.name: _network},
)
