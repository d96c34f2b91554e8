"""Segments of TCP that nobody of the trial sent, by what the kernels of both hosts counted.

A host's namespace has no connections but the trial's. So what its kernel counts is the trial's, or a stray's. There are
three lower bounds, of which the largest counts:

- The segments that came (`InSegs`), less all that the other host sent (`OutSegs` and `RetransSegs`). It is exact where
  nothing is lost and no super-packets cross the links. A super-packet counts as one that came, and as all the segments
  in it that were sent.
- The segments that the kernel challenged because they would reset or reopen a connection (RFC 5961), less what the
  other host sent again: a SYN that comes twice is challenged, too.
- The segments that the kernel dropped because they are outside the window or too old (RFC 9293 section 3.10.7.4, RFC
  7323 section 5), less what the other host sent again: a needless retransmission is outside the window, too.

A segment within the window that has the right checksum is accepted as the peer's. It counts by the first bound alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...model.evidence.arrivals import ArrivedSegments
from ...model.observation import CountersAnswer, Drop
from .packets import Counters

CHALLENGED = ("TCPChallengeACK", "TCPACKSkippedChallenge")
"""Counters of Linux (include/uapi/linux/snmp.h): the challenges that were sent, and those that the limit of their rate
held back."""

OUTSIDE = frozenset({"TCP_INVALID_SEQUENCE", "TCP_INVALID_END_SEQUENCE", "TCP_RFC7323_PAWS", "TCP_RFC7323_PAWS_ACK"})
"""The kernel's reasons (include/net/dropreason-core.h) for segments that are outside the window or too old."""

NOTED = (*CHALLENGED, "TCPSYNChallenge", "OutOfWindowIcmps", "PAWSEstab")
"""Counters that the evidence keeps beside the reasons of drops. ICMP errors that quote no segment under way are no
segments, and are only kept."""

TCP = 6


def segment_evidence(
    hosts: tuple[str, str],
    netns: Mapping[int, str],
    before: Counters,
    after: Counters,
    reports: Sequence[Drop] | None,
) -> dict[str, ArrivedSegments] | None:
    """Segments that came to each host. None where the counters of one of them are not known.

    Args:
        hosts: client and server.
        netns: the nodes by the inode of their namespace.
        reports: the kernel's reports of drops; None: it did not report.
    """
    if any(host not in before or host not in after for host in hosts):
        return None
    client, server = hosts
    arrived_segments = {}
    for host, other in ((client, server), (server, client)):
        counts, went = _rises(before[host], after[host]), _rises(before[other], after[other])
        again = went["RetransSegs"]
        outside: Counter[str] = Counter()
        for drop in reports or ():
            if netns.get(drop.netns_inode) == host and _is_outside(drop):
                outside[drop.reason] += drop.packets
        refused = {name: counts[name] for name in NOTED} | dict(outside)
        bounds = (
            counts["InSegs"] - went["OutSegs"] - again,
            sum(counts[name] for name in CHALLENGED) - again,
            sum(outside.values()) - again,
        )
        arrived_segments[host] = ArrivedSegments(
            arrived=max(0, counts["InSegs"]),
            sent=max(0, went["OutSegs"] + again),
            strays=max(0, *bounds),
            refused={name: count for name, count in refused.items() if count > 0},
        )
    return arrived_segments


def _is_outside(drop: Drop) -> bool:
    return drop.reason in OUTSIDE and drop.protocol in (None, TCP)


def _rises(early: CountersAnswer, late: CountersAnswer) -> Counter[str]:
    """Increases of the counters of TCP, by name."""
    first = early.snmp.get("Tcp", {}) | (early.tcpext or {})
    last = late.snmp.get("Tcp", {}) | (late.tcpext or {})
    return Counter({name: count - first.get(name, 0) for name, count in last.items()})
