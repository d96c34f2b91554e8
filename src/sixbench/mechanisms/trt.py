"""A transport relay translator (RFC 3142): a router that ends the TCP and UDP of IPv6 clients and makes connections of
its own to IPv4 servers.

Nothing is translated. Each leg has packets of its own, with their sizes, hop limits and acknowledgements. The relay is
a service of the agent in user space.
"""

from __future__ import annotations

from dataclasses import replace

from ..engines import USER
from ..model.device import Relay
from ..model.leg import Leg
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Topology
from ..model.workload import WorkloadKind
from .common import ipv4_of
from .embedding import embed
from .kind import Mechanism, MechanismError
from .parting import ALLOW_PRIVATE, DEFAULT_PREFIX, part
from .resolving import DNS64, RESOLVER, with_resolver
from .translating import PREFIX

PREFIX_BITS = 96
"""RFC 3142 section 3: the prefix and an IPv4 address, and nothing between or behind."""
SESSIONS = 4096
MAX_SESSIONS = 200_000

LOOPBACK_MTU_BYTES = 65536
"""Linux's `lo`."""

OWN_SESSIONS = Parameter(
    name="sessions",
    kind="count",
    doc="largest number of connections, and of pairs that exchange datagrams, at the relay",
    minimum=1,
    maximum=MAX_SESSIONS,
    default=str(SESSIONS),
)


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    parted = part(path, topology, between)
    prefix, [near, far] = parted.prefix, parted.legs
    assert prefix is not None, "the path has one"
    if prefix.prefixlen != PREFIX_BITS:
        raise MechanismError(
            f"the prefix of trt has {PREFIX_BITS} bits (RFC 3142 section 3), not {prefix.prefixlen}: give another one, "
            f"such as {DEFAULT_PREFIX}",
            "prefix",
        )
    [node] = path.nodes
    relay = Relay(
        node=node,
        device="lo",
        mtu_bytes=LOOPBACK_MTU_BYTES,
        prefixes=(prefix,),
        prefix=prefix,
        sessions=int(path.options.get("sessions", SESSIONS)),
    )
    client: Leg = replace(near, destination=embed(prefix, ipv4_of(far.destination)))
    return with_resolver(path, Network(topology=parted.topology, legs=(client, far), devices=(relay,)))


def _unfit(kind: WorkloadKind) -> str | None:
    if not kind.needs_icmp:
        return None
    return (
        "it relays TCP and UDP (RFC 3142 section 3), and no ICMP passes it; measure with tcp-rr, udp-rr or tcp-stream, "
        "or take the path out of this experiment"
    )


TRT = Mechanism(
    name="trt",
    doc="A relay of TCP and UDP for IPv6 clients of IPv4 servers, with connections of its own on either leg (RFC "
    "3142).",
    family=lambda options: 6,
    server_family=lambda options, nodes: 4,
    install=_install,
    node_count=(1, 1),
    executed_by=(USER,),
    options=(PREFIX, ALLOW_PRIVATE, OWN_SESSIONS, DNS64, RESOLVER),
    unfit=_unfit,
    sample=("r1",),
)
