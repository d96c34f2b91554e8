"""Theory against numbers worked out by hand, and against packets that Linux was seen to send."""

from __future__ import annotations

from pathlib import Path as File
from typing import Literal

import pytest
from chain_networks import network

from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.direction import LinkDirection
from sixbench.model.emulation import ChosenPackets, GilbertElliott, Impairments
from sixbench.model.headers import HEADERS
from sixbench.model.network import Network
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path
from sixbench.theory import (
    CrossedLink,
    expected,
    frame_bytes,
    message_packets,
    path_mtu,
    predict,
    raicu_table_1,
    stack_of,
    table,
    tcp_payload_bytes,
    wire_bytes,
)

pytestmark = pytest.mark.computes

MBIT = 1_000_000
IPV4_PATH = Path(name="ipv4", mechanism="native4", family=4)
IPV6_PATH = Path(name="ipv6", mechanism="native6", family=6)


def hop(mechanism: str, rate_bps: int | None = 100 * MBIT, mtu_bytes: int = 1500) -> CrossedLink:
    return CrossedLink(stack=stack_of(mechanism), mtu_bytes=mtu_bytes, rate_bps=rate_bps)


def theory(kind: str, params: dict[str, int | str], path: Path, *links: dict[str, object]) -> dict[str, float]:
    return expected(kind, params, path, network(*links), ("n0", f"n{len(links)}"))


def installed(path: Path, *links: dict[str, object]) -> Network:
    return install(path, network(*links), ("n0", f"n{len(links)}"))


def outer_sizes(built: Network) -> list[int]:
    """The bytes of the headers of tunnels on each link."""
    return [sum(HEADERS[name].size_bytes for name in crossing.headers[:-1]) for crossing in built.crossings]


def test_a_full_packet_is_a_frame_of_1518_and_1538_on_the_wire() -> None:
    assert (frame_bytes(1500), wire_bytes(1500)) == (1518, 1538)


def test_a_short_packet_is_padded_to_64_and_takes_84_on_the_wire() -> None:
    assert (frame_bytes(28), wire_bytes(28)) == (64, 84)
    assert (frame_bytes(46), frame_bytes(47)) == (64, 65)


@pytest.mark.parametrize(("mechanism", "goodput_mbps"), [("native4", 94.15), ("native6", 92.85)])
def test_tcp_goodput_at_100_mbit_with_timestamps(mechanism: str, goodput_mbps: float) -> None:
    [row] = table((mechanism,), ("tcp",), rate_bps=100 * MBIT)
    assert row.goodput_limit_bps is not None
    assert round(row.goodput_limit_bps / MBIT, 2) == goodput_mbps


def test_tcp_maxseg_counts_the_options() -> None:
    # TCP_MAXSEG 128: 116 bytes of data, 20 + 32 of headers, 38 of Ethernet: 116 / 206 of 1 Gbit/s.
    assert tcp_payload_bytes(hop("native4"), 128) == 116
    [row] = table(("native4",), ("tcp",), rate_bps=1000 * MBIT, mss_bytes=128)
    assert row.goodput_limit_bps == pytest.approx(1e9 * 116 / 206)


def test_a_large_mss_is_bounded_by_the_mtu() -> None:
    assert tcp_payload_bytes(hop("native6"), 9000) == 1500 - 40 - 20 - 12


def test_no_room_for_data_is_an_error() -> None:
    with pytest.raises(ValueError, match="leave no room for data"):
        tcp_payload_bytes(hop("native4", mtu_bytes=52))


@pytest.mark.parametrize(
    ("mechanism", "mtu_bytes", "datagram_bytes", "packets"),
    [
        ("native4", 1500, 1472, [1500]),
        ("native4", 1500, 1473, [1500, 21]),
        ("native4", 1500, 2952, [1500, 1500]),
        ("native4", 1500, 2953, [1500, 1500, 21]),
        ("native4", 1499, 1472, [1492, 28]),
        ("native4", 1499, 2949, [1492, 1492, 33]),
        ("native4", 1503, 2953, [1500, 1501]),
        ("native6", 1500, 1452, [1500]),
        ("native6", 1500, 1453, [1496, 61]),
        ("native6", 1500, 2888, [1496, 1496]),
        ("native6", 1500, 2889, [1496, 1496, 49]),
        ("native6", 1503, 1453, [1501]),
        ("native6", 1503, 2893, [1496, 1496, 53]),
        ("native6", 1500, 4000, [1496, 1496, 1160]),
    ],
)
def test_fragments_as_linux_sends_them(mechanism: str, mtu_bytes: int, datagram_bytes: int, packets: list[int]) -> None:
    """Each of these was captured from Linux 6.18."""
    on_link = message_packets("udp", datagram_bytes, hop(mechanism, mtu_bytes=mtu_bytes))
    assert on_link.sizes_bytes == packets


