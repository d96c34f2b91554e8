"""Properties of every datagram on every line of links."""

from __future__ import annotations

import pytest
from fragments_lab import Profile
from hypothesis import given, settings
from hypothesis import strategies as st

from sixbench.model.topology import Family
from sixbench.theory import POLICIES, Policy, predict
from sixbench.theory.pieces import Piece, forward, header_of, is_complete, originate, payload_of

pytestmark = pytest.mark.computes

SIZES = st.integers(32, 65507)
POLICY = st.sampled_from([policy for policy in POLICIES if policy != "atomic"])
ROUTERS = st.sampled_from([{}, {"masquerade": True}])


def carried_bytes(pieces: list[Piece]) -> int:
    return max(piece.offset_bytes + piece.payload_bytes for piece in pieces)


@given(st.integers(1, 65515), st.integers(68, 9000), st.lists(st.integers(68, 9000), max_size=6))
def test_routers_lose_no_byte_and_no_order(payload_bytes: int, mtu_bytes: int, mtus: list[int]) -> None:
    pieces = originate(payload_bytes, 4, "clear", mtu_bytes, None)
    for mtu in mtus:
        pieces = [part for piece in pieces for part in forward(piece, 4, mtu)]
        assert all(piece.size_bytes(4) <= mtu for piece in pieces)
    assert is_complete(pieces)
    assert payload_of(pieces) == payload_bytes == carried_bytes(pieces)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1280, 2000), min_size=1, max_size=6), SIZES, st.sampled_from([4, 6]), POLICY, ROUTERS)
def test_no_link_carries_more_than_its_mtu_and_what_arrives_is_all(
    mtus: list[int], size_bytes: int, family: Family, policy: Policy, router: dict[str, bool]
) -> None:
    routers = {f"r{number}": router for number in range(1, len(mtus))}
    network = Profile(mtus=tuple(mtus), mechanism=f"native{family}", settings=routers).network()
    prediction = predict(network, size_bytes, policy)
    for attempt in prediction.attempts:
        for load in attempt.loads:
            assert max(load.sizes_bytes, default=0) <= load.crossing.link.mtu_bytes
    settled = prediction.settled
    if settled.outcome == "delivered":
        header = header_of(family)
        for load in settled.loads:
            headers_bytes = load.count * (header.size_bytes + (header.fragment_bytes if load.count > 1 else 0))
            assert load.total_bytes - headers_bytes == size_bytes + 8
    fits = size_bytes + 8 + header_of(family).size_bytes <= min(mtus)
    assert (prediction.lost_first == 0 and settled.outcome == "delivered") or not fits
    if policy in ("clear", "kernel"):
        assert settled.outcome == "delivered"
    if family == 4 and policy == "clear":
        assert prediction.lost_first == 0
    assert prediction.lost_first < len(mtus)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1280, 2000), min_size=1, max_size=6), st.integers(32, 2000), ROUTERS)
def test_an_atomic_fragment_is_one_packet_or_none(mtus: list[int], size_bytes: int, router: dict[str, bool]) -> None:
    routers = {f"r{number}": router for number in range(1, len(mtus))}
    network = Profile(mtus=tuple(mtus), mechanism="native6", settings=routers).network()
    prediction = predict(network, size_bytes, "atomic")
    whole_bytes = size_bytes + 8 + 40
    behind_bytes = whole_bytes if router else whole_bytes + 8
    sizes = [load.sizes_bytes for load in prediction.settled.loads]
    if whole_bytes + 8 <= mtus[0] and behind_bytes <= min(mtus):
        assert prediction.lost_first == 0
        assert sizes == [(whole_bytes + 8,), *[(behind_bytes,)] * (len(mtus) - 1)]
    else:
        assert (prediction.settled.outcome, sizes) == ("refused", [()] * len(mtus))
    assert prediction.lost_first < len(mtus)
