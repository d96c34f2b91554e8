"""One direction of a link: how fast its packets leave, what queues before that, and what happens to them on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

from .emulation import NO_IMPAIRMENTS, Impairments


@dataclass(frozen=True, kw_only=True)
class Queue:
    """What waits before a rate; what comes when it is full is dropped.

    Attributes:
        limit_bytes, limit_ns: given as one or the other, the time being that of sending it at the rate; neither: the
            default, see `lab`.
    """

    limit_bytes: int | None = None
    limit_ns: int | None = None


DEFAULT_QUEUE = Queue()


@dataclass(frozen=True, kw_only=True)
class Direction:
    """What the packets meet that leave one end of a link.

    Attributes:
        rate_bps: bits per second on the wire, preamble, gap and FCS included; None: as fast as the machine.
        burst_bytes: bucket of the rate limiter; None: the default, see `lab`.
        impairments: what happens to packets behind the rate.
    """

    rate_bps: int | None = None
    queue: Queue = field(default=DEFAULT_QUEUE)
    burst_bytes: int | None = None
    impairments: Impairments = field(default=NO_IMPAIRMENTS)


UNLIMITED = Direction()