def test_the_largest_datagrams() -> None:
    assert message_packets("udp", 65507, hop("native4")).count == 45
    assert message_packets("udp", 65527, hop("native6")).count == 46
    with pytest.raises(ValueError, match="at most 65515"):
        message_packets("udp", 65508, hop("native4"))


def test_udp_goodput_of_fragmented_datagrams() -> None:
    # 2000 bytes: IPv4 1500 + 548 -> 1538 + 586 on the wire; IPv6 1496 + 608 -> 1534 + 646.
    over_ipv4, over_ipv6 = table(transports=("udp",), sizes_bytes=(2000,), rate_bps=100 * MBIT)
    assert over_ipv4.goodput_limit_bps == pytest.approx(100 * MBIT * 2000 / 2124)
    assert over_ipv6.goodput_limit_bps == pytest.approx(100 * MBIT * 2000 / 2180)


def test_datagrams_per_second() -> None:
    # RFC 2544: 148,809 frames of 64 bytes a second at 100 Mbit/s; 18 bytes of UDP payload fill one over IPv4.
    actual_theory = theory("udp-stream", {"datagram_bytes": 18}, IPV4_PATH, {"rate_bps": 100 * MBIT})
    assert int(actual_theory["packets_rate_pps"]) == 148_809


def test_the_slowest_link_is_the_limit() -> None:
    fast, slow = {"rate_bps": 10**9}, {"rate_bps": 10 * MBIT}
    alone = theory("tcp-stream", {}, IPV4_PATH, {**slow})
    assert theory("tcp-stream", {}, IPV4_PATH, {**fast}, {**slow}, {}) == alone != {}
    [row] = table(("native4",), ("tcp",))
    assert row.goodput_limit_bps is None


def test_table_1_of_raicu_as_printed() -> None:
    assert [
        (
            *(column.payload_bytes, column.transport_header_bytes, column.ip_payload_bytes, column.ip_header_bytes),
            *(column.ethernet_header_bytes, column.total_bytes, f"{100 * column.overhead_ratio:.2f}"),
        )
        for column in raicu_table_1()
    ] == [
        (1460, 20, 1480, 20, 14, 1514, "3.70"),
        (1440, 20, 1460, 40, 14, 1514, "5.14"),
        (1472, 8, 1480, 20, 14, 1514, "2.85"),
        (1452, 8, 1460, 40, 14, 1514, "4.27"),
    ]


def test_table_rows_count_every_packet() -> None:
    small, large = table(("native4",), ("tcp",), (64, 65536), rate_bps=100 * MBIT)
    assert (small.packets, small.header_bytes, small.frame_bytes, small.wire_bytes) == (1, 66, 134, 154)
    # 45 segments of 1448 bytes, and one of 376.
    assert (large.packets, large.header_bytes, large.wire_bytes) == (46, 46 * 66, 65536 + 46 * (66 + 24))
    assert large.goodput_limit_bps == pytest.approx(100 * MBIT * large.efficiency_ratio)


def test_table_of_an_unknown_mechanism_names_the_known() -> None:
    with pytest.raises(ValueError, match=r'"6to5" are not known; known are native4, native6'):
        table(("6to5",))


def test_an_empty_message_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        table(sizes_bytes=(0,))


def test_each_direction_has_its_own_limit() -> None:
    access: dict[str, object] = {"directions": (LinkDirection(rate_bps=10 * MBIT), LinkDirection(rate_bps=100 * MBIT))}
    up, down = (
        theory("tcp-stream", {"direction": direction}, IPV4_PATH, access, access)
        for direction in ("forward", "reverse")
    )
    assert up == {"goodput_bps": pytest.approx(1e7 * 1448 / 1538)}
    assert down == {"goodput_bps": pytest.approx(1e8 * 1448 / 1538)}


