"""Theory of applications: round trips, bytes of messages, and goodput of QUIC, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from chain_networks import network

from sixbench.model.direction import LinkDirection
from sixbench.model.emulation import ChosenPackets, Impairments
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path
from sixbench.model.recorded_page import PageObject, RecordedPage
from sixbench.model.workloads import WORKLOADS
from sixbench.theory import expected

pytestmark = pytest.mark.computes

MBIT = 1_000_000
IPV4_PATH = Path(name="ipv4", mechanism="native4", family=4)
IPV6_PATH = Path(name="ipv6", mechanism="native6", family=6)
MS = 10**6
DELAYED = LinkDirection(rate_bps=10 * MBIT, impairments=Impairments(delay_ns=10 * MS))
LINK: dict[str, object] = {"directions": (DELAYED, DELAYED)}
RATELESS: dict[str, object] = {"directions": (replace(DELAYED, rate_bps=None), replace(DELAYED, rate_bps=None))}
TUNNEL = Path(name="tunnel", mechanism="6in4", family=6, nodes=("n1", "n2"))


def of(kind: str, params: dict[str, Scalar], path: Path = IPV4_PATH, *links: dict[str, object]) -> dict[str, float]:
    links = links or (LINK,)
    return expected(kind, params, path, network(*links), ("n0", f"n{len(links)}"))


Objects = list[tuple[int, int, int | None]]
"""The host and the body's length of each object, and the object that it waits for."""


def of_page(
    objects: Objects, params: dict[str, Scalar], path: Path = IPV4_PATH, *links: dict[str, object]
) -> dict[str, float]:
    page = RecordedPage(
        objects=tuple(PageObject(host=host, body_bytes=size, after=after) for host, size, after in objects),
        skipped=0,
        sha256="",
    )
    pages = {"page.har": page}
    links = links or (LINK,)
    return expected("http", {"page": "page.har", **params}, path, network(*links), ("n0", f"n{len(links)}"), pages)


def impaired(**impairments: object) -> dict[str, object]:
    delayed = replace(DELAYED, impairments=replace(DELAYED.impairments, **impairments))  # type: ignore[arg-type]
    return {"directions": (delayed, DELAYED)}


@pytest.mark.parametrize("path", [IPV4_PATH, IPV6_PATH])
@pytest.mark.parametrize(
    ("kind", "params", "round_trips"),
    [
        ("tls", {}, {"connect": 1, "handshake": 1, "transaction": 2}),
        ("tls", {"session": "resumed", "early_data": True}, {"handshake": 1, "first_byte": 2}),
        ("quic-connect", {}, {"handshake": 1, "first_byte": 2}),
        ("quic-connect", {"session": "resumed"}, {"handshake": 1, "first_byte": 2}),
        ("quic-connect", {"session": "0-rtt"}, {"handshake": 1, "first_byte": 1}),
        ("quic-connect", {"retry": True}, {"handshake": 2, "first_byte": 3}),
        # The server may send 3600 bytes to an address that is not validated.
        ("quic-connect", {"chain_bytes": 5120}, {"handshake": 2, "first_byte": 3}),
        ("quic-connect", {"chain_bytes": 5120, "retry": True}, {"handshake": 2, "first_byte": 3}),
        ("dns", {"over": "udp"}, {"session": None, "response": 1, "transaction": 1}),
        ("dns", {"over": "udp", "answer_bytes": 2000}, {"response": 3, "transaction": 3}),
        ("dns", {"over": "tcp"}, {"session": 1, "response": 1, "transaction": 2}),
        ("dns", {"over": "tls"}, {"session": 2, "response": 1, "transaction": 3}),
        ("dns", {"over": "https"}, {"session": 2, "response": 1, "transaction": 3}),
        ("dns", {"over": "quic"}, {"session": 1, "response": 1, "transaction": 2}),
        ("dns", {"over": "quic", "connection": "kept"}, {"session": None, "transaction": 1}),
        ("http", {}, {"connect": 1, "handshake": 1, "first_byte": 3, "object": 1, "page": 3}),
        ("http", {"tls": "none"}, {"connect": 1, "handshake": None, "first_byte": 2, "page": 2}),
        ("http", {"version": "2"}, {"connect": 1, "handshake": 1, "first_byte": 3, "page": 3}),
        ("http", {"version": "3"}, {"connect": None, "handshake": 1, "first_byte": 2, "page": 2}),
        ("http", {"version": "3", "connection": "kept"}, {"handshake": None, "first_byte": 1, "page": 1}),
        ("http", {"connection": "kept"}, {"connect": None, "handshake": None, "first_byte": 1, "page": 1}),
        # A connection of HTTP/1.1 carries one request at a time, one of HTTP/2 a hundred.
        ("http", {"objects": 60}, {"first_byte": 3, "page": 2 + 10}),
        ("http", {"objects": 61}, {"page": 2 + 11}),
        ("http", {"version": "2", "objects": 60}, {"page": 2 + 1}),
        ("http", {"version": "3", "objects": 60, "parallel": 7}, {"page": 1 + 9}),
        # Without the file nobody knows which objects it has.
        ("http", {"page": "page.har"}, {"first_byte": 3, "page": 3}),
    ],
)
def test_the_least_time_is_whole_round_trips(
    path: Path, kind: str, params: dict[str, Scalar], round_trips: dict[str, int | None]
) -> None:
    values = of(kind, params, path, RATELESS)
    times = {prefix: values.get(f"{prefix}_p50_ns") for prefix in round_trips}
    assert times == {prefix: None if count is None else 20 * MS * count for prefix, count in round_trips.items()}


