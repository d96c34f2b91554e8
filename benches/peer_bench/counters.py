"""The kernel's counters of a namespace: the yardstick that is the same for all tools."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Counters of one namespace at one time; or, from `since`, what was counted between two times.

    Attributes:
        clock_ns: the monotonic clock when they were read; of a difference, the time between.
        rx_packets, rx_bytes: of the interface. A super-packet is one packet.
        dropped: by the interface and its queues, in both directions.
        datagrams: that sockets gave to programs, of the family.
        datagrams_dropped: that arrived and no program got: no room in the socket's buffer, and all other errors.
        accepted: TCP connections that others opened, of both families (RFC 4022 tcpPassiveOpens).
    """

    clock_ns: int
    rx_packets: int
    rx_bytes: int
    dropped: int
    datagrams: int
    datagrams_dropped: int
    accepted: int

    def since(self, before: Counters) -> Counters:
        """Differences to the counters of an earlier time."""
        return Counters(**{name: value - getattr(before, name) for name, value in vars(self).items()})

    def a_second(self, count: int) -> float:
        """A count of this difference as a rate."""
        return count * 1e9 / self.clock_ns


def read_counters(pid: int, interface: str, family: int) -> Counters:
    """Those of the namespace of a process."""
    net = Path(f"/proc/{pid}/net")
    clock_ns = time.monotonic_ns()
    device = _device(net, interface)
    snmp = _pairs((net / "snmp").read_text())
    udp = snmp["Udp"] if family == 4 else _six((net / "snmp6").read_text())
    return Counters(
        clock_ns=clock_ns,
        rx_bytes=device[0],
        rx_packets=device[1],
        dropped=device[3] + device[11],
        datagrams=udp["InDatagrams"],
        datagrams_dropped=udp["InErrors"],
        accepted=snmp["Tcp"]["PassiveOpens"],
    )


def listens(pid: int, transport: str, port: int) -> bool:
    """True if a socket of the namespace is bound to the port: for TCP one that listens, for UDP any."""
    for name in (transport, f"{transport}6"):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            if int(local.rpartition(":")[2], 16) == port and (transport == "udp" or state == _LISTEN):
                return True
    return False


def captures(pid: int) -> bool:
    """True if a packet socket is open in the namespace."""
    return len(Path(f"/proc/{pid}/net/packet").read_text().splitlines()) > 1


_LISTEN = "0A"


def _device(net: Path, interface: str) -> list[int]:
    for line in (net / "dev").read_text().splitlines():
        name, colon, values = line.partition(":")
        if colon and name.strip() == interface:
            return [int(value) for value in values.split()]
    raise LookupError(f"reading the counters of {interface}: {net / 'dev'} does not have it")


def _pairs(text: str) -> dict[str, dict[str, int]]:
    """`/proc/net/snmp`: a line of names, then a line of values, by protocol."""
    lines = text.splitlines()
    pairs = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        protocol, _, keys = names.partition(":")
        pairs[protocol] = dict(zip(keys.split(), map(int, values.split()[1:]), strict=True))
    return pairs


def _six(text: str) -> dict[str, int]:
    """The Udp6 counters of `/proc/net/snmp6`."""
    rows = (line.split() for line in text.splitlines())
    return {name.removeprefix("Udp6"): int(value) for name, value in rows if name.startswith("Udp6")}
