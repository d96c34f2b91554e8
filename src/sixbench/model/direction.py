"""One direction of a link: how fast packets leave, which queue they wait in, and what happens to them on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .emulation import NO_IMPAIRMENTS, Impairments
from .framing import ETHERNET_FRAMING, Framing, framing_of

Discipline = Literal["tail-drop", "codel", "fq_codel"]
DISCIPLINES: tuple[Discipline, ...] = ("tail-drop", "codel", "fq_codel")


@dataclass(frozen=True, kw_only=True)
class RateQueue:
    """The queue before a rate.

    Attributes:
        limit_bytes, limit_ns, limit_packets: given as one of them, the time being that of sending it at the rate; none:
            the default, see `lab`.
        discipline: `tail-drop`: what comes when it is full is dropped; `codel` (RFC 8289) and `fq_codel` (RFC 8290)
            drop earlier, when packets wait for too long.
        target_ns, interval_ns: of CoDel: how long packets may wait, and for how long at a time longer; None: the
            kernel's.
        ecn: whether CoDel marks packets whose senders know ECN (RFC 3168) instead of dropping them; None: the kernel's
            choice.
    """

    limit_bytes: int | None = None
    limit_ns: int | None = None
    limit_packets: int | None = None
    discipline: Discipline = "tail-drop"
    target_ns: int | None = None
    interval_ns: int | None = None
    ecn: bool | None = None


DEFAULT_QUEUE = RateQueue()


@dataclass(frozen=True, kw_only=True)
class LinkDirection:
    """The treatment of the packets that leave one end of a link.

    Attributes:
        rate_bps: bits per second on the wire; None: as fast as the machine.
        overhead: the name of its framing, which says how many bytes of the rate a packet takes.
        burst_bytes: bucket of the rate limiter; None: the default, see `rate_buckets`.
        impairments: what happens to packets behind the rate.
    """

    rate_bps: int | None = None
    overhead: str = ETHERNET_FRAMING.name
    queue: RateQueue = field(default=DEFAULT_QUEUE)
    burst_bytes: int | None = None
    impairments: Impairments = field(default=NO_IMPAIRMENTS)

    @property
    def framing(self) -> Framing:
        """The way in which the rate counts packets. Raises `ValueError` where `overhead` is not the name of a
        framing."""
        return framing_of(self.overhead)


UNLIMITED = LinkDirection()

Directions = tuple[LinkDirection, LinkDirection]
"""The two directions of a link: from its first end, and from its second."""