CHAIN: Objects = [(0, 1000, None), (0, 1000, 0), (1, 1000, 1)]
"""A document, its script, and what the script gets of another host."""
GALLERY: Objects = [(0, 1000, None), *[(0, 1000, 0)] * 12]
"""A document and its twelve pictures."""


@pytest.mark.parametrize(
    ("objects", "params", "round_trips"),
    [
        # The first host's connection takes two round trips, and its two objects one each. The other host's connection
        # is opened then: two more, and one for its object.
        (CHAIN, {}, 2 + 1 + 1 + 2 + 1),
        (CHAIN, {"tls": "none"}, 1 + 1 + 1 + 1 + 1),
        (CHAIN, {"version": "2"}, 2 + 1 + 1 + 2 + 1),
        (CHAIN, {"version": "3"}, 1 + 1 + 1 + 1 + 1),
        (CHAIN, {"connection": "kept"}, 3),
        # The script of another host: its connection is opened after the document, while the first host's is idle.
        ([(0, 9, None), (1, 9, 0), (0, 9, 1)], {}, 2 + 1 + 2 + 1 + 1),
        # Connections of both hosts are opened at the start.
        ([(0, 9, None), (1, 9, None)], {}, 2 + 1),
        # The host's connection is opened for its first object, though that is listed last.
        ([(0, 9, None), (0, 9, 0), (1, 9, 1), (1, 9, None)], {}, 2 + 1 + 1 + 1),
        # The document is there after 3. Its connection brings pictures from then on, and five others from 5 on: after
        # 6 there are 3 + 5 of them, after 7 all.
        (GALLERY, {}, 7),
        (GALLERY, {"parallel": 1}, 2 + 13),
        # 3 + 1 after 6, and two more in each further round trip.
        (GALLERY, {"parallel": 2}, 10),
        (GALLERY, {"connection": "kept"}, 1 + 2),
        (GALLERY, {"version": "2"}, 2 + 1 + 1),
        (GALLERY, {"version": "3", "parallel": 5}, 1 + 1 + 3),
    ],
)
@pytest.mark.parametrize("path", [IPV4_PATH, IPV6_PATH])
def test_a_recorded_page_takes_the_round_trips_of_its_hosts_and_dependencies(
    path: Path, objects: Objects, params: dict[str, Scalar], round_trips: int
) -> None:
    values = of_page(objects, params, path, RATELESS)
    assert values["page_p50_ns"] == values["page_mean_ns"] == round_trips * 20 * MS
    assert values["object_p50_ns"] == 20 * MS


def test_a_recorded_page_of_equal_objects_is_the_page_of_so_many() -> None:
    for version in ("1.1", "2", "3"):
        for connection in ("new", "kept"):
            params: dict[str, Scalar] = {"version": version, "connection": connection}
            page = of("http", {**params, "objects": 61, "object_bytes": 700})
            assert of_page([(0, 700, None)] * 61, params) == page


