"""No mechanism at all: IPv4 or IPv6 from end to end; and both, with the choice that hosts make between them."""

from __future__ import annotations

from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Family, Topology
from .common import legs_of
from .kind import Install, Mechanism, MechanismError, Options
from .selection import by_preference


def _native(family: Family) -> Install:
    def install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
        return Network(topology=topology, legs=legs_of(topology, between, family))

    return install


def _chosen_family(options: Options) -> Family:
    return 4 if options.get("prefer") == "ipv4" else 6


def _dual_stack(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    """Both families are there; the client takes the pair of addresses that RFC 6724 puts first."""
    pairs = []
    for family in (6, 4):
        if topology.route(*between, family):
            first, *_ = legs_of(topology, between, family)
            pairs.append((first.source, first.destination))
    if not pairs:
        raise MechanismError(f'no route leads from "{between[0]}" to "{between[1]}" over IPv6 or IPv4')
    source, destination = by_preference(pairs, prefers_ipv4=path.options.get("prefer") == "ipv4")[0]
    family = 6 if destination.version == 6 else 4
    if family != path.family:
        raise MechanismError(
            f"address selection takes IPv{family} ({source} to {destination}, RFC 6724 section 6), "
            f"where this path is to show IPv{path.family}",
            "prefer",
        )
    return Network(topology=topology, legs=legs_of(topology, between, family))


NATIVE4 = Mechanism(
    name="native4",
    doc="IPv4 from end to end (RFC 791).",
    family=lambda options: 4,
    install=_native(4),
    carriers=frozenset({4}),
)
NATIVE6 = Mechanism(
    name="native6",
    doc="IPv6 from end to end (RFC 8200).",
    family=lambda options: 6,
    install=_native(6),
    carriers=frozenset({6}),
)
DUAL_STACK = Mechanism(
    name="dual-stack",
    doc="Both families from end to end; the client's address selection decides (RFC 4213 section 2, RFC 6724).",
    family=_chosen_family,
    install=_dual_stack,
    options=(
        Parameter(
            name="prefer",
            kind="choice",
            choices=("default", "ipv4"),
            doc="default: the policy table of RFC 6724 section 2.1; ipv4: with IPv4 before IPv6 (section 10.3)",
            default="default",
        ),
    ),
)
