"""The prediction for a datagram: on each link, at each node, and before and after path MTU discovery."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..model.leg import Crossing
from ..model.topology import Family
from .pieces import Policy

Outcome = Literal["delivered", "lost", "refused"]
"""`lost` means that it is lost on the way. `refused` means that the sender itself does not send it."""


@dataclass(frozen=True, kw_only=True)
class LinkLoad:
    """The packets of a datagram on one link.

    Attributes:
        crossing: the link as the path crosses it.
        sizes_bytes: the sizes of the IP packets in order, with the outermost header. Empty: none of them comes there.
    """

    crossing: Crossing
    sizes_bytes: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.sizes_bytes)

    @property
    def total_bytes(self) -> int:
        """The bytes of all packets, network headers included."""
        return sum(self.sizes_bytes)

    @property
    def wire_bytes(self) -> int:
        """The bytes that all packets take on the wire of the link."""
        framing, tag_bytes = self.crossing.direction.framing, self.crossing.link.tag_bytes
        return sum(framing.wire_bytes(size, tag_bytes) for size in self.sizes_bytes)

    def limit_bps(self, payload_bytes: int) -> float | None:
        """The most payload per second that the link lets through, of which the datagram has so much. None: it has no
        rate, or nothing comes there."""
        rate_bps = self.crossing.direction.rate_bps
        return None if rate_bps is None or not self.sizes_bytes else rate_bps * payload_bytes / self.wire_bytes


@dataclass(kw_only=True)
class Work:
    """A node's treatment of fragments of one family for one datagram.

    Attributes:
        cut: packets that it made fragments of (Linux: FragOKs).
        created: those fragments (FragCreates).
        too_long: packets that it refused to pass on (FragFails).
        collected: fragments that it keeps until all are there (ReasmReqds).
        reassembled: packets that it made of them (ReasmOKs).
        tracked: whether `collected` and `reassembled` are the work of connection tracking.
    """

    cut: int = 0
    created: int = 0
    too_long: int = 0
    collected: int = 0
    reassembled: int = 0
    tracked: bool = False

    def counters(self, family: Family) -> dict[str, int]:
        """The counters of Linux, by the names of /proc/net/snmp. Linux does not count IPv6 packets that connection
        tracking reassembles."""
        counts = {"FragOKs": self.cut, "FragCreates": self.created, "FragFails": self.too_long}
        if family == 6 and self.tracked:
            return counts
        return counts | {"ReasmReqds": self.collected, "ReasmOKs": self.reassembled}


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The fate of one datagram.

    Attributes:
        loads: the loads of the links, from client to server.
        work: the work of nodes by node and family. Nodes without any are absent.
        reasons: why it is not delivered.
        learned_mtus: the path MTUs that senders learned from it, by sender and destination.
    """

    outcome: Outcome
    loads: tuple[LinkLoad, ...]
    work: dict[tuple[str, Family], Work] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    learned_mtus: dict[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The fate of a flow of equal datagrams.

    Attributes:
        datagram_bytes: bytes of UDP payload.
        attempts: the fates of the first datagrams. Each is sent after the errors about the one before it have come. All
            but the last are lost, and teach a sender a path MTU. All further datagrams are like the last.
    """

    datagram_bytes: int
    policy: Policy
    attempts: tuple[Attempt, ...]

    @property
    def first(self) -> Attempt:
        """The fate of the first datagram, before anything is known about the path."""
        return self.attempts[0]

    @property
    def settled(self) -> Attempt:
        """The fate of every later datagram, when all is known that can be known."""
        return self.attempts[-1]

    @property
    def lost_first(self) -> int:
        """The least number of datagrams that are lost before all are like the last. More are lost if some are sent
        before the errors are back."""
        return len(self.attempts) - 1

    @property
    def goodput_limits_bps(self) -> list[float | None]:
        """The most UDP payload per second that each link lets through, when settled. None: it has no rate, or nothing
        comes there."""
        return [load.limit_bps(self.datagram_bytes) for load in self.settled.loads]
