"""Fragments of a datagram on each link, by hand. (tests/lab/test_fragments.py holds the same against the kernel.)"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path as File

import pytest
from fragments_lab import Profile
from synthetic import both_ways

from sixbench.cli.fragments_table import FragmentsRequest, print_fragments
from sixbench.model.errors import UsageError
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path
from sixbench.model.topology import Topology
from sixbench.theory import NotPredicted, Policy, Prediction, expected, predict
from sixbench.theory.pieces import Piece, TooLong, forward, forward_reassembled, is_complete, originate

pytestmark = pytest.mark.computes

BETWEEN = ("h1", "h2")
MASQUERADE = {"masquerade": True}


def predicted(profile: Profile, size_bytes: int, policy: Policy = "clear", known: int | None = None) -> Prediction:
    knowledge = {} if known is None else {BETWEEN: known}
    return predict(profile.network(), size_bytes, policy, profile.engine, knowledge)


def settled_sizes(prediction: Prediction) -> list[list[int]]:
    return [list(load.sizes_bytes) for load in prediction.settled.loads]


def test_a_router_cuts_each_fragment_again_where_the_next_link_is_narrower() -> None:
    # 3008 bytes behind the header: 1480 + 1480 + 48; into 1456 and 24 each where 1485 bytes fit; then 1448 and 8 more.
    assert settled_sizes(predicted(Profile(mtus=(1500, 1485, 1470), mechanism="native4"), 3000)) == [
        [1500, 1500, 68],
        [1484, 36, 1484, 36, 68],
        [1468, 36, 36, 1468, 36, 36, 68],
    ]


def test_a_router_that_tracks_connections_keeps_the_fragments_that_fit_and_makes_new_ones_else() -> None:
    routers = dict.fromkeys(("r1", "r2"), MASQUERADE)
    prediction = predicted(Profile(mtus=(1500, 1485, 1470), mechanism="native4", settings=routers), 3000)
    assert settled_sizes(prediction) == [[1500, 1500, 68], [1484, 1484, 100], [1468, 1468, 132]]
    work = prediction.settled.work["r2", 4]
    assert (work.collected, work.reassembled, work.cut, work.created) == (3, 1, 1, 3)


def test_fragments_never_grow_again_on_a_wider_link() -> None:
    translated = Profile(mtus=(576, 576, 1500), mechanism="native4", settings={"r2": MASQUERADE})
    assert settled_sizes(predicted(translated, 1000)) == [[572, 476]] * 3


def test_ipv6_is_cut_at_its_source_only_and_the_first_datagrams_tell_it_where() -> None:
    prediction = predicted(Profile(mtus=(1500, 1485, 1470), mechanism="native6"), 1470)
    assert [attempt.outcome for attempt in prediction.attempts] == ["lost", "lost", "delivered"]
    assert [attempt.learned_mtus for attempt in prediction.attempts] == [{BETWEEN: 1485}, {BETWEEN: 1470}, {}]
    assert settled_sizes(prediction) == [[1464, 110]] * 3
    # What fits still arrives: of each lost datagram a fragment waits at the server in vain.
    assert prediction.first.loads[-1].sizes_bytes == (78,)
    assert prediction.first.work["h2", 6].collected == 1


@pytest.mark.parametrize(
    ("policy", "outcomes"),
    [
        ("clear", ["delivered"]),
        ("kernel", ["lost", "delivered"]),
        ("set", ["lost", "refused"]),
        ("probe", ["lost", "lost"]),
    ],
)
def test_what_policies_about_df_come_to(policy: Policy, outcomes: list[str]) -> None:
    prediction = predicted(Profile(mtus=(1500, 1300, 1500), mechanism="native4"), 1400, policy)
    assert [attempt.outcome for attempt in prediction.attempts] == outcomes


def test_a_source_that_has_learned_the_path_mtu_loses_nothing() -> None:
    profile = Profile(mtus=(1500, 1300, 1500), mechanism="native6")
    prediction = predicted(profile, 1400, known=1300)
    assert prediction.lost_first == 0
    assert settled_sizes(prediction) == settled_sizes(predicted(profile, 1400))


@pytest.mark.parametrize("silent", ["r1", "r2"])
@pytest.mark.parametrize("icmp", ["no-too-big", "none"])
def test_a_black_hole_is_where_errors_are_filtered_before_they_reach_the_source(silent: str, icmp: str) -> None:
    profile = Profile(mtus=(1500, 1500, 1300, 1500), mechanism="native6", settings={silent: {"icmp": icmp}})
    prediction = predicted(profile, 1400)
    assert [attempt.outcome for attempt in prediction.attempts] == ["lost"]
    assert f"{silent} lets no ICMP errors through" in prediction.settled.reasons


def test_a_filter_behind_the_narrow_link_harms_nothing() -> None:
    profile = Profile(mtus=(1500, 1500, 1300, 1500), mechanism="native6", settings={"r3": {"icmp": "none"}})
    assert predicted(profile, 1400).settled.outcome == "delivered"


@pytest.mark.parametrize(("drop", "left"), [("first-fragments", [48]), ("later-fragments", [1500]), ("fragments", [])])
def test_dropped_fragments_lose_the_datagram(drop: str, left: list[int]) -> None:
    profile = Profile(mtus=(1500, 1500), mechanism="native4", settings={"r1": {"drop": drop}})
    prediction = predicted(profile, 1500)
    assert settled_sizes(prediction) == [[1500, 48], left]
    assert prediction.settled.outcome == "lost"


def test_a_tunnel_cuts_outer_packets_and_its_exit_puts_them_together() -> None:
    profile = Profile(mtus=(1500, 1500, 1500), mechanism="6in4", nodes=("r1", "r2"), options={"mtu": 1500})
    prediction = predicted(profile, 1452)
    assert settled_sizes(prediction) == [[1500], [1500, 40], [1500]]
    assert prediction.settled.work["r1", 4].created == 2
    assert prediction.settled.work["r2", 4].reassembled == 1


def test_the_entry_of_a_tunnel_over_ipv6_learns_the_path_mtu_of_its_carrier() -> None:
    profile = Profile(
        mtus=(1500, 1500, 1300, 1500), mechanism="4in6", nodes=("r1", "r3"), options={"mtu": 1460}, engine="user"
    )
    prediction = predicted(profile, 1400)
    assert prediction.first.learned_mtus == {("r1", "r3"): 1300}
    assert settled_sizes(prediction) == [[1428], [1296, 228], [1296, 228], [1428]]


def test_linux_own_tunnels_over_ipv6_are_not_predicted_where_packets_do_not_fit_their_carrier() -> None:
    options = {"mtu": 1480}
    profile = Profile(mtus=(1500, 1500, 1500), mechanism="4in6", nodes=("r1", "r2"), options=options, engine="kernel")
    assert predicted(profile, 1400).settled.outcome == "delivered"
    with pytest.raises(NotPredicted, match="kernel's tunnel at r1"):
        predicted(profile, 1450)


def test_goodput_is_what_the_fragments_leave_of_a_link() -> None:
    prediction = predicted(Profile(mtus=(1500, 1500), mechanism="native4"), 2000)
    assert [load.wire_bytes for load in prediction.settled.loads] == [2124, 2124]
    assert prediction.goodput_limits_bps == [None, None]


def test_a_datagram_that_no_fragmentation_can_carry_is_refused_with_the_reason() -> None:
    prediction = predicted(Profile(mtus=(1500, 1500), mechanism="native4"), 65508)
    assert prediction.settled.outcome == "refused"
    assert "at most 65515" in prediction.settled.reasons[0]


def test_a_small_path_mtu_is_not_believed() -> None:
    # Linux takes less than 552 for 552 and then clears DF (net.ipv4.route.min_pmtu): routers cut the rest.
    prediction = predicted(Profile(mtus=(1500, 300, 1500), mechanism="native4"), 1000, "kernel")
    assert prediction.first.learned_mtus == {BETWEEN: 552}
    assert prediction.settled.outcome == "delivered"
    assert settled_sizes(prediction)[0] == [548, 500]


def test_pieces_of_a_piece_keep_their_place() -> None:
    middle = Piece(offset_bytes=1480, payload_bytes=1480, has_more=True, is_df=False)
    cut = forward(middle, 4, 1000)
    assert [(piece.offset_bytes, piece.payload_bytes, piece.has_more) for piece in cut] == [
        (1480, 976, True),
        (2456, 504, True),
    ]


def test_a_packet_with_df_is_refused_with_the_mtu() -> None:
    [piece] = originate(1400, 4, "set", 1500, None)
    with pytest.raises(TooLong) as caught:
        forward(piece, 4, 1300)
    assert caught.value.mtu_bytes == 1300


def test_reassembled_fragments_of_ipv6_are_refused_where_the_longest_does_not_fit() -> None:
    pieces = originate(3000, 6, "clear", 1500, None)
    assert is_complete(pieces)
    assert forward_reassembled(pieces, 6, 1496) == pieces
    with pytest.raises(TooLong):
        forward_reassembled(pieces, 6, 1495)


def links(*mtus: int) -> Topology:
    """A line of links of 100 Mbit/s."""
    network = Profile(mtus=mtus, mechanism="native4").network()
    wires = tuple(replace(link, directions=both_ways(100_000_000)) for link in network.topology.links)
    return replace(network.topology, links=wires)


def goodput_bps(path: Path, topology: Topology, kind: str = "udp-stream", **params: Scalar) -> float | None:
    return expected(kind, {"datagram_bytes": 4000, **params}, path, topology, BETWEEN).get("goodput_bps")


IPV4 = Path(name="ipv4", mechanism="native4", family=4)


def test_goodput_of_ipv4_fragments_over_different_mtus_is_that_of_the_better_knowledge() -> None:
    # Unknown: 1500 + 1500 + 1068, then 1300 + 220 twice and 1068. Known: 1300 x 3 and 188 on both links.
    known_bytes = 3 * (1300 + 38) + 188 + 38
    assert goodput_bps(IPV4, links(1500, 1300)) == pytest.approx(1e8 * 4000 / known_bytes)


@pytest.mark.parametrize(("df", "is_given"), [("clear", True), ("kernel", True), ("set", False), ("probe", False)])
def test_no_goodput_is_expected_of_datagrams_that_do_not_arrive(df: str, is_given: bool) -> None:
    assert (goodput_bps(IPV4, links(1500, 1300), df=df) is not None) is is_given


def test_goodput_through_a_tunnel_whose_outer_packets_are_fragmented() -> None:
    path = Path(name="6in4", mechanism="6in4", family=6, nodes=("r1", "r2"), options={"mtu": 1500})
    # A full segment of 1500 bytes, 1428 of them data, is 1500 and 40 bytes of IPv4 in the tunnel.
    assert goodput_bps(path, links(1500, 1500, 1500), "tcp-stream") == pytest.approx(1e8 * 1428 / (1538 + 84))


def test_the_command_prints_every_link(capsys: pytest.CaptureFixture[str], tmp_path: File) -> None:
    file = tmp_path / "try.yaml"
    file.write_text(
        "experiment: try\n"
        "topology:\n"
        "  nodes: {h1: host, r1: router, h2: host}\n"
        "  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2], mtu: 1300}]\n"
        "paths: {ipv4: native4, ipv6: native6}\n"
        "workloads: [ping]\n"
    )
    request = FragmentsRequest(experiment=str(file), paths=("ipv6",), datagrams=("1400B",))
    print_fragments(request, as_json=True)
    [prediction] = json.loads(capsys.readouterr().out)["predictions"]
    assert prediction["lost_first"] == 1
    first, settled = prediction["attempts"]
    assert [link["sizes_bytes"] for link in first["links"]] == [[1448], []]
    assert [link["sizes_bytes"] for link in settled["links"]] == [[1296, 208], [1296, 208]]
    assert first["learned"] == [{"node": "h1", "to": "h2", "mtu_bytes": 1300}]
    print_fragments(request, as_json=False)
    out = capsys.readouterr().out
    assert "1296 + 208" in out
    assert "at least 1 datagram is lost" in out
    with pytest.raises(UsageError, match="there are clear, set, probe, kernel"):
        print_fragments(FragmentsRequest(experiment=str(file), df="off"), as_json=False)
    with pytest.raises(UsageError, match="has the paths ipv4, ipv6"):
        print_fragments(FragmentsRequest(experiment=str(file), paths=("ipv7",)), as_json=False)


def test_an_atomic_fragment_is_one_packet_8_bytes_longer_that_its_receiver_counts_as_reassembled() -> None:
    prediction = predicted(Profile(mtus=(1500, 1500), mechanism="native6"), 1000, "atomic")
    assert settled_sizes(prediction) == [[1056], [1056]]
    assert prediction.settled.outcome == "delivered"
    counted = {node: work.counters(family) for (node, family), work in prediction.settled.work.items()}
    assert counted == {"h2": {"FragOKs": 0, "FragCreates": 0, "FragFails": 0, "ReasmReqds": 1, "ReasmOKs": 1}}


@pytest.mark.parametrize(
    ("size_bytes", "outcomes"), [(1244, ["delivered"]), (1245, ["lost", "refused"]), (1445, ["refused"])]
)
def test_an_atomic_fragment_is_held_to_the_path_mtu_with_its_fragment_header(
    size_bytes: int, outcomes: list[str]
) -> None:
    prediction = predicted(Profile(mtus=(1500, 1300, 1500), mechanism="native6"), size_bytes, "atomic")
    assert [attempt.outcome for attempt in prediction.attempts] == outcomes


@pytest.mark.parametrize(
    ("drop", "outcome"), [("first-fragments", "delivered"), ("later-fragments", "delivered"), ("fragments", "lost")]
)
def test_only_who_drops_all_fragments_drops_atomic_ones(drop: str, outcome: str) -> None:
    profile = Profile(mtus=(1500, 1500), mechanism="native6", settings={"r1": {"drop": drop}})
    assert predicted(profile, 1000, "atomic").settled.outcome == outcome


def test_a_router_that_tracks_connections_takes_the_fragment_header_off() -> None:
    profile = Profile(mtus=(1500, 1500, 1500), mechanism="native6", settings={"r1": MASQUERADE})
    prediction = predicted(profile, 1000, "atomic")
    assert settled_sizes(prediction) == [[1056], [1048], [1048]]
    assert ("h2", 6) not in prediction.settled.work


def test_ipv4_has_no_atomic_fragments() -> None:
    with pytest.raises(ValueError, match="only IPv6"):
        predicted(Profile(mtus=(1500, 1500), mechanism="native4"), 1000, "atomic")