def test_a_recorded_page_has_the_bytes_of_all_its_objects_and_hosts() -> None:
    page = of_page([(0, 1000, None), (1, 20000, 0)], CLEAR)
    # GET /1000 and GET /20000; the name of the second host is longer by `host1.`.
    asked = 20 + 40 + 2, 21 + 40 + 6 + 2
    answered = 17 + 22 + 37 + 2 + 1000, 17 + 23 + 37 + 2 + 20000
    assert (page["page_sent_bytes"], page["page_received_bytes"]) == (sum(asked), sum(answered))
    # The second answer takes 14 segments of at most 1448 bytes, each with TCP, IPv4 and Ethernet.
    assert page["wire_sent_bytes"] == sum(asked) + 2 * 90
    assert page["wire_received_bytes"] == sum(answered) + (1 + 14) * 90
    # Each host has a connection of its own, whose hello has its name.
    kept, new = (of_page([(0, 1000, None), (1, 20000, 0)], {"connection": use}) for use in ("kept", "new"))
    tls = of("tls", {})
    assert new["page_sent_bytes"] - kept["page_sent_bytes"] == 2 * tls["handshake_sent_bytes"] + 6
    assert new["page_received_bytes"] - kept["page_received_bytes"] == 2 * tls["handshake_received_bytes"]
    assert new["wire_received_bytes"] - kept["wire_received_bytes"] == 2 * tls["wire_received_bytes"]


def test_hosts_of_a_recorded_page_share_no_connection_by_http_2_and_3() -> None:
    together, apart = ([(0, 700, None), (host, 700, None)] for host in (0, 1))
    for version in ("2", "3"):
        new = [of_page(objects, {"version": version})["page_received_bytes"] for objects in (together, apart)]
        assert new[1] - new[0] > 1536
        params: dict[str, Scalar] = {"version": version, "connection": "kept"}
        kept = [of_page(objects, params)["page_received_bytes"] for objects in (together, apart)]
        assert kept[0] <= kept[1] < kept[0] + 100


# 100000 bytes with `HTTP/1.1 200 OK`, the length, the date and an empty line are 100080. Over IPv4 they are 69 segments
# of 1448 bytes and one of 168, with 90 of TCP, IPv4 and Ethernet each. The bucket is two frames of 1538 bytes, which
# the kernel counts as one frame of that length, with 38 - 14 more.
BUCKET_BYTES = 3100
ANSWER_BYTES = 100080 + 70 * 90
LARGE: dict[str, Scalar] = {"tls": "none", "connection": "kept", "object_bytes": 100_000}


def at_rate_ns(size_bytes: int, rate_bps: int = 10 * MBIT) -> int:
    return (size_bytes - BUCKET_BYTES) * 8 * 10**9 // rate_bps


@pytest.mark.parametrize(
    ("params", "path", "links", "page_ns"),
    [
        (LARGE, IPV4_PATH, (LINK,), 20 * MS + 82_624_000),
        # 70 segments of 1428 bytes and one of 120.
        (LARGE, IPV6_PATH, (LINK,), 20 * MS + 83_832_000),
        # On the link of the tunnel, 71 segments of 1408 bytes and one of 112, with IPv4 around them.
        (LARGE, TUNNEL, (LINK, LINK, LINK), 60 * MS + 85_072_000),
        ({**LARGE, "objects": 2}, IPV4_PATH, (LINK,), 20 * MS + at_rate_ns(2 * ANSWER_BYTES)),
        # A connection that carries one request at a time lets the bucket fill in between.
        ({**LARGE, "objects": 3, "parallel": 1}, IPV4_PATH, (LINK,), 3 * (20 * MS + 82_624_000)),
        # HTTP/2: 2 frames of data, that of the headers, 2 records of TLS; 13 segments and one of 1249 bytes.
        (
            {"version": "2", "object_bytes": 20_000},
            IPV4_PATH,
            (LINK,),
            60 * MS + at_rate_ns(20_000 + 3 * 9 + 2 + 2 * 22 + 14 * 90),
        ),
        # HTTP/3: 21 datagrams with 1424 bytes of a stream, and one of 107 bytes.
        (
            {"version": "3", "connection": "kept", "object_bytes": 30_000},
            IPV4_PATH,
            (LINK,),
            20 * MS + at_rate_ns(30_000 + 11 + 22 * (28 + 8 + 20 + 38)),
        ),
    ],
    ids=["ipv4", "ipv6", "6in4", "two objects", "one after another", "http 2", "http 3"],
)
def test_the_bytes_of_a_page_take_their_time_on_the_slowest_link(
    params: dict[str, Scalar], path: Path, links: tuple[dict[str, object], ...], page_ns: int
) -> None:
    values = of("http", params, path, *links)
    assert values["page_p50_ns"] == values["page_mean_ns"] == values["page_p99_ns"] == page_ns