def test_expected_goodput_of_a_tcp_stream() -> None:
    link: dict[str, object] = {"rate_bps": 100 * MBIT}
    assert theory("tcp-stream", {}, IPV4_PATH, link, link) == {"goodput_bps": pytest.approx(1e8 * 1448 / 1538)}
    assert theory("tcp-stream", {"direction": "reverse"}, IPV6_PATH, link)["goodput_bps"] == pytest.approx(
        1e8 * 1428 / 1538
    )
    assert theory("tcp-stream", {"mss_bytes": 1408}, IPV6_PATH, link)["goodput_bps"] == pytest.approx(1e8 * 1396 / 1506)


def test_a_vlan_costs_its_tag_on_the_wire_and_leaves_the_mtu() -> None:
    assert (frame_bytes(1500, 4), wire_bytes(1500, 4)) == (1522, 1542)
    assert (frame_bytes(28, 4), wire_bytes(28, 4)) == (64, 84)  # a tagged frame is no shorter, and no longer (802.3)
    assert wire_bytes(46, 4) == 88
    plain: dict[str, object] = {"rate_bps": 100 * MBIT}
    tagged = plain | {"over": "cable", "vlan_id": 100}
    assert theory("tcp-stream", {}, IPV4_PATH, plain, tagged) == {"goodput_bps": pytest.approx(1e8 * 1448 / 1542)}
    sent = theory("udp-stream", {"datagram_bytes": 1472}, IPV4_PATH, tagged)
    assert sent["goodput_bps"] == pytest.approx(1e8 * 1472 / 1542)
    network = installed(IPV4_PATH, tagged)
    assert path_mtu(network) == 1500
    [load], [other] = (predict(item, 1473).settled.loads for item in (network, installed(IPV4_PATH, plain)))
    # Of two fragments the second one is padded, where the tag takes the padding's place.
    assert (load.count, load.wire_bytes - other.wire_bytes) == (2, 4)


@pytest.mark.parametrize("kind", ["tcp-rr", "udp-rr", "tcp-connect", "tcp-crr", "ping"])
def test_nothing_is_expected_of_round_trips(kind: str) -> None:
    assert theory(kind, {"message_bytes": 64}, IPV4_PATH, {"rate_bps": 100 * MBIT}) == {}


def test_nothing_is_expected_where_it_would_not_be_exact() -> None:
    slow: dict[str, object] = {"rate_bps": 100 * MBIT}
    assert theory("tcp-stream", {"direction": "both"}, IPV4_PATH, slow) == {}
    assert theory("tcp-stream", {}, IPV4_PATH, {}) == {}
    assert theory("tcp-stream", {}, IPV4_PATH, {"rate_bps": 100 * MBIT, "offload": True}) == {}
    # Super-packets of the link without a rate come to the slow one; the other way round they do not.
    assert theory("tcp-stream", {}, IPV4_PATH, {}, slow) == {}
    assert theory("tcp-stream", {}, IPV4_PATH, slow, {}) != {}
    assert theory("tcp-stream", {"direction": "reverse"}, IPV4_PATH, {}, slow) != {}


def test_expected_goodput_of_udp_is_what_is_offered_or_what_fits() -> None:
    link: dict[str, object] = {"rate_bps": 100 * MBIT}
    assert theory("udp-stream", {"datagram_bytes": 1000, "rate_bps": 50 * MBIT}, IPV4_PATH, link) == {
        "goodput_bps": 50 * MBIT,
        "packets_rate_pps": 6250,
    }
    offered = theory("udp-stream", {"datagram_bytes": 1000, "rate_pps": 20_000}, IPV6_PATH, link)
    assert offered["goodput_bps"] == pytest.approx(1e8 * 1000 / 1086)
    assert theory("udp-stream", {"datagram_bytes": 1000, "rate_pps": 1000}, IPV4_PATH, {})["goodput_bps"] == 8 * MBIT
    assert theory("udp-stream", {"datagram_bytes": 1000}, IPV4_PATH, {}) == {}


