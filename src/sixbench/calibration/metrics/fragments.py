"""Fragments: the server must count as many for each datagram as the RFCs foretell."""

from __future__ import annotations

from math import ceil

from ..metric import CalibratedMetric, Match, Trial
from .path_mtu import narrow_links

DATAGRAM_BYTES = 8972
"""With the headers of UDP and IPv6 it has 9020 bytes, more than the widest of the links takes."""
UDP_BYTES = 8
HEADER_BYTES = {4: 20, 6: 40}
FRAGMENT_HEADER_BYTES = 8

COUNT = 100


def fragments_of(mtu_bytes: int, family: int) -> int:
    """The number of packets of a datagram by RFC 791 section 3.2 and RFC 8200 section 4.5: all fragments but the last
    carry a multiple of 8 bytes."""
    payload = DATAGRAM_BYTES + UDP_BYTES
    if HEADER_BYTES[family] + payload <= mtu_bytes:
        return 1
    room = mtu_bytes - HEADER_BYTES[family] - (FRAGMENT_HEADER_BYTES if family == 6 else 0)
    return ceil(payload / (room // 8 * 8))


def _read(trial: Trial) -> Match | None:
    evidence = trial.record.evidence.fragments
    if evidence is None or not evidence.delivered:
        return None
    delivered = evidence.delivered
    family = 4 if trial.record.path == "ipv4" else 6
    each = fragments_of(int(trial.level.truth), family)
    collected = (evidence.nodes or {}).get("h2", {}).get(f"ipv{family}", {}).get("collected", 0)
    exact = collected == (each * delivered if each > 1 else 0)
    words = f"{collected} fragments of {delivered} datagrams, {each} each expected"
    found = max(1.0, collected / delivered)
    return Match(measured=found, truth=float(each), difference=None if exact else words)


FRAGMENTS = CalibratedMetric(
    name="fragments",
    label="Fragments of a datagram",
    column="path_mtu_bytes",
    workload="udp-stream",
    metrics=(),
    levels=narrow_links({"udp-stream": {"datagram": f"{DATAGRAM_BYTES}B", "packet-rate": "1000pps", "count": COUNT}}),
    scale="absolute",
    is_number=True,
    read=_read,
    note="A trial is exact if the server counts the fragments into which each datagram is cut",
)
