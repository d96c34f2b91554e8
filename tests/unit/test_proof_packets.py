"""Proof that a trial took its path: packets on every link, and counters of the nodes passed."""

from __future__ import annotations

import pytest
from judged_views import SLOW, TRAFFIC, Counters, Packet, Read, counters, judged, line, packet, towards_server, views_of
from observed import by_node, captured
from reasons import texts

from sixbench.bench.proof.packets import judge, link_traffic, silent_notes
from sixbench.bench.proof.viewpoints import Viewpoint, middle_of, viewpoints
from sixbench.mechanisms import install, legs_of
from sixbench.model.topology import Family
from sixbench.model.workload import Traffic

pytestmark = pytest.mark.computes


@pytest.mark.parametrize(
    ("kinds", "seen"),
    [
        ("hh", [("l0", "h1", False)]),
        ("hrh", [("l0", "r1", False), ("l1", "r1", True)]),
        ("hrrh", [("l0", "r1", False), ("l1", "r2", False), ("l2", "r2", True)]),
    ],
)
def test_every_link_is_seen_from_a_router(read: Read, kinds: str, seen: list[tuple[str, str, bool]]) -> None:
    network = line(read, kinds)
    there = viewpoints(network)
    assert [(view.link.name, view.end.node, view.towards_server) for view in there] == seen
    back = viewpoints(network.reversed)
    assert [view.link.name for view in back] == [name for name, _, _ in seen][::-1]
    assert all(network.topology.nodes[view.end.node].kind == "router" for view in back) is (kinds != "hh")


@pytest.mark.parametrize(
    ("kinds", "path", "link"),
    [
        ("hh", "native6", "l0"),
        ("hrh", "native6", "l0"),
        ("hrrh", "native6", "l1"),
        ("hrrrh", "native6", "l1"),
        ("hrrrrh", "native6", "l2"),
        ("hrrrrh", "{6in4: [r1, r2]}", "l1"),
        ("hrrrrh", "{6in4: [h0, r2]}", "l1"),
        ("hrrrrh", "{6in4: [r3, r4]}", "l3"),
        ("hrrrrh", "{6in4: [h0, h5]}", "l2"),
    ],
)
def test_the_link_that_tells_most_is_where_the_path_has_most_headers(
    read: Read, kinds: str, path: str, link: str
) -> None:
    views = views_of(line(read, kinds, path))
    assert views[middle_of(views)].link.name == link


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        ("native4", ["ipv4", "ipv4", "ipv4"]),
        ("{6in4: [r1, r2]}", ["ipv6", "ipv6 in ipv4", "ipv6"]),
        ("{6in4: [h0, h3]}", ["ipv6 in ipv4"] * 3),
        ("{4in6: [r1, r2]}", ["ipv4", "ipv4 in ipv6", "ipv4"]),
        ("{gre: [r1, r2]}", ["ipv6", "ipv6 in gre in ipv4", "ipv6"]),
        ("{gre: {nodes: [r1, r2], inner: ipv4, outer: ipv6}}", ["ipv4", "ipv4 in gre in ipv6", "ipv4"]),
        ("{vxlan: [r1, r2]}", ["ipv6", "ipv6 in vxlan in ipv4", "ipv6"]),
        ("{teredo: [h0, r2]}", ["ipv6 in teredo in ipv4"] * 2 + ["ipv6"]),
    ],
)
def test_what_a_path_claims_of_each_link(read: Read, path: str, claimed: list[str]) -> None:
    assert [view.claimed for view in views_of(line(read, "hrrh", path))] == claimed


@pytest.fixture
def view(read: Read) -> Viewpoint:
    """The link between two routers on an IPv4 path."""
    return views_of(line(read, "hrrh", link=SLOW))[1]


@pytest.fixture
def tunnelled(read: Read) -> Viewpoint:
    """The same link, with IPv6 in IPv4 on it."""
    return views_of(line(read, "hrrh", "{6in4: [r1, r2]}", SLOW))[1]


