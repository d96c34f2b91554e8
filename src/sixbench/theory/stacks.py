"""Which network headers the packets of a path carry on each link of its way."""

from __future__ import annotations

from dataclasses import dataclass

from ..mechanisms import MECHANISMS, install
from ..model.headers import HEADERS, IPV4, IPV6, Header
from ..model.path import Path
from ..model.topology import Topology

Stack = tuple[Header, ...]
"""Network headers, outermost first: `(IPV4,)` for native IPv4, `(IPV4, IPV6)` for IPv6 in IPv4."""


@dataclass(frozen=True, kw_only=True)
class Hop:
    """One link as the packets of a path cross it.

    Attributes:
        stack: the network headers that they carry there, outermost first.
        mtu_bytes: the link's IP MTU.
        rate_bps: the rate of the wire. None: it is as fast as the machine.
        delay_ns: propagation, one way.
        offload: whether the segmentation offload of its devices is on.
        tag_bytes: what the tag of a VLAN adds to each frame.
    """

    stack: Stack
    mtu_bytes: int = 1500
    rate_bps: int | None = None
    delay_ns: int = 0
    offload: bool = False
    tag_bytes: int = 0

    @property
    def network_bytes(self) -> int:
        """The bytes of all network headers together."""
        return sum(header.size_bytes for header in self.stack)


def hops_of(path: Path, topology: Topology, between: tuple[str, str]) -> list[Hop] | None:
    """The links from one host to another as this path crosses them. None where outer packets are fragmented, or a relay
    sends packets of its own, or a network that is not ours is on the way, because there are no exact values then.

    The hosts `between` must be connected, and it must be possible to install the path.
    """
    hops = []
    network = install(path, topology, between)
    if len(network.parts) > 1 or any(crossing.link.over == "internet" for crossing in network.crossings):
        return None
    for crossing in network.crossings:
        stack = tuple(HEADERS[name] for name in crossing.headers)
        outer_bytes = sum(header.size_bytes for header in stack[:-1])
        mtu_bytes = crossing.link.mtu_bytes
        if crossing.inner_mtu_bytes is not None:
            if crossing.inner_mtu_bytes + outer_bytes > mtu_bytes:
                return None
            mtu_bytes = crossing.inner_mtu_bytes + outer_bytes
        hops.append(
            Hop(
                stack=stack,
                mtu_bytes=mtu_bytes,
                rate_bps=crossing.direction.rate_bps,
                delay_ns=crossing.direction.impairments.mean_delay_ns,
                offload=crossing.link.offload_on,
                tag_bytes=crossing.link.tag_bytes,
            )
        )
    return hops


def stack_of(mechanism: str) -> Stack:
    """The headers of a mechanism where it is in force. Raises `ValueError` naming the known mechanisms."""
    kind = MECHANISMS.get(mechanism)
    if kind is None:
        raise ValueError(f'the headers of "{mechanism}" are not known; known are {", ".join(MECHANISMS)}')
    return (*(HEADERS[name] for name in kind.headers), IPV4 if kind.family({}) == 4 else IPV6)


def hop_over(mechanism: str, mtu_bytes: int, rate_bps: int | None = None) -> Hop:
    """A link of that MTU as a mechanism's packets cross it. Raises `ValueError` as `stack_of` does."""
    stack = stack_of(mechanism)
    inner_mtu_bytes = MECHANISMS[mechanism].inner_mtu_bytes
    if inner_mtu_bytes is not None:
        mtu_bytes = min(mtu_bytes, inner_mtu_bytes + sum(header.size_bytes for header in stack[:-1]))
    return Hop(stack=stack, mtu_bytes=mtu_bytes, rate_bps=rate_bps)
