"""Fragments: what each datagram arrives in, as the server counts it, must be what the RFCs foretell."""

from __future__ import annotations

from math import ceil

from ..metric import CalibratedMetric, Level, Match, Trial
from .path_mtu import FIRST_LINK_MTU, MTUS, QUICK, TUNNEL_HEADER_BYTES

DATAGRAM_BYTES = 8972
"""With UDP's and IPv6's headers 9020: more than the widest of the links."""
UDP_BYTES = 8
HEADER_BYTES = {4: 20, 6: 40}
FRAGMENT_HEADER_BYTES = 8

COUNT = 100


def fragments_of(mtu_bytes: int, family: int) -> int:
    """So many packets is a datagram, written out from RFC 791 section 3.2 and RFC 8200 section 4.5: all fragments but
    the last carry a multiple of 8 bytes."""
    payload = DATAGRAM_BYTES + UDP_BYTES
    if HEADER_BYTES[family] + payload <= mtu_bytes:
        return 1
    room = mtu_bytes - HEADER_BYTES[family] - (FRAGMENT_HEADER_BYTES if family == 6 else 0)
    return ceil(payload / (room // 8 * 8))


def _read(trial: Trial) -> Match | None:
    evidence = trial.record.evidence.get("fragments") or {}
    delivered = evidence.get("delivered")
    if not delivered:
        return None
    family = 4 if trial.record.path == "ipv4" else 6
    each = fragments_of(int(trial.level.truth), family)
    collected = evidence["nodes"].get("h2", {}).get(f"ipv{family}", {}).get("collected", 0)
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
    levels=tuple(
        Level(
            truth=float(mtu),
            link={"mtu": mtu},
            tunnel_link={"mtu": mtu + TUNNEL_HEADER_BYTES},
            first_link={"mtu": FIRST_LINK_MTU},
            workload={"udp-stream": {"datagram": f"{DATAGRAM_BYTES}B", "packet-rate": "1000pps", "count": COUNT}},
            is_quick=mtu in QUICK,
        )
        for mtu in MTUS
    ),
    scale="absolute",
    is_number=True,
    read=_read,
    note="exact where the server counts the fragments that each datagram is cut into",
)