def test_a_trial_that_took_its_path(view: Viewpoint) -> None:
    small, large = packet("ipv4", "tcp"), packet("ipv4", "tcp", wire_bytes=1514)
    judgement = judged(view, [towards_server(view, item) for item in (small, large)])
    assert judgement.invalid == []
    [segment] = judgement.evidence.segments
    assert (segment.link, segment.node, segment.claimed) == ("l1", view.end.node, "ipv4")
    assert segment.stacks == {"ipv4": 2}
    assert segment.outer == {"198.18.0.1 > 198.18.2.2": 2}
    assert segment.other_addresses == segment.other_hop_limits == {}
    assert (segment.captured_packets, segment.capture_dropped, segment.max_ip_bytes) == (2, 0, 1500)
    assert segment.packets[0].wire_bytes == 1514
    assert judgement.evidence.families == {"ipv4": 2, "ipv6": 0}
    assert judgement.evidence.payload_bytes == {"forward": 1000, "reverse": 500}
    assert judgement.evidence.counters[view.end.node].interfaces == {
        view.end.name: {"rx_packets": 100, "tx_packets": 100, "rx_bytes": 10_000, "tx_bytes": 10_000}
    }


@pytest.mark.parametrize(
    ("path", "kinds", "stack"),
    [
        ("native4", ("ipv6", "tcp"), "ipv6"),
        ("native6", ("ipv4", "tcp"), "ipv4"),
        ("native6", ("ipv4", "ipv6", "tcp"), "ipv6 in ipv4"),
        ("{6in4: [r1, r2]}", ("ipv6", "tcp"), "ipv6"),
        ("{6in4: [r1, r2]}", ("ipv6", "ipv4", "tcp"), "ipv4 in ipv6"),
        ("{6in4: [r1, r2]}", ("ipv4", "gre", "ipv6", "tcp"), "ipv6 in gre in ipv4"),
        ("{gre: [r1, r2]}", ("ipv4", "ipv6", "tcp"), "ipv6 in ipv4"),
        ("{4in6: [r1, r2]}", ("ipv4", "tcp"), "ipv4"),
    ],
)
def test_other_packets_than_claimed_are_invalid(read: Read, path: str, kinds: tuple[str, ...], stack: str) -> None:
    view = views_of(line(read, "hrrh", path, SLOW))[1]
    right = packet(*view.crossing.headers, "tcp")
    judgement = judged(view, [right, packet(*kinds)])
    assert texts(judgement.invalid) == [
        f"1 of 2 packets seen on l1 at {view.end.node} were {stack}, where the path claims {view.claimed}"
    ]


def test_every_link_is_judged_by_its_own_claim(read: Read) -> None:
    """A tunnel that begins one router too early is seen on the link before."""
    views = views_of(line(read, "hrrh", "{6in4: [r1, r2]}", SLOW))
    before: Counters = {node: {"interfaces": {}, "snmp": {}} for node in ("r1", "r2")}
    after: Counters = {node: {"interfaces": {}, "snmp": {}} for node in ("r1", "r2")}
    for view in views:
        before[view.end.node]["interfaces"] |= counters(view, 5, 500)["interfaces"]
        after[view.end.node]["interfaces"] |= counters(view, 105, 10_500)["interfaces"]
    plain, inside = packet("ipv6", "udp"), packet("ipv4", "ipv6", "udp")
    captures = [captured([item]) for item in (plain, inside, plain)]
    right = judge(views, captures, by_node(before), by_node(after), TRAFFIC)
    assert right.invalid == []
    assert [segment.claimed for segment in right.evidence.segments] == ["ipv6", "ipv6 in ipv4", "ipv6"]
    assert (right.evidence.middle, right.evidence.families) == (1, {"ipv4": 0, "ipv6": 1})
    captures[0] = captured([inside])
    assert texts(judge(views, captures, by_node(before), by_node(after), TRAFFIC).invalid) == [
        "1 of 1 packets seen on l0 at r1 were ipv6 in ipv4, where the path claims ipv6"
    ]


def test_a_tunnel_shows_what_it_carries(tunnelled: Viewpoint) -> None:
    judgement = judged(tunnelled, [towards_server(tunnelled, packet("ipv4", "ipv6", "udp"))])
    assert judgement.invalid == []
    [segment] = judgement.evidence.segments
    assert segment.stacks == {"ipv6 in ipv4": 1}
    assert segment.outer == {"198.18.1.1 > 198.18.1.2": 1}
    assert judgement.evidence.families == {"ipv4": 0, "ipv6": 1}