def test_an_object_takes_the_time_of_its_own_bytes() -> None:
    for objects in (1, 60):
        assert of("http", {**LARGE, "objects": objects})["object_p50_ns"] == 20 * MS + 82_624_000
    sizes = of_page([(0, 100_000, None), (0, 9, None)], CLEAR)
    assert sizes["object_p50_ns"] == 20 * MS


def directions(forward_bps: int | None, reverse_bps: int | None, **settings: object) -> dict[str, object]:
    both = (replace(DELAYED, rate_bps=rate_bps, **settings) for rate_bps in (forward_bps, reverse_bps))  # type: ignore[arg-type]
    return {"directions": tuple(both)}


def test_answers_and_requests_each_cross_their_direction() -> None:
    # The rate of the other direction is of no account.
    for forward_bps in (None, 5 * MBIT):
        assert of("http", LARGE, IPV4_PATH, directions(forward_bps, 10 * MBIT)) == of("http", LARGE)
    slower = of("http", LARGE, IPV4_PATH, LINK, directions(None, 5 * MBIT))
    assert slower["page_p50_ns"] == 40 * MS + at_rate_ns(ANSWER_BYTES, 5 * MBIT)
    # 60 requests of 17 + 40 + 2 bytes at once.
    small: dict[str, Scalar] = {**LARGE, "object_bytes": 1, "objects": 60, "parallel": 60}
    requests = of("http", small, IPV4_PATH, directions(MBIT, None))
    assert requests["page_p50_ns"] == 20 * MS + at_rate_ns(60 * (59 + 90), MBIT)


def test_a_full_bucket_lets_its_bytes_pass_at_once() -> None:
    link = directions(10 * MBIT, 10 * MBIT, burst_bytes=60_000)
    # The kernel counts the bucket as a frame of that length, with 24 bytes more.
    assert of("http", LARGE, IPV4_PATH, link)["page_p50_ns"] == 20 * MS + (ANSWER_BYTES - 60_024) * 800
    assert of("http", {**LARGE, "object_bytes": 50_000}, IPV4_PATH, link)["page_p50_ns"] == 20 * MS


def test_super_packets_may_pass_a_link_in_less_time() -> None:
    # Links without a rate and without a delay have segmentation offload. Answers come from the other end.
    assert of("http", LARGE, IPV4_PATH, LINK, {})["page_p50_ns"] == 20 * MS
    assert of("http", LARGE, IPV4_PATH, {}, LINK)["page_p50_ns"] == 20 * MS + 82_624_000
    assert of("http", LARGE, IPV4_PATH, LINK, {"offload": False})["page_p50_ns"] == 20 * MS + 82_624_000


@pytest.mark.parametrize(
    ("objects", "params", "page_ns"),
    [
        # The script waits for all of the document, and its bytes for it.
        ([(0, 100_000, None), (0, 100_000, 0)], {}, 2 * (20 * MS + 82_624_000)),
        # The bytes of both begin to come a round trip after the document is there.
        (
            [(0, 1, None), (0, 100_000, 0), (1, 100_000, 0)],
            {},
            2 * 20 * MS + at_rate_ns(2 * ANSWER_BYTES),
        ),
        # The bytes of a host whose connection is opened later have less time.
        (
            [(0, 1, None), (1, 100_000, 0)],
            {"connection": "new"},
            (1 + 1 + 1 + 1) * 20 * MS + 82_624_000,
        ),
        # A connection has the two objects one after the other.
        ([(0, 100_000, None), (0, 1, None)], {"parallel": 1}, 2 * 20 * MS + 82_624_000),
        # Connections share the link. Neither can have an object of 100 kB before all bytes are there.
        (
            [(0, 100_000, None), (1, 100_000, None)],
            {},
            20 * MS + at_rate_ns(2 * ANSWER_BYTES),
        ),
    ],
    ids=["chain", "after the document", "another host", "one connection", "two hosts"],
)
def test_the_bytes_of_a_recorded_page_come_after_what_its_objects_wait_for(
    objects: Objects, params: dict[str, Scalar], page_ns: int
) -> None:
    assert of_page(objects, {**CLEAR, **params})["page_p50_ns"] == page_ns


