"""464XLAT: a CLAT, which has no state, or a PLAT, which is a NAT64."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Network

from ...engines import EBPF
from ...mechanisms import embedding, nat64
from ...mechanisms.nat64 import CLAT_PREFIX, XLAT_ZERO_CHECKSUM
from ...model.errors import UsageError
from ..kind import DeviceRequest, FirstLine, PacketMechanism
from ..option import Given, PacketOption, option_of
from ..passing.network import PassingNetwork
from ..readers import choice, ipv4_net
from .nat64 import STATE_OPTIONS, STATEFUL, nat64_device, nat64_line, stateful_zero_checksum
from .translating import program_network, translator_line, without

_CLAT_NETWORK = "192.0.0.0/29"
"""The IPv4 service continuity prefix (RFC 7335)."""
_DUMMY4 = "192.0.0.8"
"""The source of errors of a translator that has no address of its own (RFC 7600)."""
_CLAT_OPTIONS = (
    option_of(CLAT_PREFIX, has_default=False, note="--eam maps them otherwise."),
    PacketOption(
        name="inside",
        read=ipv4_net,
        is_repeated=True,
        help=f"The CLAT: its clients' addresses; may be repeated. Default: {_CLAT_NETWORK} (RFC 7335).",
    ),
)
_ROLE = PacketOption(
    name="role",
    read=choice("clat", "plat"),
    is_required=True,
    help="The CLAT, or the PLAT. --prefix is the PLAT's for both.",
)


def _first_line(given: Given) -> FirstLine:
    """Raises `UsageError` where options do not fit it."""
    is_clat = given["role"] == "clat"
    excluded = STATEFUL if is_clat else {CLAT_PREFIX.name, "inside", "eam"}
    misfit = next((name for name in given if name in excluded), None)
    if misfit is not None:
        raise UsageError(f"--{misfit} is not for a {given['role'].upper()}: see --help")
    others = {name: value for name, value in given.items() if name not in ("role", CLAT_PREFIX.name, "inside")}
    if not is_clat:
        return nat64_line(others)
    if "prefix" not in given or (CLAT_PREFIX.name not in given and "eam" not in given):
        raise UsageError("a CLAT needs --prefix, the PLAT's, and --clat-prefix or --eam: see --help")
    rows = list(given.get("eam", []))
    if CLAT_PREFIX.name in given:
        prefix = IPv6Network(given[CLAT_PREFIX.name])
        problem = embedding.check_prefix(prefix)
        if problem is not None:
            raise UsageError(problem)
        inside = [IPv4Network(text) for text in given.get("inside", [_CLAT_NETWORK])]
        rows += [[str(network), str(embedding.embed_network(prefix, network))] for network in inside]
        # The PLAT drops packets with a source in its own prefix (RFC 6146 section 3.5).
        own4 = IPv4Address(others.get("own4", _DUMMY4))
        others.setdefault("own6", str(embedding.embed(prefix, own4)))
    return translator_line(others | {"eam": rows})


def _network(request: DeviceRequest) -> PassingNetwork:
    return program_network(request, hosts_are=4) if request.given["role"] == "clat" else nat64_device(request)


FOUR_SIX_FOUR_XLAT = PacketMechanism(
    mechanism=nat64.FOUR_SIX_FOUR_XLAT,
    doc="A CLAT, which has no state, or a PLAT, which is a NAT64 (RFC 6877).",
    options=(
        _ROLE,
        *_CLAT_OPTIONS,
        *STATE_OPTIONS,
        stateful_zero_checksum(XLAT_ZERO_CHECKSUM),
        *without("overlapping", "hairpin", "zero-checksum"),
    ),
    first_line=_first_line,
    networks={EBPF.name: _network},
)
