"""Fragments: the server must count as many for each datagram as the RFCs foretell."""

from __future__ import annotations

from ...model.headers import UDP
from ...model.topology import Family
from ...theory.packets import fragments
from ...theory.pieces import header_of
from ..metric import CalibratedMetric, MatchReading, ReadingSource
from .path_mtu import narrow_links

DATAGRAM_BYTES = 8972
"""Payload of a datagram. The headers of UDP and IPv6 make it 9020 bytes, more than the widest of the links takes."""
COUNT = 100


def fragments_of(mtu_bytes: int, family: Family) -> int:
    """The number of packets of a datagram (RFC 791 section 3.2, RFC 8200 section 4.5)."""
    return fragments(DATAGRAM_BYTES + UDP.size_bytes, mtu_bytes, header_of(family)).count


def _read(trial: ReadingSource) -> MatchReading | None:
    evidence = trial.record.evidence.fragments
    if evidence is None or not evidence.delivered:
        return None
    delivered = evidence.delivered
    family: Family = 4 if trial.record.path == "ipv4" else 6
    each = fragments_of(int(trial.level.truth), family)
    collected = (evidence.nodes or {}).get("h2", {}).get(f"ipv{family}", {}).get("collected", 0)
    exact = collected == (each * delivered if each > 1 else 0)
    words = f"{collected} fragments of {delivered} datagrams, {each} each expected"
    value = max(1.0, collected / delivered)
    return MatchReading(measured=value, truth=float(each), difference=None if exact else words)


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
