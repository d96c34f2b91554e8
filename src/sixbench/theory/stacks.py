"""Network headers of the packets of a mechanism, and a link as they cross it."""

from __future__ import annotations

from dataclasses import dataclass

from ..mechanisms import MECHANISMS
from ..model.headers import HEADERS, IPV4, IPV6, Header

Stack = tuple[Header, ...]
"""Network headers, outermost first: `(IPV4,)` for native IPv4, `(IPV4, IPV6)` for IPv6 in IPv4."""


@dataclass(frozen=True, kw_only=True)
class CrossedLink:
    """A link as the packets of a mechanism cross it.

    Attributes:
        stack: the network headers that they carry there, outermost first.
        mtu_bytes: the link's IP MTU.
        rate_bps: the rate of the wire. None: it is as fast as the machine.
    """

    stack: Stack
    mtu_bytes: int = 1500
    rate_bps: int | None = None

    @property
    def network_bytes(self) -> int:
        """The bytes of all network headers together."""
        return sum(header.size_bytes for header in self.stack)


def stack_of(mechanism: str) -> Stack:
    """The headers of a mechanism where it is in force. Raises `ValueError` naming the known mechanisms."""
    kind = MECHANISMS.get(mechanism)
    if kind is None:
        raise ValueError(f'the headers of "{mechanism}" are not known; known are {", ".join(MECHANISMS)}')
    return (*(HEADERS[name] for name in kind.headers), IPV4 if kind.family({}) == 4 else IPV6)


def hop_over(mechanism: str, mtu_bytes: int, rate_bps: int | None = None) -> CrossedLink:
    """A link of that MTU as a mechanism's packets cross it. Raises `ValueError` as `stack_of` does."""
    stack = stack_of(mechanism)
    inner_mtu_bytes = MECHANISMS[mechanism].inner_mtu_bytes
    if inner_mtu_bytes is not None:
        mtu_bytes = min(mtu_bytes, inner_mtu_bytes + sum(header.size_bytes for header in stack[:-1]))
    return CrossedLink(stack=stack, mtu_bytes=mtu_bytes, rate_bps=rate_bps)
