"""6rd (RFC 5969): 6to4 under a provider's own prefix, with a border relay to native IPv6."""

from __future__ import annotations

from functools import partial
from ipaddress import IPv4Address, IPv6Interface, IPv6Network

from ..model.network import Network
from ..model.path import Path
from ..model.topology import Topology
from ..model.workload import Parameter
from .common import TUNNEL_OPTIONS, check_overlap, check_router, device_mtu, family_of, finish, make_tunnel
from .kind import Mechanism, MechanismError
from .sites import carriers_of, join

DEFAULT_PREFIX = "2001:db8::/32"
_HEADERS = ("ipv4",)
_NOT_FOR_HOSTS = {
    f"{what} ({network})": IPv6Network(network)
    for what, network in (
        ("multicast", "ff00::/8"),
        ("link-local addresses", "fe80::/10"),
        ("addresses that embed IPv4 ones, and special ones,", "::/8"),
        ("6to4", "2002::/16"),
    )
}
_SUBNET_BITS = 64
_DEVICE_HOST = 0xFF
"""The last octet of a tunnel device's address: the link behind a CE may be in the same prefix, and has 1 and 2."""


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    relay = str(path.options.get("br", path.nodes[-1]))
    customers = [node for node in path.nodes if node != relay]
    check_router(topology, relay, "the border relay, which is named last or with br:,", "br")
    if not customers:
        raise MechanismError("6rd has at least one CE besides its border relay, such as [r1, r2]")
    domain = IPv6Network(str(path.options.get("prefix", DEFAULT_PREFIX)))
    mask_bits = int(path.options.get("ipv4-mask", 0))
    delegated_bits = domain.prefixlen + 32 - mask_bits
    if delegated_bits > _SUBNET_BITS:
        least_mask_bits = mask_bits + delegated_bits - _SUBNET_BITS
        raise MechanismError(
            f"a 6rd prefix of /{domain.prefixlen} and {32 - mask_bits} bits of the IPv4 address make "
            f"/{delegated_bits}, which leaves no /64 for a link (RFC 5969 section 4): give a prefix of at most "
            f"/{_SUBNET_BITS - 32 + mask_bits}"
            + (f", or an ipv4-mask of at least {least_mask_bits}" if least_mask_bits < 32 else ""),
            "prefix",
        )
    _check_common(path, topology, [*customers, relay], mask_bits)
    _check_prefix(domain)
    device = f"{path.mechanism}-1"
    members = join(
        path,
        topology,
        sites=customers,
        others=[relay],
        prefix_of=lambda address: delegated(domain, mask_bits, address),
        device_address=lambda address: _device_address(domain, mask_bits, address),
        gateway_of={relay: _compatible},
        headers=_HEADERS,
        mtu_of=partial(device_mtu, path, headers=_HEADERS, inner=6),
        device=device,
    )
    check_overlap(path, members.topology, [domain], "prefix", members.numbered)
    mtu_bytes = device_mtu(path, members.ways, _HEADERS, 6)
    tunnels = [
        make_tunnel(
            path,
            node=node,
            device=device,
            mtu_bytes=mtu_bytes,
            payload="ipv6",
            ways=members.of[node],
            mapping={
                "kind": "6rd",
                "prefix": str(domain),
                "ipv4_mask_bits": mask_bits,
                "border_relay": None if node == relay else str(members.local[relay]),
                "is_border_relay": node == relay,
            },
        )
        for node in (*customers, relay)
    ]
    return finish(path, members.topology, between, tunnels, 6)


def _check_prefix(domain: IPv6Network) -> None:
    """Raises `MechanismError` where hosts cannot have addresses of it, or other mechanisms do (RFC 6890)."""
    wrong = [name for name, network in _NOT_FOR_HOSTS.items() if domain.overlaps(network)]
    if wrong:
        raise MechanismError(
            f"the prefix {domain} overlaps {wrong[0]}: give the domain one of its own, such as {DEFAULT_PREFIX}",
            "prefix",
        )


def delegated(domain: IPv6Network, mask_bits: int, address: IPv4Address) -> IPv6Network:
    """RFC 5969 section 4: the 6rd prefix and the IPv4 address without its first bits."""
    bits = domain.prefixlen + 32 - mask_bits
    embedded = int(address) & (2 ** (32 - mask_bits) - 1)
    return IPv6Network((int(domain.network_address) | (embedded << (128 - bits)), bits))


def _device_address(domain: IPv6Network, mask_bits: int, address: IPv4Address) -> IPv6Interface:
    """In the member's own prefix, with the domain on-link: RFC 5969 section 6 has CEs reach one another directly."""
    return IPv6Interface((int(delegated(domain, mask_bits, address).network_address) + _DEVICE_HOST, domain.prefixlen))


def _compatible(address: IPv4Address) -> IPv6Interface:
    return IPv6Interface((int(address), 128))


def _check_common(path: Path, topology: Topology, members: list[str], mask_bits: int) -> None:
    """All members share the bits that are not embedded. Raises `MechanismError`."""
    _, own = carriers_of(path, topology, members)
    common = {int(str_address) >> (32 - mask_bits) for str_address in (way[0].local(node) for node, way in own.items())}
    if mask_bits and len(common) > 1:
        shown = ", ".join(str(way[0].local(node)) for node, way in own.items())
        raise MechanismError(
            f"the IPv4 addresses of a 6rd domain with ipv4-mask {mask_bits} share their first {mask_bits} bits "
            f"(RFC 5969 section 4), and these do not: {shown}",
            "ipv4-mask",
        )


SIX_RD = Mechanism(
    name="6rd",
    doc="IPv6 rapid deployment (RFC 5969): CEs, whose prefix embeds their IPv4 address, and a border relay.",
    family=family_of,
    install=_install,
    headers=_HEADERS,
    carriers=frozenset({4, 6}),
    node_count=(1, 8),
    node_order="the CEs, then the border relay",
    engines=("kernel", "ebpf", "user"),
    options=(
        *TUNNEL_OPTIONS,
        Parameter(
            name="prefix",
            column="prefix",
            kind="ipv6-prefix",
            doc="the domain's 6rd prefix",
            default=DEFAULT_PREFIX,
        ),
        Parameter(
            name="ipv4-mask",
            column="ipv4_mask_bits",
            kind="count",
            doc="so many leading bits of IPv4 addresses are the same in the whole domain and not embedded",
            minimum=0,
            maximum=31,
            default="0",
        ),
        Parameter(name="br", column="br", kind="name", doc="the border relay", default="the last node"),
    ),
    sample=("r1", "r2"),
)