@pytest.mark.parametrize(
    ("fragment", "count"),
    [
        ({"offset_bytes": 0, "more": False, "identification": 7}, 1),
        ({"offset_bytes": 0, "more": True, "identification": 7}, 0),
        ({"offset_bytes": 8, "more": False, "identification": 7}, 0),
        (None, 0),
    ],
)
def test_atomic_fragments_are_counted(tunnelled: Viewpoint, fragment: dict[str, int | bool] | None, count: int) -> None:
    judgement = judged(tunnelled, [packet("ipv4", "ipv6", "udp"), packet("ipv4", "ipv6", fragment=fragment)])
    assert judgement.evidence.segments[0].atomic_fragments == count
    assert judgement.evidence.segments[0].stacks == {"ipv6 in ipv4": 2}


@pytest.mark.parametrize(
    ("layers", "others"),
    [
        (("ipv4", "fragment-data"), {"fragment of ipv6 in ipv4": 1}),
        (("ipv4", "ipv6", "fragment-data"), {}),
        (("ipv6", "fragment-data"), None),
        (("ipv4", "tcp"), None),
    ],
)
def test_a_later_fragment_of_an_outer_packet_hides_what_is_inside(
    tunnelled: Viewpoint, layers: tuple[str, ...], others: dict[str, int] | None
) -> None:
    judgement = judged(tunnelled, [packet("ipv4", "ipv6", "udp"), packet(*layers)])
    assert (judgement.invalid == []) is (others is not None)
    if others is not None:
        assert judgement.evidence.segments[0].stacks == {"ipv6 in ipv4": 2 - len(others)} | others


@pytest.mark.parametrize(
    ("layers", "fields", "error"),
    [
        (("ipv4", "icmp"), {"type": 3, "code": 4}, "icmp 3/4"),
        (("ipv4", "icmp"), {"type": 11, "code": 0}, "icmp 11/0"),
        (("ipv4", "icmp"), {"type": 8, "code": 0}, None),
        (("ipv4", "udp"), {}, None),
    ],
)
def test_the_carrier_may_answer_with_errors_and_nothing_else(
    tunnelled: Viewpoint, layers: tuple[str, ...], fields: dict[str, int], error: str | None
) -> None:
    judgement = judged(tunnelled, [packet("ipv4", "ipv6", "udp"), packet(*layers, **fields)])
    if error is None:
        assert texts(judgement.invalid) == [
            f"1 of 2 packets seen on l1 at {tunnelled.end.node} were ipv4, where the path claims ipv6 in ipv4"
        ]
    else:
        assert judgement.invalid == []
        assert judgement.evidence.segments[0].errors == {error: 1}
        assert judgement.evidence.segments[0].stacks == {"ipv6 in ipv4": 1}


@pytest.mark.parametrize("count", [8, 9])
def test_a_few_last_segments_of_an_earlier_trial_say_nothing_of_the_path(view: Viewpoint, count: int) -> None:
    """Acknowledgements and resets carry no data; as many of them as a trial would send are one."""
    late = packet("ipv6", "tcp", payload_bytes=0)
    judgement = judged(view, [packet("ipv4", "tcp", payload_bytes=9), *[late] * count])
    assert (judgement.invalid == []) is (count <= 8)
    [segment] = judgement.evidence.segments
    assert segment.leftovers == ({"ipv6": 8} if count == 8 else {})
    assert segment.stacks == ({"ipv4": 1} if count == 8 else {"ipv4": 1, "ipv6": 9})


def test_one_segment_with_data_over_the_wrong_family_is_too_many(view: Viewpoint) -> None:
    judgement = judged(view, [packet("ipv4", "tcp", payload_bytes=9), packet("ipv6", "tcp", payload_bytes=1)])
    assert texts(judgement.invalid) == [
        f"1 of 2 packets seen on l1 at {view.end.node} were ipv6, where the path claims ipv4"
    ]


@pytest.mark.parametrize("type_", [130, 133, 135, 136, 143])
def test_discovery_on_the_link_says_nothing_of_the_path(view: Viewpoint, type_: int) -> None:
    """The kernel probes the neighbours of an IPv6 trial seconds later, in the midst of an IPv4 trial."""
    judgement = judged(view, [packet("ipv4", "tcp"), packet("ipv6", "icmpv6", type=type_)])
    assert judgement.invalid == []
    assert judgement.evidence.segments[0].stacks == {"ipv4": 1}


def test_discovery_in_a_tunnel_says_nothing_of_the_path(tunnelled: Viewpoint) -> None:
    """The kernel solicits routers on a tunnel's device as on any."""
    judgement = judged(tunnelled, [packet("ipv4", "ipv6", "udp"), packet("ipv4", "gre", "ipv6", "icmpv6", type=133)])
    assert judgement.invalid == []
    assert judgement.evidence.segments[0].stacks == {"ipv6 in ipv4": 1}