def test_round_trips_add_up_over_all_links() -> None:
    assert of("tls", {}, IPV4_PATH, LINK, {}, LINK)["handshake_mean_ns"] == 40 * MS


@pytest.mark.parametrize(
    "link",
    [{}, impaired(jitter_ns=MS), impaired(delays_ns=(1, 2)), impaired(overtaking=ChosenPackets(ratio=0.1))],
    ids=["no delay", "jitter", "drawn", "overtaking"],
)
def test_a_path_whose_round_trip_is_not_known_has_no_times(link: dict[str, object]) -> None:
    assert not [column for column in of("quic-connect", {}, IPV4_PATH, link) if column.endswith("_ns")]


def test_all_values_are_of_metrics_that_the_workload_has() -> None:
    for kind in ("tls", "quic-connect", "quic-stream", "dns", "http"):
        assert of(kind, {}).keys() <= set(_columns(kind))


def _columns(kind: str) -> list[str]:
    from sixbench.model.metric import METRICS

    return [METRICS[name].column for name in WORKLOADS[kind].metrics]


def test_a_question_and_its_answer_are_as_long_as_dns_says() -> None:
    # 12 of header; 1 + 12, 1 + 16, 1 + 8, 1 + 4 and 1 of name; 4 of type and class; 11 of EDNS.
    assert of("dns", {"answer_bytes": 300}) | {
        "transaction_sent_bytes": 12 + 45 + 4 + 11,
        "transaction_received_bytes": 300,
    } == of("dns", {"answer_bytes": 300})
    assert of("dns", {"over": "tcp"})["transaction_sent_bytes"] == 72 + 2


def test_a_handshake_carries_its_certificates() -> None:
    short, long = (of("tls", {"chain_bytes": size})["handshake_received_bytes"] for size in (1536, 5120))
    assert long - short == 5120 - 1536
    assert of("tls", {"session": "resumed"})["handshake_received_bytes"] < 400
    assert of("quic-connect", {})["connection_sent_bytes"] > 1200


def test_a_transaction_has_the_headers_of_each_link() -> None:
    # A question of 72 bytes and an answer of 128 with UDP, IPv6 and 38 of Ethernet; IPv4 around it in the tunnel.
    plain = of("dns", {}, IPV6_PATH)
    assert (plain["wire_sent_bytes"], plain["wire_received_bytes"]) == (72 + 8 + 40 + 38, 128 + 8 + 40 + 38)
    tunnel = of("dns", {}, TUNNEL, LINK, LINK, LINK)
    assert {tunnel[column] - plain[column] for column in ("wire_sent_bytes", "wire_received_bytes")} == {20}


def test_a_transaction_over_tcp_has_the_segments_that_open_the_connection() -> None:
    values = [of("dns", {"over": "tcp", "connection": use}) for use in ("new", "kept")]
    sent, received = (values[0][column] - values[1][column] for column in ("wire_sent_bytes", "wire_received_bytes"))
    assert (sent, received) == (20 + 40 + 38 + 20 + 32 + 38, 20 + 40 + 38)
    # 5 KiB of certificates take 4 segments of 1448 bytes.
    tls = of("tls", {"chain_bytes": 5120})
    assert tls["wire_received_bytes"] == 98 + tls["handshake_received_bytes"] + 4 * 90


CLEAR: dict[str, Scalar] = {"tls": "none", "connection": "kept"}


def test_a_page_by_http_1_has_its_requests_and_answers() -> None:
    # GET /10240 HTTP/1.1, host: with a name of 30 bytes and a port, an empty line; 200 OK, length, date, an empty line.
    asked, answered = 21 + 40 + 2, 17 + 23 + 37 + 2 + 10240
    for objects in (1, 60):
        page = of("http", {**CLEAR, "objects": objects})
        assert page["page_sent_bytes"] == objects * asked
        assert page["page_received_bytes"] == objects * answered
        # Each answer takes 8 segments of at most 1448 bytes, with TCP, IPv4 and Ethernet.
        assert page["wire_sent_bytes"] == objects * (asked + 90)
        assert page["wire_received_bytes"] == objects * (answered + 8 * 90)


