"""What holds for every message, MTU and network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sixbench.model.headers import IPV4, IPV6, Header
from sixbench.theory import (
    Hop,
    message_packets,
    one_way_ns,
    stack_of,
    table,
    tcp_goodput_limit_bps,
    tcp_payload_bytes,
    udp_goodput_limit_bps,
    wire_bytes,
)
from sixbench.theory.packets import Packets, fragments
from sixbench.theory.stacks import Stack

pytestmark = pytest.mark.computes

HEADERS = st.sampled_from([IPV4, IPV6])
MTUS = st.integers(1280, 9216)
MECHANISMS = st.sampled_from(["native4", "native6"])
RATES = st.integers(10_000, 10**11)
TUNNEL: Stack = (IPV4, IPV6)


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
    hop = Hop(stack=stack_of(mechanism), mtu_bytes=mtu_bytes)
    [packets] = message_packets("tcp", message_bytes, [hop], mss_bytes)
    headers_bytes = hop.network_bytes + 20 + 12
    assert packets.total_bytes - packets.count * headers_bytes == message_bytes
    assert max(packets.sizes_bytes) <= mtu_bytes
    assert packets.count == -(-message_bytes // tcp_payload_bytes([hop], mss_bytes))


@given(MECHANISMS, MTUS, RATES)
def test_goodput_is_less_than_the_rate(mechanism: str, mtu_bytes: int, rate_bps: int) -> None:
    hop = Hop(stack=stack_of(mechanism), mtu_bytes=mtu_bytes, rate_bps=rate_bps)
    limit_bps = tcp_goodput_limit_bps([hop])
    assert limit_bps is not None
    assert 0.8 * rate_bps < limit_bps < rate_bps


@given(MECHANISMS, MTUS, RATES)
def test_goodput_rises_with_the_mtu(mechanism: str, mtu_bytes: int, rate_bps: int) -> None:
    limits_bps = [
        tcp_goodput_limit_bps([Hop(stack=stack_of(mechanism), mtu_bytes=mtu, rate_bps=rate_bps)]) or 0
        for mtu in (mtu_bytes, mtu_bytes + 1)
    ]
    assert limits_bps[0] < limits_bps[1]


@given(MTUS, RATES, st.integers(32, 65507))
def test_more_headers_never_carry_more(mtu_bytes: int, rate_bps: int, datagram_bytes: int) -> None:
    native4, native6, tunnel = (
        Hop(stack=stack, mtu_bytes=mtu_bytes, rate_bps=rate_bps) for stack in ((IPV4,), (IPV6,), TUNNEL)
    )
    for larger, smaller in ((native4, native6), (native6, tunnel)):
        assert (tcp_goodput_limit_bps([larger]) or 0) > (tcp_goodput_limit_bps([smaller]) or 0)
    assert (udp_goodput_limit_bps([native4], datagram_bytes) or 0) > (
        udp_goodput_limit_bps([native6], datagram_bytes) or 0
    )


@given(MECHANISMS, st.integers(1, 65507), st.lists(RATES, min_size=1, max_size=4))
def test_more_links_never_carry_more_and_never_take_less(
    mechanism: str, datagram_bytes: int, rates_bps: list[int]
) -> None:
    hops = [Hop(stack=stack_of(mechanism), rate_bps=rate) for rate in rates_bps]
    limit_bps = udp_goodput_limit_bps(hops, datagram_bytes)
    assert limit_bps == min(udp_goodput_limit_bps([hop], datagram_bytes) or 0 for hop in hops)
    whole_ns = one_way_ns(hops, "udp", datagram_bytes)
    assert whole_ns >= max(one_way_ns([hop], "udp", datagram_bytes) for hop in hops)


@given(st.lists(RATES, min_size=1, max_size=4), st.integers(1, 40_000), st.sampled_from(["tcp", "udp"]))
def test_waiting_is_what_storing_and_forwarding_packet_by_packet_makes(
    rates_bps: list[int], message_bytes: int, transport: str
) -> None:
    hops = [Hop(stack=TUNNEL, rate_bps=rate) for rate in rates_bps]
    of_links: list[Packets] = message_packets("tcp" if transport == "tcp" else "udp", message_bytes, hops)
    done_ns = [0.0] * of_links[0].count
    for hop, on_link in zip(hops, of_links, strict=True):
        free_ns = 0.0
        for index, size_bytes in enumerate(on_link.sizes_bytes):
            free_ns = max(free_ns, done_ns[index]) + wire_bytes(size_bytes) * 8e9 / (hop.rate_bps or 1)
            done_ns[index] = free_ns
    found_ns = one_way_ns(hops, "tcp" if transport == "tcp" else "udp", message_bytes)
    assert abs(found_ns - done_ns[-1]) <= 1e-9 * done_ns[-1]


@given(MECHANISMS, MTUS, st.integers(1, 65507), st.booleans())
def test_a_row_adds_up(mechanism: str, mtu_bytes: int, size_bytes: int, timestamps: bool) -> None:
    for row in table((mechanism,), ("tcp", "udp"), (size_bytes,), mtu_bytes, 10**8, timestamps=timestamps):
        padding_bytes = row.frame_bytes - row.payload_bytes - row.header_bytes - 4 * row.packets
        assert 0 <= padding_bytes <= 64 * row.packets
        assert row.wire_bytes == row.frame_bytes + 20 * row.packets
        assert 0 < row.efficiency_ratio < 1
