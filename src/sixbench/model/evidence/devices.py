"""Counts of devices, and the sessions of nodes that keep state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from ..captured import KeptPacket
from ..form import MAX_ITEMS, Counts, Kept, Name, Natural, Whole
from ..topology import Family


@dataclass(frozen=True, kw_only=True, slots=True)
class Count(Kept):
    """Increase of the packets and bytes that a device counted."""

    packets: Whole
    bytes: Whole

    def __add__(self, other: Count) -> Count:
        return Count(packets=self.packets + other.packets, bytes=self.bytes + other.bytes)


@dataclass(frozen=True, kw_only=True, slots=True)
class TunnelCounters(Kept):
    """Counts of one end of a tunnel.

    Attributes:
        encapsulated, decapsulated: by the fast path.
        slow_encapsulated, slow_decapsulated: by the slow path. None: the engine has none (`kernel`).
        slow: why packets were given to the slow path, without reasons for which none was.
        drops: by reason, without those of which there were none.
    """

    encapsulated: Count
    decapsulated: Count
    slow_encapsulated: Count | None = None
    slow_decapsulated: Count | None = None
    slow: dict[Name, Count] | None = None
    drops: dict[Name, Count] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslatorCounters(Kept):
    """Counts of a translator, in packets as they came to it.

    Attributes:
        to_ipv6, to_ipv4: those that it translated.
        slow: of these, those that user space translated, by the clause that decided.
        answered: those whose source was told of an error instead, by clause.
        drops: by clause.
        waiting: fragments that still waited for the first one of their packet at the trial's end; None: it was not
            counted.
    """

    to_ipv6: Count
    to_ipv4: Count
    slow: dict[Name, Count] = field(default_factory=dict)
    answered: dict[Name, Count] = field(default_factory=dict)
    drops: dict[Name, Count] = field(default_factory=dict)
    waiting: Count | None = None

    def to(self, family: Family) -> Count:
        """Those that it translated to a family."""
        return self.to_ipv6 if family == 6 else self.to_ipv4


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


@dataclass(frozen=True, kw_only=True, slots=True)
class RelayCounters(Kept):
    """Counts of a relay (`run.proof.relays`).

    Attributes:
        connections: pairs of connections that it made.
        pairs: pairs of hosts and ports between which it passed datagrams on.
        bytes_to_ipv6, bytes_to_ipv4: payload that it passed on.
        datagrams_to_ipv6, datagrams_to_ipv4: likewise.
        failed: what else became of sessions and datagrams, by name, without those of which there were none.
    """

    connections: Natural
    pairs: Natural
    bytes_to_ipv6: Natural
    bytes_to_ipv4: Natural
    datagrams_to_ipv6: Natural
    datagrams_to_ipv4: Natural
    failed: Counts = field(default_factory=dict)

    def bytes_to(self, family: Family) -> int:
        """Payload that it passed on to a family."""
        return self.bytes_to_ipv6 if family == 6 else self.bytes_to_ipv4


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramUse(Kept):
    """Resources that a program under test used in a trial (`run.proof.programs`), or the emulator of a machine under
    test.

    Attributes:
        cpu_ns: the CPU time of all its processes.
        peak_memory_bytes: the most that each of them had resident, added up.
        processes: how many there were at the end.
        listening: where sockets in its namespace waited for others, such as `tcp 0.0.0.0:53`.
        emulator: the emulator whose processes these are. What the machine in it used, nobody knows. None: they are the
            program's own.
    """

    cpu_ns: Natural
    peak_memory_bytes: Natural
    processes: Natural
    listening: Annotated[tuple[Name, ...], Field(max_length=MAX_ITEMS)] = ()
    emulator: Name | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedSessions(Kept):
    """The sessions of a node that keeps state: the connections that Linux tracks there (`run.proof.sessions`), or those
    of a relay.

    Attributes:
        before, after: how many there were at the beginning and at the end.
        most: how many there may be (`nf_conntrack_max`).
        failed: what the table refused or gave up, by the kernel's counter (`insert_failed`, `drop`, `early_drop`), or
            what a relay refused (`sessions`), without those of which there were none. None: the kernel does not tell.
        object_bytes: the memory that the kernel's entry of a session takes. None: only root may know.
        objects: by how much the entries of the whole machine rose. None: likewise.
    """

    before: Natural
    after: Natural
    most: Natural
    failed: Counts | None = None
    object_bytes: Natural | None = None
    objects: Whole | None = None

    @property
    def rise(self) -> int:
        """The increase until the end."""
        return self.after - self.before