def test_fragments_over_different_mtus() -> None:
    links: list[dict[str, object]] = [
        {"rate_bps": 100 * MBIT},
        {"rate_bps": 100 * MBIT, "mtu_bytes": 1300},
    ]
    # Cut at its source, which may know the path MTU: three of 1300, and 188; 38 more each on the wire.
    assert theory("udp-stream", {"datagram_bytes": 4000}, IPV4_PATH, *links)["goodput_bps"] == pytest.approx(
        1e8 * 4000 / (3 * (1300 + 38) + 188 + 38)
    )
    assert theory("udp-stream", {"datagram_bytes": 1200}, IPV4_PATH, *links) != {}
    assert theory("udp-stream", {"datagram_bytes": 4000}, IPV6_PATH, *links)["goodput_bps"] == pytest.approx(
        # 4008 bytes in fragments of 1248: three full of 1296, and 264 + 48; 38 more each on the wire.
        1e8 * 4000 / (3 * (1296 + 38) + 312 + 38)
    )


def tunnel(mechanism: str, nodes: tuple[str, ...], family: Literal[4, 6] = 6, **options: Scalar) -> Path:
    return Path(name="tunnel", mechanism=mechanism, family=family, nodes=nodes, options=options)


def test_a_tunnel_changes_only_the_links_between_its_ends() -> None:
    path = tunnel("6in4", ("n2", "n1"))
    links: list[dict[str, object]] = [{"rate_bps": 100 * MBIT}] * 3
    network = installed(path, *links)
    assert outer_sizes(network) == [0, 20, 0]
    assert path_mtu(network) == 1480
    # 1480 - 40 - 20 - 12 = 1408 bytes of data in every packet, 1500 bytes long in the tunnel.
    assert theory("tcp-stream", {}, path, *links)["goodput_bps"] == pytest.approx(1e8 * 1408 / 1538)
    # UDP fragments are cut to the tunnel's MTU: 1432 bytes in each of 1480, in 1500 of IPv4.
    assert [load.sizes_bytes for load in predict(network, 2000).settled.loads] == [
        (1480, 624),
        (1500, 644),
        (1480, 624),
    ]
    assert table(("6in4",), ("udp",))[0].header_bytes == 14 + 20 + 40 + 8


@pytest.mark.parametrize(
    ("path", "outer_bytes", "data_bytes"),
    [
        (tunnel("6in4", ("n0", "n3")), [20, 20, 20], 1408),
        (tunnel("6over4", ("n0", "n3")), [20, 20, 20], 1408),
        (tunnel("6to4", ("n1", "n2"), mtu=1280), [0, 20, 0], 1208),
        (tunnel("6rd", ("n1", "n2")), [0, 20, 0], 1408),
        (tunnel("isatap", ("n0", "n2")), [20, 20, 0], 1408),
        (tunnel("teredo", ("n0", "n2")), [28, 28, 0], 1208),
        (tunnel("4in6", ("n1", "n2"), 4), [0, 40, 0], 1408),
        (tunnel("ds-lite", ("n1", "n2"), 4), [0, 40, 0], 1408),
        (tunnel("gre", ("n1", "n2")), [0, 24, 0], 1404),
        (tunnel("gre", ("n1", "n2"), key=7), [0, 28, 0], 1400),
        (tunnel("gre", ("n1", "n2"), 4, inner="ipv4", outer="ipv6"), [0, 44, 0], 1404),
        (tunnel("vxlan", ("n1", "n2")), [0, 50, 0], 1378),
        (Path(name="dual", mechanism="dual-stack", family=6), [0, 0, 0], 1428),
    ],
    ids=lambda value: value.mechanism if isinstance(value, Path) else None,
)
def test_what_each_mechanism_costs(path: Path, outer_bytes: list[int], data_bytes: int) -> None:
    """Computed by hand: an MTU of 1500 without the outer headers, the inner one and 32 bytes of TCP; 38 more on the
    wire."""
    links: list[dict[str, object]] = [{"rate_bps": 100 * MBIT}] * 3
    assert outer_sizes(installed(path, *links)) == outer_bytes
    inner_bytes = 20 if path.family == 4 else 40
    largest_bytes = data_bytes + 32 + inner_bytes + max(outer_bytes)
    assert theory("tcp-stream", {}, path, *links)["goodput_bps"] == pytest.approx(
        1e8 * data_bytes / (largest_bytes + 38)
    )


DOCUMENT = (File(__file__).parents[2] / "docs/theory.md").read_text()


