"""The frame sizes of each profile, and what a line carries of them."""

from __future__ import annotations

from dataclasses import replace

from ..mechanisms import legs_of
from ..model.headers import ETHERNET, FCS_BYTES, HEADERS
from ..model.leg import Crossing
from ..model.network import Network
from ..model.topology import Family

_OF_8219 = (64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216)

SIZES: dict[str, tuple[int, ...]] = {
    "2544": (64, 128, 256, 512, 1024, 1280, 1518),
    "5180": (64, 128, 256, 512, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216),
    "8219": _OF_8219,
    "9693": _OF_8219,
}
"""RFC 2544 section 9.1, RFC 5180 section 5.1.1, RFC 8219 section 5.1.1, which RFC 9693 takes."""

LEAST_OVER_IPV6 = 84
"""Size in place of 64 where IPv6 comes in (RFC 8219 section 5.1.1)."""

FRAME_BYTES = ETHERNET.size_bytes + FCS_BYTES
"""The bytes of a frame beside its packet."""


def sizes_of(profile: str, with_ipv6: bool) -> tuple[int, ...]:
    """The sizes of a profile. `with_ipv6`: frames carry IPv6 somewhere, so that all paths have sizes that all can."""
    if not with_ipv6:
        return SIZES[profile]
    return tuple(max(size, LEAST_OVER_IPV6) for size in SIZES[profile])


def line_pps(network: Network, frame_bytes: int, native_ratio: float = 0.0) -> float | None:
    """The frames/s in each direction that the slowest line of a way carries; None where none has a rate. On each line a
    frame has the overhead of the mechanism there: rate / (8 (X + O + 20)) (RFC 8219 section 5.1 and appendix A), where
    the line counts as Ethernet does.

    Args:
        native_ratio: the share of the frames that go natively, over the other family, without the overhead. They count
            with their own size on the lines that they cross.
    """
    shares = [(1 - native_ratio, crossing) for crossing in network.crossings]
    if native_ratio:
        other: Family = 6 if network.family == 4 else 4
        legs = legs_of(network.topology, network.between, other)
        shares += [(native_ratio, crossing) for crossing in replace(network, legs=legs).crossings]
    taken_bytes: dict[tuple[str, str], float] = {}
    rates_bps: dict[tuple[str, str], int] = {}
    for share, crossing in shares:
        packet_bytes = frame_bytes - FRAME_BYTES + _overhead_bytes(network, crossing)
        for node in (crossing.near, crossing.far):
            direction = crossing.link.direction_from(node)
            if direction.rate_bps is not None:
                key = crossing.link.name, node
                rates_bps[key] = direction.rate_bps
                taken_bytes[key] = taken_bytes.get(key, 0.0) + share * direction.framing.wire_bytes(packet_bytes)
    return min((rate_bps / (8 * taken_bytes[key]) for key, rate_bps in rates_bps.items()), default=None)


def overhead_bytes(network: Network) -> int:
    """The most by which the mechanism lengthens a frame on its way: O of RFC 8219. 0: nowhere."""
    return max(0, *(_overhead_bytes(network, crossing) for crossing in network.crossings))


def _overhead_bytes(network: Network, crossing: Crossing) -> int:
    own_ip = HEADERS[f"ipv{network.family}"].size_bytes
    return sum(HEADERS[name].size_bytes for name in crossing.headers) - own_ip