def test_bubbles_of_teredo_say_nothing_of_the_path(read: Read) -> None:
    """RFC 4380 section 2.8: IPv6 packets without anything in them, which open the way to a client."""
    view = views_of(line(read, "hrrh", "{teredo: [h0, r2]}"))[0]
    judgement = judged(view, [packet("ipv4", "udp", "teredo", "ipv6", "udp"), packet("ipv4", "udp", "teredo", "ipv6")])
    assert judgement.invalid == []
    assert judgement.evidence.segments[0].stacks == {"ipv6 in teredo in ipv4": 1}
    [reason] = judged(view, [packet("ipv4", "ipv6", "udp")]).invalid
    assert reason.text.endswith("were ipv6 in ipv4, where the path claims ipv6 in teredo in ipv4")


def test_igmp_says_nothing_of_the_path(tunnelled: Viewpoint) -> None:
    """6over4 joins its groups on the carrier."""
    joined = packet("ipv4")
    joined["layers"][1]["protocol"] = 2
    judgement = judged(tunnelled, [packet("ipv4", "ipv6", "udp"), joined])
    assert judgement.invalid == []
    assert judgement.evidence.segments[0].stacks == {"ipv6 in ipv4": 1}


def test_an_echo_over_the_wrong_family_is_no_discovery(view: Viewpoint) -> None:
    assert judged(view, [packet("ipv4", "icmp"), packet("ipv6", "icmpv6", type=128)]).invalid


@pytest.mark.parametrize("packets", [[], [packet("arp")], [packet("ipv6", "icmpv6", type=135)]])
def test_no_packet_is_no_evidence(view: Viewpoint, packets: list[Packet]) -> None:
    judgement = judged(view, packets)
    assert texts(judgement.invalid) == [f"no packet of the trial was seen on l1 at {view.end.node}"]
    assert judgement.evidence.segments[0].max_ip_bytes is None


def test_a_capture_without_packets_is_no_evidence(view: Viewpoint) -> None:
    node = view.end.node
    before, after = by_node({node: counters(view, 5, 500)}), by_node({node: counters(view, 105, 10_500, ip=100)})
    assert texts(judge([view], [captured()], before, after, TRAFFIC).invalid) == [
        f"no packet of the trial was seen on l1 at {node}"
    ]


def test_a_packet_over_the_mtu(read: Read, view: Viewpoint) -> None:
    large = [packet("ipv4", "tcp", wire_bytes=9014)]
    assert texts(judged(view, large).invalid) == [
        f"a packet of 9000 bytes was seen on l1 at {view.end.node}, whose MTU is 1500"
    ]
    with_offload = views_of(line(read, "hrrh"))[1]
    assert judged(with_offload, large).invalid == []


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (
            (105, 1400),
            "1000 bytes of payload arrived to the server, but only 900 bytes crossed l1: they went another way",
        ),
        ((14, 10_500), "10 datagrams arrived, but only 9 packets crossed l1"),
        ((105, 10_500, 0, 106), "received 106 ipv6 packets during a trial over ipv4"),
    ],
)
def test_counters_that_contradict(view: Viewpoint, after: tuple[int, ...], message: str) -> None:
    judgement = judged(view, [packet("ipv4", "udp")], after=counters(view, *after))
    assert len(judgement.invalid) == 1
    assert message in judgement.invalid[0].text


def test_what_went_back_is_counted_too(view: Viewpoint) -> None:
    after = counters(view, 105, 10_500)
    after["interfaces"][view.end.name]["tx_bytes"] = 700
    assert texts(judged(view, [packet("ipv4", "udp")], after).invalid) == [
        "500 bytes of payload arrived to the client, but only 200 bytes crossed l1: they went another way"
    ]


def test_background_of_the_other_family_is_no_contradiction(view: Viewpoint) -> None:
    after = counters(view, 105, 10_500, ip=100, ip6=100)
    assert judged(view, [packet("ipv4", "udp")], after=after).invalid == []


SPLIT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1], name: near}
    - {endpoints: [r1, r2], name: four, ipv6: none}
    - {endpoints: [r1, r2], name: six, ipv4: none}
    - {endpoints: [r2, h2], name: far}
