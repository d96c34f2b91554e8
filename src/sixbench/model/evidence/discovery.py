"""Prefixes that CLATs learned, and the DHCP by which they were told to do without IPv4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ..captured import KeptPacket
from ..form import MAX_ITEMS, Counts, Kept, Name, Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class WithoutIpv4(Kept):
    """That a node was told to do without IPv4 on its link (RFC 8925).

    Attributes:
        server: who told it.
        offered: the IPv4 address that it did not ask for.
        wait_s: for how long.
        asked: how many messages it took.
        took_ns: how long it took.
    """

    server: Name
    offered: Name
    wait_s: Natural
    asked: Natural
    took_ns: Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class DhcpSeen(Kept):
    """The messages of DHCP that were seen on the CLAT's link.

    Attributes:
        messages: by type, and whether they have option 108 or ask for it.
        packets: the first ones.
    """

    messages: Counts
    packets: Annotated[tuple[KeptPacket, ...], Field(max_length=4)]


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscoveredPrefix(Kept):
    """The prefix of its NAT64 that a CLAT learned, and translates by.

    Attributes:
        by: `ra` (RFC 8781) or `dns64` (RFC 7050).
        source: the address that told it.
        asked: how many solicitations or questions it took.
        took_ns: how long.
        others: the prefixes that were told besides.
        dhcp: what it was told before; None: it did not ask.
    """

    prefix: Name
    by: Name
    source: Name
    asked: Natural
    took_ns: Natural
    others: Annotated[tuple[Name, ...], Field(max_length=MAX_ITEMS)] = ()
    dhcp: WithoutIpv4 | None = None
