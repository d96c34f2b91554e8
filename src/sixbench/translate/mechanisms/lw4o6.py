"""Options of `sixbench translate lw4o6` for the lwAFTR and its binding table, or of an lwB4."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from ...model.errors import UsageError
from ...model.map_rule import PORT_BITS, Psid, Rule, RuleError
from ..option import Given, Option, choice, fields, ipv4, ipv6, number
from .router import ROUTER_OPTIONS, refuse_router, with_router
from .tunnels import tunnel_line

_A_BINDING = "IPV4,BITS,PSID,B4[,OFFSET[,AFTR]], such as 192.0.2.1,6,5,2001:db8:b4::1"
_ICMP = choice("both", "v4", "v6", "none")

LW4O6_OPTIONS = (
    Option(
        name="role",
        read=choice("aftr", "b4"),
        is_required=True,
        help="The lwAFTR, or the lwB4 of the only --binding: it takes packets that have its address and ports already.",
    ),
    Option(
        name="br",
        read=ipv6,
        is_required=True,
        help="The lwAFTR's address: lwB4s send packets to it, and accept packets only from it.",
    ),
    Option(
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

LWAFTR_OPTIONS = (
    Option(name="hairpin", turns_off=True, help="The lwAFTR: do not send packets from one lwB4 on to another."),
    Option(
        name="tell",
        read=_ICMP,
        help="The lwAFTR: the version of ICMP errors about packets that are not carried (RFC 7596 section 6.2); "
        "default: both.",
    ),
    Option(
        name="icmp",
        read=_ICMP,
        help="The lwAFTR: the ICMP to accept: v4, messages from the IPv4 side (RFC 7596 section 8.1); v6, errors "
        "about packets in the tunnel (RFC 2473 section 8); default: both.",
    ),
    *ROUTER_OPTIONS,
)


def lw4o6_line(given: Given) -> dict[str, Any]:
    """The first line for an lwAFTR or lwB4. Raises `UsageError` where it cannot be."""
    table: dict[str, list[Rule]] = {}
    for row in given["binding"]:
        _, _, _, _, *more = row
        br = more[1] if len(more) > 1 else given["br"]
        table.setdefault(br, []).append(binding_rule(row))
    names = {option.name for option in LW4O6_OPTIONS}
    others = {name: value for name, value in given.items() if name not in names}
    if given["role"] == "b4":
        return _b4_line(others, table)
    line, *further = (
        tunnel_line(
            {**others, "local": br}, "lw4o6", "ipv6", "ipv4", {"kind": "map", "rules": [row.told for row in rows]}
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


def _b4_line(others: Given, table: dict[str, list[Rule]]) -> dict[str, Any]:
    refuse_router(others, "an lwB4", LWAFTR_OPTIONS)
    rows = [(br, row) for br, rows in table.items() for row in rows]
    if len(rows) != 1:
        raise UsageError(f"an lwB4 has one --binding, and not {len(rows)}")
    [(br, row)] = rows
    mapping = {"kind": "map", "own": row.told, "border_relay": br}
    return tunnel_line({**others, "local": str(row.ipv6.network_address)}, "lw4o6", "ipv6", "ipv4", mapping)


def binding_rule(row: Sequence[Any]) -> Rule:
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