paths: {ipv4: native4}
workloads: [happy-eyeballs]
"""


@pytest.mark.parametrize(("silent", "missing"), [(frozenset[Family](), ["six", "far"]), (frozenset[Family]({6}), [])])
def test_packets_of_a_family_that_nothing_answered_need_not_have_come_far(
    read: Read, silent: frozenset[Family], missing: list[str]
) -> None:
    experiment = read(SPLIT)
    network = install(experiment.paths[0], experiment.topologies[0], experiment.between)
    views = viewpoints(network, [legs_of(network.topology, experiment.between, 6)])
    assert [(view.link.name, view.all_claimed) for view in views] == [
        ("near", ("ipv4", "ipv6")),
        ("four", ("ipv4",)),
        ("far", ("ipv4", "ipv6")),
        ("six", ("ipv6",)),
    ]
    seen = {"near": ["ipv4", "ipv6"], "four": ["ipv4"], "far": ["ipv4"], "six": []}
    captures = [captured(packet(kind, "tcp") for kind in seen[view.link.name]) for view in views]
    nodes = {view.end.node for view in views}
    nothing = by_node({node: {"interfaces": {f"eth{number}": {} for number in range(3)}} for node in nodes})
    judgement = judge(views, captures, nothing, nothing, Traffic(silent=silent))
    assert {words.split(" on ")[1].split(" at ")[0] for words in texts(judgement.invalid)} == set(missing)
    expected = {"ipv6": ("near",)} if silent else {}
    assert judgement.evidence.silent == expected
    notes = ["no connection over IPv6: its packets were seen on near"] if silent else []
    assert silent_notes(judgement.evidence.silent or {}) == notes


@pytest.mark.parametrize("ip", [0, 5000])
def test_an_end_of_a_tunnel_sees_both_families(read: Read, ip: int) -> None:
    """IPv4 is claimed of r1, where the tunnel begins, and not of a router that only sees the packets inside it."""
    views = views_of(line(read, "hrrrh", "{6in4: [r1, r2]}", SLOW))
    for index, output in ((0, False), (3, True)):
        view = views[index]
        far = views[3] if index == 3 else views[0]
        before = {far.end.node: counters(far, 5, 500)}
        after = {far.end.node: counters(far, 105, 10_500, ip=ip, ip6=1000)}
        others = [other for other in views if far.end.node in (other.crossing.near, other.crossing.far)]
        captures = [captured([packet(*other.crossing.headers, "udp")]) for other in others]
        judgement = judge(others, captures, by_node(before), by_node(after), Traffic())
        told_words = [words for words in texts(judgement.invalid) if "received" in words]
        expected = [f"{view.end.node} received {ip} ipv4 packets during a trial over ipv6"] if output and ip else []
        assert told_words == expected


@pytest.mark.parametrize("after", [{}, {"interfaces": {}, "snmp": {}}, {"interfaces": {"eth9": {}}, "snmp": {}}])
def test_counters_that_are_not_there_are_told(view: Viewpoint, after: Counters) -> None:
    node = view.end.node
    before = by_node({node: counters(view, 5, 500)})
    given = by_node({node: after} if after else {})
    judgement = judge([view], [captured([packet("ipv4")])], before, given, TRAFFIC)
    assert texts(judgement.invalid) == [f"{node} could not be asked for the counters of {view.end.name}"]
    assert link_traffic(view, before, given) is None


def test_packets_and_bytes_of_the_link(view: Viewpoint) -> None:
    node = view.end.node
    before, after = by_node({node: counters(view, 5, 500)}), by_node({node: counters(view, 8, 900)})
    assert link_traffic(view, before, after) == (6, 800)


@pytest.mark.parametrize(("count", "payload_bytes", "is_right"), [(8, 0, True), (9, 0, False), (1, 1, False)])
def test_the_end_of_an_earlier_trials_connection_says_nothing_of_the_path(
    view: Viewpoint, count: int, payload_bytes: int, is_right: bool
) -> None:
    """A FIN that was lost is sent again 200 ms later, in the midst of the next trial."""
    late = packet("ipv6", "tcp", payload_bytes=payload_bytes)
    judgement = judged(view, [packet("ipv4", "tcp"), *[late] * count])
    assert (judgement.invalid == []) is is_right
    [segment] = judgement.evidence.segments
    assert (segment.stacks, segment.leftovers) == (
        ({"ipv4": 1}, {"ipv6": count}) if is_right else ({"ipv4": 1, "ipv6": count}, {})
    )