@pytest.mark.parametrize(
    ("words", "mechanism", "options"),
    [
        ("`6in4`, `6over4`, `6to4`, `6rd`, `isatap`, `tunnel-broker`", name, {})
        for name in ("6in4", "6over4", "6to4", "6rd", "isatap", "tunnel-broker")
    ]
    + [
        ("`teredo`", "teredo", {}),
        ("`4in6`, `ds-lite`, `lw4o6`, `map-e`, `dstm`", "4in6", {}),
        ("`4in6`, `ds-lite`, `lw4o6`, `map-e`, `dstm`", "ds-lite", {}),
        ("`4in6`, `ds-lite`, `lw4o6`, `map-e`, `dstm`", "map-e", {}),
        ("`gre` in IPv4; with a key (RFC 2890)", "gre", {}),
        ("`gre` in IPv4; with a key (RFC 2890)", "gre", {"key": 0}),
        ("`gre` in IPv6; with a key", "gre", {"inner": "ipv4", "outer": "ipv6"}),
        ("`gre` in IPv6; with a key", "gre", {"inner": "ipv4", "outer": "ipv6", "key": 0}),
        ("`vxlan` in IPv4", "vxlan", {}),
        ("`vxlan` in IPv6", "vxlan", {"inner": "ipv4", "outer": "ipv6"}),
    ],
)
def test_what_is_said_of_tunnels(words: str, mechanism: str, options: dict[str, Scalar]) -> None:
    [row] = [line for line in DOCUMENT.splitlines() if line.startswith(f"| {words} |")]
    sizes, rooms = ([int(word) for word in cell.split(";")] for cell in row.split("|")[3:5])
    kind = MECHANISMS[mechanism]
    nodes = ("n0", "n2") if mechanism in ("isatap", "teredo") else ("n1", "n2")
    network = installed(tunnel(mechanism, nodes, kind.family(options), **options), {}, {}, {})
    index = 1 if "key" in options else 0
    assert max(outer_sizes(network)) == sizes[index]
    assert path_mtu(network) == rooms[index]


@pytest.mark.parametrize(("mtu_bytes", "wire_bytes"), [(1480, 1538), (1481, 1538 + 84), (1500, 1538 + 84)])
def test_tunnels_whose_outer_packets_are_fragmented(mtu_bytes: int, wire_bytes: int) -> None:
    """From 1481 bytes on, the outer packet is two: all that fits in units of 8 bytes, and the rest, padded."""
    links: list[dict[str, object]] = [{"rate_bps": 100 * MBIT}] * 3
    path = tunnel("6in4", ("n1", "n2"), mtu=mtu_bytes)
    assert theory("tcp-stream", {}, path, *links)["goodput_bps"] == pytest.approx(1e8 * (mtu_bytes - 72) / wire_bytes)


def test_a_tunnel_is_as_wide_as_the_narrowest_link_below_it() -> None:
    links: list[dict[str, object]] = [
        {"mtu_bytes": 9000},
        {"mtu_bytes": 9000},
        {"mtu_bytes": 1400},
        {"mtu_bytes": 9000},
    ]
    assert path_mtu(installed(tunnel("6in4", ("n1", "n3")), *links)) == 1380


@pytest.mark.parametrize(
    ("impairments", "has_theory"),
    [
        (Impairments(delay_ns=10_000_000), True),
        (Impairments(loss=ChosenPackets(packets=(3,))), True),
        (Impairments(loss=ChosenPackets(ratio=0.02)), False),
        (Impairments(loss=GilbertElliott(to_bad=0.001, to_good=0.2)), False),
        (Impairments(corrupt=ChosenPackets(ratio=0.01)), False),
    ],
)
def test_the_rate_of_a_link_is_no_theory_of_tcp_that_loses_packets_by_chance(
    impairments: Impairments, has_theory: bool
) -> None:
    lossy, clean = LinkDirection(rate_bps=100 * MBIT, impairments=impairments), LinkDirection(rate_bps=100 * MBIT)
    link: dict[str, object] = {"directions": (lossy, clean)}
    assert ("goodput_bps" in theory("tcp-stream", {}, IPV4_PATH, link)) is has_theory
    assert "goodput_bps" in theory("tcp-stream", {"direction": "reverse"}, IPV4_PATH, link)
    changed: dict[str, object] = {"directions": (clean, clean), "changes": ((lossy, clean),)}
    assert ("goodput_bps" in theory("tcp-stream", {}, IPV4_PATH, changed)) is has_theory
    assert "goodput_bps" in theory("udp-stream", {"datagram_bytes": 1000}, IPV4_PATH, link)
