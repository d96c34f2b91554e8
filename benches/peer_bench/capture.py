"""Packets with the kernel's receive timestamps, by a tool that is neither ours nor any contender's: tcpdump."""

from __future__ import annotations

import struct
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

MAGIC_NANOSECONDS = 0xA1B23C4D
"""Magic number of a pcap file whose timestamps are in nanoseconds, in the byte order of the machine that wrote it."""
_FILE_HEADER = 24
_RECORD = struct.Struct("=IIII")
_ETHERNET = 14
_HEADER_BYTES = {4: 20, 6: 40}

QUANTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9, "max": 100.0}

SNAPLEN_BYTES = 96
"""Ethernet, IPv6 and UDP headers, with room to spare."""


def command(interface: str, server: str, file: str) -> list[str]:
    """Command that captures the datagrams to the server until it is ended."""
    options = ["--time-stamp-precision=nano", "-n", "-p", "-B", "16384", "-s", str(SNAPLEN_BYTES)]
    return ["tcpdump", *options, "-i", interface, "-Z", "root", "-w", file, f"udp and dst host {server}"]


def flow_times_ns(pcap: bytes, family: int) -> NDArray[np.int64]:
    """Arrival times of the flow that has most datagrams, in order of arrival. Raises `ValueError` for other files."""
    if len(pcap) < _FILE_HEADER or struct.unpack_from("=I", pcap)[0] != MAGIC_NANOSECONDS:
        raise ValueError("the capture is no pcap file with nanoseconds")
    flows: dict[bytes, list[int]] = defaultdict(list)
    ports_at = _ETHERNET + _HEADER_BYTES[family]
    at = _FILE_HEADER
    while at + _RECORD.size <= len(pcap):
        seconds, nanoseconds, kept, _ = _RECORD.unpack_from(pcap, at)
        at += _RECORD.size
        flows[pcap[at + ports_at : at + ports_at + 4]].append(seconds * 1_000_000_000 + nanoseconds)
        at += kept
    return np.array(max(flows.values(), key=len, default=[]), dtype=np.int64)


def quantiles_ns(errors_ns: NDArray[np.int64]) -> dict[str, float]:
    """Quantiles of errors, by name; empty without any errors."""
    if len(errors_ns) == 0:
        return {}
    return {name: float(np.percentile(errors_ns, share)) for name, share in QUANTILES.items()}


def gap_errors_ns(times_ns: NDArray[np.int64], gap_ns: int, skip_ns: int) -> NDArray[np.int64]:
    """Difference of each distance between two arrivals from what it should be. The first `skip_ns` are left out: tools
    find their rate in them."""
    if len(times_ns) == 0:
        return times_ns
    kept = times_ns[times_ns >= times_ns[0] + skip_ns]
    return np.abs(np.diff(kept) - gap_ns)
