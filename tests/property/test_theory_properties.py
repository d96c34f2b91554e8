"""Properties of theory for every message, MTU and network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sixbench.model.headers import IPV4, IPV6, Header
from sixbench.theory import (
    CrossedLink,
    message_packets,
    stack_of,
    table,
    tcp_payload_bytes,
)
from sixbench.theory.packets import fragments

pytestmark = pytest.mark.computes

HEADERS = st.sampled_from([IPV4, IPV6])
MTUS = st.integers(1280, 9216)
MECHANISMS = st.sampled_from(["native4", "native6"])
RATES = st.integers(10_000, 10**11)


def limit_bps(mechanism: str, mtu_bytes: int, rate_bps: int, datagram_bytes: int | None = None) -> float:
    """That of TCP streams, or of such datagrams."""
    transport = "tcp" if datagram_bytes is None else "udp"
    [row] = table((mechanism,), (transport,), (datagram_bytes,), mtu_bytes, rate_bps)
    assert row.goodput_limit_bps is not None
    return row.goodput_limit_bps


@given(HEADERS, MTUS, st.integers(1, 65515))
def test_fragments_carry_the_datagram_and_no_more(header: Header, mtu_bytes: int, payload_bytes: int) -> None:
    packets = fragments(payload_bytes, mtu_bytes, header)
    headers_bytes = header.size_bytes + (header.fragment_bytes if packets.count > 1 else 0)
    assert sum(size - headers_bytes for size in packets.sizes_bytes) == payload_bytes
    assert all(headers_bytes < size <= mtu_bytes for size in packets.sizes_bytes)
    assert all((size - headers_bytes) % 8 == 0 for size in packets.sizes_bytes[:-1])


@given(HEADERS, MTUS, st.integers(1, 65515))
def test_a_datagram_is_only_fragmented_where_it_must_be(header: Header, mtu_bytes: int, payload_bytes: int) -> None:
    packets = fragments(payload_bytes, mtu_bytes, header)
    assert (packets.count == 1) == (header.size_bytes + payload_bytes <= mtu_bytes)


@given(st.integers(1, 2**20), MECHANISMS, MTUS, st.none() | st.integers(88, 65495))
def test_segments_carry_the_message_and_no_more(
    message_bytes: int, mechanism: str, mtu_bytes: int, mss_bytes: int | None
) -> None:
    hop = CrossedLink(stack=stack_of(mechanism), mtu_bytes=mtu_bytes)
    packets = message_packets("tcp", message_bytes, hop, mss_bytes)
    headers_bytes = hop.network_bytes + 20 + 12
    assert packets.total_bytes - packets.count * headers_bytes == message_bytes
    assert max(packets.sizes_bytes) <= mtu_bytes
    assert packets.count == -(-message_bytes // tcp_payload_bytes(hop, mss_bytes))


@given(MECHANISMS, MTUS, RATES)
def test_goodput_is_less_than_the_rate(mechanism: str, mtu_bytes: int, rate_bps: int) -> None:
    assert 0.8 * rate_bps < limit_bps(mechanism, mtu_bytes, rate_bps) < rate_bps


@given(MECHANISMS, MTUS, RATES)
def test_goodput_rises_with_the_mtu(mechanism: str, mtu_bytes: int, rate_bps: int) -> None:
    assert limit_bps(mechanism, mtu_bytes, rate_bps) < limit_bps(mechanism, mtu_bytes + 1, rate_bps)


@given(MTUS, RATES, st.integers(32, 65507))
def test_more_headers_never_carry_more(mtu_bytes: int, rate_bps: int, datagram_bytes: int) -> None:
    for larger, smaller in (("native4", "native6"), ("native6", "6in4")):
        assert limit_bps(larger, mtu_bytes, rate_bps) > limit_bps(smaller, mtu_bytes, rate_bps)
    over_ipv4, over_ipv6 = (limit_bps(name, mtu_bytes, rate_bps, datagram_bytes) for name in ("native4", "native6"))
    assert over_ipv4 > over_ipv6


@given(MECHANISMS, MTUS, st.integers(1, 65507), st.booleans())
def test_a_row_adds_up(mechanism: str, mtu_bytes: int, size_bytes: int, timestamps: bool) -> None:
    for row in table((mechanism,), ("tcp", "udp"), (size_bytes,), mtu_bytes, 10**8, timestamps=timestamps):
        padding_bytes = row.frame_bytes - row.payload_bytes - row.header_bytes - 4 * row.packets
        assert 0 <= padding_bytes <= 64 * row.packets
        assert row.wire_bytes == row.frame_bytes + 20 * row.packets
        assert 0 < row.efficiency_ratio < 1
