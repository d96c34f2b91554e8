"""Which network headers the packets of a path carry on each link of its way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..model.path import Path
from ..model.topology import Topology
from .headers import IPV4, IPV6, Header

Stack = tuple[Header, ...]
"""Network headers, outermost first: `(IPV4,)` for native IPv4, `(IPV4, IPV6)` for IPv6 in IPv4."""

LinkStacks = Callable[[Path, list[str]], list[Stack]]
"""The stacks of a path on the links between the nodes of a route, in order: one fewer than there are nodes."""


@dataclass(frozen=True, kw_only=True)
class Hop:
    """One link as the packets of a path cross it.

    Attributes:
        stack: the network headers that they carry there, outermost first.
        mtu_bytes: the link's IP MTU.
        rate_bps: of the wire; None: as fast as the machine.
        delay_ns: propagation, one way.
        offload: whether the segmentation offload of its devices is on.
    """

    stack: Stack
    mtu_bytes: int = 1500
    rate_bps: int | None = None
    delay_ns: int = 0
    offload: bool = False

    @property
    def network_bytes(self) -> int:
        """All network headers together."""
        return sum(header.size_bytes for header in self.stack)

    @property
    def outer_bytes(self) -> int:
        """The headers around the packet that the hosts exchange."""
        return self.network_bytes - self.stack[-1].size_bytes


def native(header: Header) -> LinkStacks:
    """One network header from end to end."""
    return lambda path, nodes: [(header,)] * (len(nodes) - 1)


def tunnel(outer: Stack, inner: Header) -> LinkStacks:
    """`outer` around `inner` between the two nodes that the path is installed on, `inner` alone on other links."""

    def stacks(path: Path, nodes: list[str]) -> list[Stack]:
        first, last = sorted(nodes.index(node) for node in path.nodes)
        return [(*outer, inner) if first <= index < last else (inner,) for index in range(len(nodes) - 1)]

    return stacks


MECHANISMS: Mapping[str, LinkStacks] = {
    "native4": native(IPV4),
    "native6": native(IPV6),
}
"""By mechanism. A tunnel is one line: `"6in4": tunnel((IPV4,), IPV6)` (RFC 4213 section 3)."""


def hops_of(path: Path, topology: Topology, between: tuple[str, str]) -> list[Hop] | None:
    """The links from client to server as this path crosses them; None where the mechanism's headers are not known here.

    `between` must be connected.
    """
    stacks = MECHANISMS.get(path.mechanism)
    links = topology.route(*between)
    if stacks is None or links is None:
        return None
    nodes = [between[0]]
    for link in links:
        nodes.append(link.other_end(nodes[-1]).node)
    if any(node not in nodes for node in path.nodes):
        return None
    return [
        Hop(
            stack=stack,
            mtu_bytes=link.mtu_bytes,
            rate_bps=link.rate_bps,
            delay_ns=link.delay_ns,
            offload=link.offload_on,
        )
        for stack, link in zip(stacks(path, nodes), links, strict=True)
    ]


def stack_of(mechanism: str) -> Stack:
    """The headers of a mechanism where it is in force. Raises `ValueError` naming the known mechanisms."""
    if mechanism not in MECHANISMS:
        raise ValueError(f'the headers of "{mechanism}" are not known; known are {", ".join(MECHANISMS)}')
    ends = ["client", "server"]
    path = Path(name=mechanism, mechanism=mechanism, family=4, nodes=tuple(ends))
    return MECHANISMS[mechanism](path, ends)[0]
