"""Reads a pcap or pcapng file as the datagrams that a trace sends.

Messages name the byte at which something is wrong.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from ..model.capture_file import CaptureError, Record, ip_start, read_capture
from ..model.files import open_regular
from ..model.trace import MAX_GAP_NS, MAX_PACKETS, MIN_MEAN_GAP_NS, Trace, encode
from ..model.workloads.common import HEADER_BYTES
from ..model.workloads.traffic_models import MAX_BYTES, TRACE
from .factors import Factors
from .named_files import read_named_files
from .reader import Reader
from .workload_file import WorkloadTemplate

UDP_BYTES = 8
IPV6_BYTES = 40


def read_trace(path: Path) -> Trace:
    """Reads a capture. Each IP packet, whatever it carried, becomes a datagram whose packet is as long.

    The payload of the datagram is as long as the packet without its IP header and without a UDP header. Packets are
    taken in the order of their times.

    Raises:
        CaptureError: the file is not a capture, is damaged, or has nothing or too much to send.
        OSError: the file cannot be read.
    """
    times_and_sizes: list[tuple[int, int]] = []
    skipped = padded = 0
    with open_regular(path) as stream:
        for record in read_capture(stream):
            if record.time_ns is None:
                raise CaptureError(f"at byte {record.at}: a packet has no time, by which it could be sent")
            payload_bytes = _payload_bytes(record)
            if payload_bytes is None:
                skipped += 1
                continue
            if len(times_and_sizes) == MAX_PACKETS:
                raise CaptureError(
                    f"it has more than {MAX_PACKETS} IP packets; cut it, for example with: editcap -r IN OUT "
                    f"1-{MAX_PACKETS}"
                )
            padded += payload_bytes < HEADER_BYTES
            times_and_sizes.append((record.time_ns, min(max(payload_bytes, HEADER_BYTES), MAX_BYTES)))
        stream.seek(0)
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    times_and_sizes.sort(key=lambda pair: pair[0])
    times_ns = [time_ns for time_ns, _ in times_and_sizes]
    if len(times_ns) < 2:
        raise CaptureError(f"it has {len(times_ns)} IP packets; at least two are needed to know how often to send")
    duration_ns = times_ns[-1] - times_ns[0]
    if duration_ns < MIN_MEAN_GAP_NS * (len(times_ns) - 1):
        raise CaptureError(
            f"it has {len(times_ns)} IP packets in {duration_ns} ns; at most 1 a microsecond can be sent"
        )
    gaps_ns = [0, *(late - early for early, late in pairwise(times_ns))]
    if max(gaps_ns) > MAX_GAP_NS:
        raise CaptureError("there is an hour or more between two of its packets; cut it")
    return Trace(
        packets=len(times_ns),
        duration_ns=duration_ns,
        padded=padded,
        skipped=skipped,
        sha256=sha256,
        datagrams=encode(gaps_ns, [size for _, size in times_and_sizes]),
    )


def read_traces(reader: Reader, factors: Factors, templates: Sequence[WorkloadTemplate]) -> dict[str, Trace]:
    """The captures that workloads name, by their names. Each is read once, and what is wrong with it is noted."""
    return read_named_files(reader, factors, templates, TRACE, read_trace, CaptureError)


def _payload_bytes(record: Record) -> int | None:
    """The payload of a UDP datagram of the same length with the same IP header; None if the packet is not IP."""
    start = ip_start(record)
    packet = record.data[start:] if start is not None else b""
    whole_bytes = record.original_bytes - (start or 0)
    if len(packet) >= 20 and packet[0] >> 4 == 4:
        # A length of 0 is a segment before segmentation offload.
        length = struct.unpack("!H", packet[2:4])[0] or whole_bytes
        return max(0, length - 4 * (packet[0] & 0xF) - UDP_BYTES)
    if len(packet) >= IPV6_BYTES and packet[0] >> 4 == 6:
        payload_bytes = struct.unpack("!H", packet[4:6])[0] or whole_bytes - IPV6_BYTES
        return max(0, payload_bytes - UDP_BYTES)
    return None
