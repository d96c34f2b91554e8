"""6rd (RFC 5969): 6to4 under a provider's own prefix, with a border relay to native IPv6."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Interface, IPv6Network

from ..engines import EBPF, KERNEL, USER
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Topology
from .common import TUNNEL_OPTIONS, check_overlap, check_router, family_of, finish
from .kind import Mechanism, MechanismError
from .mesh import HEADERS, Mesh, mesh_of
from .sites import SUBNET_BITS, compatible, join

DEFAULT_PREFIX = "2001:db8::/32"
PREFIX = Parameter(name="prefix", kind="ipv6-prefix", doc="the domain's 6rd prefix", default=DEFAULT_PREFIX)
IPV4_MASK = Parameter(
    name="ipv4-mask",
    column="ipv4_mask_bits",
    kind="count",
    doc="number of leading bits of the IPv4 addresses that are the same in the whole domain, and so not embedded",
    minimum=0,
    maximum=31,
    default=0,
)
_NOT_FOR_HOSTS = {
    f"{what} ({network})": IPv6Network(network)
    for what, network in (
        ("multicast", "ff00::/8"),
        ("link-local addresses", "fe80::/10"),
        ("addresses that embed IPv4 ones, and special ones,", "::/8"),
        ("6to4", "2002::/16"),
    )
}
_DEVICE_HOST = 0xFF
"""The last octet of a tunnel device's address. 1 and 2 belong to the link behind a CE, which may be in the same
prefix."""


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    relay = str(path.options.get("br", path.nodes[-1]))
    customers = [node for node in path.nodes if node != relay]
    check_router(topology, relay, "the border relay, which is named last or with br:,", "br")
    if not customers:
        raise MechanismError("6rd has at least one CE besides its border relay, such as [r1, r2]")
    domain = IPv6Network(str(path.options.get("prefix", DEFAULT_PREFIX)))
    mask_bits = int(path.options.get("ipv4-mask", 0))
    delegated_bits = domain.prefixlen + 32 - mask_bits
    if delegated_bits > SUBNET_BITS:
        least_mask_bits = mask_bits + delegated_bits - SUBNET_BITS
        raise MechanismError(
            f"a 6rd prefix of /{domain.prefixlen} and {32 - mask_bits} bits of the IPv4 address make "
            f"/{delegated_bits}, which leaves no /64 for a link (RFC 5969 section 4): give a prefix of at most "
            f"/{SUBNET_BITS - 32 + mask_bits}"
            + (f", or an ipv4-mask of at least {least_mask_bits}" if least_mask_bits < 32 else ""),
            "prefix",
        )
    mesh = mesh_of(path, topology, [*customers, relay])
    _check_common(mesh, mask_bits)
    _check_prefix(domain)
    ends = {node: mesh.end(node, _device_address(domain, mask_bits, mesh.local[node])) for node in customers}
    ends[relay] = mesh.end(relay, _device_address(domain, mask_bits, mesh.local[relay]), compatible(mesh.local[relay]))
    whole, numbered = join(
        mesh,
        topology,
        sites=customers,
        prefix_of=lambda address: delegated(domain, mask_bits, address),
        ends=ends,
    )
    check_overlap(path, whole, [domain], "prefix", numbered)
    tunnels = mesh.tunnels(
        lambda node: {
            "kind": "6rd",
            "prefix": str(domain),
            "ipv4_mask_bits": mask_bits,
            "border_relay": None if node == relay else str(mesh.local[relay]),
            "is_border_relay": node == relay,
        }
    )
    return finish(path, whole, between, tunnels, 6)


def _check_prefix(domain: IPv6Network) -> None:
    """Raises `MechanismError` where hosts cannot have addresses of the prefix, or other mechanisms use it (RFC
    6890)."""
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


def _check_common(mesh: Mesh, mask_bits: int) -> None:
    """All members share the bits that are not embedded. Raises `MechanismError`."""
    common = {int(address) >> (32 - mask_bits) for address in mesh.local.values()}
    if mask_bits and len(common) > 1:
        shown = ", ".join(map(str, mesh.local.values()))
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
    headers=HEADERS,
    node_count=(1, 8),
    node_order="the CEs, then the border relay",
    executed_by=(KERNEL, EBPF, USER),
    options=(
        *TUNNEL_OPTIONS,
        PREFIX,
        IPV4_MASK,
        Parameter(name="br", kind="name", doc="the border relay", unless_given="the last node"),
    ),
    sample=("r1", "r2"),
)
