"""What `sixbench translate lw4o6` is told of the lwAFTR and its binding table, or of an lwB4."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Any

from ..model.errors import UsageError
from ..model.map_rule import PORT_BITS, Psid, Rule, RuleError
from .packet_options import Given, Option, choice, fields, ipv4, ipv6, number
from .packet_tunnels import tunnel_line

_A_BINDING = "IPV4,BITS,PSID,B4[,OFFSET], such as 192.0.2.1,6,5,2001:db8:b4::1"
_PSID = number(0, 2**PORT_BITS - 1)

LW4O6_OPTIONS = (
    Option(
        name="role",
        metavar="aftr|b4",
        read=choice("aftr", "b4"),
        is_required=True,
        help="The lwAFTR, or the lwB4 of the only --binding: it takes packets that have its address and ports already.",
    ),
    Option(
        name="br",
        metavar="ADDRESS",
        read=ipv6,
        is_required=True,
        help="The lwAFTR's address: where lwB4s send packets, and from where they take them.",
    ),
    Option(
        name="binding",
        metavar="IPV4,BITS,PSID,B4[,OFFSET]",
        read=fields(
            _A_BINDING, ipv4, number(0, PORT_BITS), number(0, 2**PORT_BITS - 1), ipv6, number(0, 15), optional=1
        ),
        is_required=True,
        is_repeated=True,
        help="A row of the binding table (RFC 7596 section 5.1): the IPv4 address, the length of the PSID, the PSID "
        "and the lwB4's IPv6 address, such as 192.0.2.1,6,5,2001:db8:b4::1; may be repeated. OFFSET: how many bits of "
        "a port precede the PSID; default: 0.",
    ),
    Option(
        name="tell",
        turns_off=True,
        help="The lwAFTR: do not tell sources of packets that no row binds (RFC 7596 section 6.2).",
    ),
    Option(name="hairpin", turns_off=True, help="The lwAFTR: do not send packets from one lwB4 on to another."),
)


def lw4o6_line(given: Given) -> dict[str, Any]:
    """The first line for an lwAFTR or lwB4. Raises `UsageError` where it cannot be."""
    rules = [_row(*binding) for binding in given["binding"]]
    own = {option.name for option in LW4O6_OPTIONS}
    others = {name: value for name, value in given.items() if name not in own}
    if given["role"] == "b4":
        if len(rules) != 1:
            raise UsageError(f"an lwB4 has one --binding, and not {len(rules)}")
        [rule] = rules
        mapping = {"kind": "map", "own": rule.told, "border_relay": given["br"]}
        return tunnel_line({**others, "local": str(rule.ipv6.network_address)}, "lw4o6", "ipv6", "ipv4", mapping)
    mapping = {"kind": "map", "rules": [rule.told for rule in rules]}
    line = tunnel_line({**others, "local": given["br"]}, "lw4o6", "ipv6", "ipv4", mapping)
    return line | {"hairpins": given.get("hairpin", True), "tells_unbound": given.get("tell", True)}


def _row(address: str, bits: int, psid: int, b4: str, offset: int = 0) -> Rule:
    """A row of the binding table: a rule that one lwB4 alone has. Raises `UsageError`."""
    rule = Rule(
        ipv6=IPv6Network(b4),
        ipv4=IPv4Network(address),
        ea_bits=0,
        psid_offset=offset,
        psid=Psid(bits=bits, value=psid) if bits else None,
    )
    try:
        rule.check(128)
    except RuleError as error:
        raise UsageError(str(error)) from error
    if psid >> bits:
        raise UsageError(f"the PSID {psid} of {address} has more than {bits} bits")
    return rule