def test_tls_and_a_new_connection_are_in_the_bytes_of_a_page() -> None:
    clear, secured, new = of("http", CLEAR), of("http", {"connection": "kept"}), of("http", {})
    tls = of("tls", {})
    for end in ("sent", "received"):
        assert secured[f"page_{end}_bytes"] - clear[f"page_{end}_bytes"] == 22
        assert new[f"page_{end}_bytes"] - secured[f"page_{end}_bytes"] == tls[f"handshake_{end}_bytes"]
        assert new[f"wire_{end}_bytes"] - secured[f"wire_{end}_bytes"] == tls[f"wire_{end}_bytes"]
    # Connections are as many as are needed, which is one.
    assert (
        of("http", {"parallel": 1, "objects": 60})["page_received_bytes"]
        == (of("http", {"objects": 60})["page_received_bytes"])
    )


def test_a_page_by_http_2_has_frames_and_compressed_headers() -> None:
    page = of("http", {**CLEAR, "version": "2", "objects": 3, "object_bytes": 20000})
    assert page["page_sent_bytes"] == 3 * (9 + 4)
    # Headers, and two frames of data.
    assert page["page_received_bytes"] == 3 * (9 + 2 + 2 * 9 + 20000)


@pytest.mark.parametrize(
    ("path", "links", "datagram_bytes"),
    [(IPV4_PATH, (LINK,), 1452), (TUNNEL, (LINK, LINK, LINK), 1432)],
    ids=["ipv4", "6in4"],
)
def test_a_page_by_http_3_fills_the_datagrams_of_its_path(
    path: Path, links: tuple[dict[str, object], ...], datagram_bytes: int
) -> None:
    page = of("http", {"version": "3", "connection": "kept", "objects": 60, "object_bytes": 33000}, path, *links)
    answered = 60 * (4 + 2 + 1 + 4 + 33000)
    datagrams = -(-answered // (datagram_bytes - 28))
    headers_bytes = 8 + (20 if path is IPV4_PATH else 40 + 20) + 38
    assert page["wire_received_bytes"] == answered + datagrams * (28 + headers_bytes)
    assert page["page_received_bytes"] == answered + -(-answered // (1452 - 28)) * 28
    opened = of("http", {"version": "3", "objects": 60, "object_bytes": 33000}, path, *links)
    assert opened["page_sent_bytes"] - page["page_sent_bytes"] > 1200
    assert opened["page_received_bytes"] - page["page_received_bytes"] > 1536


def test_a_page_by_http_3_has_no_bytes_on_a_path_without_room_for_quic() -> None:
    values = of("http", {"version": "3", "connection": "kept"}, IPV4_PATH, {"mtu_bytes": 1200})
    assert not [column for column in values if column.startswith("wire_")]


@pytest.mark.parametrize(
    ("path", "links", "datagram_bytes", "wire_bytes"),
    [
        (IPV4_PATH, (LINK,), 1472, 1538),
        (IPV6_PATH, (LINK,), 1452, 1538),
        (TUNNEL, (LINK, LINK, LINK), 1432, 1538),
        (IPV4_PATH, ({"directions": (DELAYED, DELAYED), "mtu_bytes": 1400},), 1372, 1438),
    ],
    ids=["ipv4", "ipv6", "6in4", "mtu 1400"],
)
def test_goodput_of_quic_is_that_of_full_datagrams(
    path: Path, links: tuple[dict[str, object], ...], datagram_bytes: int, wire_bytes: int
) -> None:
    # Each has 10 bytes of header, 16 of tag and 6 of the stream's frame.
    assert of("quic-stream", {}, path, *links) == {
        "datagram_size_bytes": datagram_bytes,
        "goodput_bps": pytest.approx(10 * MBIT * (datagram_bytes - 32) / wire_bytes),
    }


def test_datagrams_that_are_sent_singly_have_a_goodput_behind_links_with_offload() -> None:
    assert "goodput_bps" not in of("quic-stream", {}, IPV4_PATH, {}, LINK)
    assert of("quic-stream", {"offload": False}, IPV4_PATH, {}, LINK) == of("quic-stream", {})


def test_quic_has_no_goodput_where_its_datagrams_do_not_fit_or_are_lost_at_random() -> None:
    assert of("quic-stream", {}, IPV4_PATH, {"mtu_bytes": 1200}) == {}
    assert of("quic-stream", {}, IPV4_PATH, impaired(loss=ChosenPackets(ratio=0.01))) == {"datagram_size_bytes": 1472}
    assert of("quic-stream", {"largest_datagram_bytes": 1300})["datagram_size_bytes"] == 1300
