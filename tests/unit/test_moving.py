"""Clients that lose an address in the middle of a trial: experiments, lines, views of both ways, and the proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from sixbench.bench.proof.link_state import link_failures
from sixbench.bench.proof.moves import judge_moves
from sixbench.bench.proof.packets import judge
from sixbench.bench.proof.viewpoints import middle_of, viewpoints
from sixbench.lab.taking import taking_lines
from sixbench.mechanisms import install, remaining
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.observation import CaptureAnswer, CountersAnswer
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Traffic
from sixbench.report.link_descriptions import event_words
from sixbench.theory import expected_amid_changes

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

LINKS = (
    "{endpoints: [h1, r1]}, {endpoints: [h1, r2]}, {endpoints: [r1, r3]}, {endpoints: [r2, r3]}, {endpoints: [r3, h2]}"
)
TEXT = """topology:
  nodes: {{h1: host, r1: router, r2: router, r3: router, h2: host}}
  links: [{links}]
between: [h1, h2]
paths: {{path: {path}}}
workloads: [{workload}]
events: [{events}]
"""
QUIC = "{quic-stream: {migrate: true, duration: 2s}}"
EVENT = "{at: 1s, link: h1-r1, takes: link}"


def text(links: str = LINKS, path: str = "native4", workload: str = QUIC, events: str = EVENT) -> str:
    return TEXT.format(links=links, path=path, workload=workload, events=events)


def networks(read: Read, **parts: str) -> list[Network]:
    """The path's network, and what remains of it."""
    experiment = read(text(**parts))
    network = install(experiment.paths[0], experiment.topologies[0], experiment.between)
    return [network, *remaining(network, experiment.combinations[0].events)]


def test_the_client_goes_on_from_its_address_at_the_other_link(read: Read) -> None:
    for path, address in (("native4", "198.18.1.1"), ("native6", "2001:2:0:1::1")):
        before, after = networks(read, path=path)
        [leg] = after.legs
        assert (str(leg.source), leg.destination) == (address, before.legs[0].destination)
        assert [crossing.link.name for crossing in after.crossings] == ["h1-r2", "r2-r3", "r3-h2"]


def test_a_tunnel_between_routers_stays_where_it_is(read: Read) -> None:
    links = "{endpoints: [h1, r1]}, {endpoints: [h1, r1], name: other}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}"
    path = "{6in4: [r1, r2]}"
    changed = text(links=links, path=path).replace(", r3: router", "")
    experiment = read(changed)
    network = install(experiment.paths[0], experiment.topologies[0], experiment.between)
    [after] = remaining(network, experiment.combinations[0].events)
    assert [(crossing.link.name, crossing.headers) for crossing in after.crossings] == [
        ("other", ("ipv6",)),
        ("r1-r2", ("ipv4", "ipv6")),
        ("r2-h2", ("ipv6",)),
    ]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"events": "{at: 1s, link: h1-r1, takes: cable}"}, '"cable" cannot be taken; takes is link or addresses'),
        ({"events": "{at: 1s, link: h1-r1, takes: link, mtu: 1400}"}, "changes nothing else; leave the other keys out"),
        ({"events": f"{EVENT}, {EVENT.replace('1s', '1500ms')}"}, "h1-r1 was taken before; leave this event out"),
        ({"workload": "ping"}, "ping ends where an event takes the client's address; measure "),
        ({"workload": "{tcp-stream: {duration: 2s}}"}, "tcp-stream ends where an event takes the client's address"),
        ({"events": EVENT.replace("takes: link", "mtu: 1400")}, "quic-stream with migrate needs an event that takes"),
        ({"events": EVENT.replace("h1-r1", "h1-r2")}, "takes h1-r2, and the path does not leave h1 by it"),
        (
            {"links": LINKS.replace("{endpoints: [h1, r2]}, ", "")},
            'no route leads from "h1" to "h2" over IPv4; give h1',
        ),
        ({"path": "{nat64: [r3]}"}, "only where packets keep their addresses from end to end"),
        ({"links": LINKS + ", {endpoints: [h1, h2]}", "events": EVENT.replace("h1-r1", "h1-h2")}, "another address of"),
        ({"workload": "{tcp-stream: {reconnect: true, duration: 2s, streams: 2}}"}, "leave streams out"),
    ],
)
def test_what_cannot_be_taken(problems: Problems, parts: dict[str, str], message: str) -> None:
    assert any(message in problem for problem in problems(text(**parts))), problems(text(**parts))


def test_events_that_take_something_are_told_and_have_no_theory(read: Read) -> None:
    for takes, words in (("link", "h1-r1 goes down"), ("addresses", "h1-r1 loses the client's addresses")):
        experiment = read(text(events=EVENT.replace("takes: link", f"takes: {takes}")))
        [combination] = experiment.combinations
        assert event_words(experiment.topologies[0], combination.events) == [f"after 1s {words}"]
        params, path = combination.workload.params, experiment.paths[0]
        topology, changes = experiment.topologies[0], combination.events
        assert expected_amid_changes("quic-stream", params, path, topology, experiment.between, changes) == {}


def test_the_routes_over_what_remains_come_before_the_loss(read: Read) -> None:
    before, after = networks(read)
    lines = taking_lines(before, after, "h1", "h1-r1", "link")
    assert lines.take[-1] == "link set dev eth0 down"
    assert "route replace default via 198.18.1.2 dev eth1" in lines.take
    assert "route replace default via 2001:2:0:1::2 dev eth1" in lines.take
    assert all(line.endswith("dev eth0") for line in lines.take if line.startswith("route del"))
    assert lines.restore[:3] == [
        "link set dev eth0 up",
        "address replace 198.18.0.1/24 dev eth0",
        "address replace 2001:2::1/64 dev eth0 nodad",
    ]
    assert lines.restore[-2:] == [
        "route del default via 198.18.1.2 dev eth1",
        "route del default via 2001:2:0:1::2 dev eth1",
    ]
    lines = taking_lines(before, after, "h1", "h1-r1", "addresses")
    assert lines.take[-2:] == ["address del 198.18.0.1/24 dev eth0", "address del 2001:2::1/64 dev eth0"]


def test_links_of_both_ways_are_observed_and_the_middle_is_on_both(read: Read) -> None:
    network, *left = networks(read)
    views = viewpoints(network, (), left)
    assert [view.link.name for view in views] == ["h1-r1", "r1-r3", "r3-h2", "h1-r2", "r2-r3"]
    assert [sorted(view.ways) for view in views] == [[0], [0], [0, 1], [1], [1]]
    assert views[middle_of(views)].link.name == "r3-h2"
    shared = views[2]
    assert {str(crossing.source) for crossing in (shared.crossing, *shared.others)} == {"198.18.0.1", "198.18.1.1"}
    # Until the client notices its loss, it may send from the old address over the other link.
    other = views[3]
    assert [str(crossing.source) for crossing in (other.crossing, *other.others)] == ["198.18.1.1", "198.18.0.1"]
    assert views[0].others == ()


def counters(octets: Mapping[str, int]) -> CountersAnswer:
    """The counters of a node whose interfaces received and sent so many bytes."""
    interfaces = {
        name: {
            f"{direction}_{what}": count if what in ("bytes", "packets") else 0
            for direction in ("rx", "tx")
            for what in ("bytes", "packets", "errors", "dropped")
        }
        for name, count in octets.items()
    }
    return CountersAnswer.model_validate({"interfaces": interfaces, "snmp": {}, "links": {}})


@pytest.mark.parametrize(("over_second", "is_right"), [(700, True), (500, False)])
def test_what_arrived_crossed_both_ways_together(read: Read, over_second: int, is_right: bool) -> None:
    network, *left = networks(read)
    views = viewpoints(network, (), left)
    crossed = {"h1-r1": 400, "r1-r3": 300, "r3-h2": 1_000, "h1-r2": over_second, "r2-r3": over_second}
    ends: dict[str, dict[str, int]] = {}
    for view in views:
        ends.setdefault(view.end.node, {})[view.end.name] = crossed[view.link.name]
    before = {node: counters(dict.fromkeys(names, 0)) for node, names in ends.items()}
    after = {node: counters(names) for node, names in ends.items()}
    captures: Sequence[Any] = [CaptureAnswer.model_validate({"packets": [], "matched": 0, "dropped": 0})] * len(views)
    traffic = Traffic(forward_payload_bytes=1_000)
    names = [view.link.name for view in views]
    other = [
        reason.text
        for reason in judge(views, captures, before, after, traffic, unreached=names).invalid
        if reason.kind == ReasonKind.OTHER_PATH
    ]
    assert other == (
        []
        if is_right
        else [
            "1000 bytes of payload arrived to the server, but only 800 bytes crossed r1-r3 and h1-r2 together: they "
            "went another way"
        ]
    )


def test_a_way_whose_links_nobody_counted_is_not_taken_for_another_one(read: Read) -> None:
    network, *left = networks(read)
    views = viewpoints(network, (), left)
    captures: Sequence[Any] = [CaptureAnswer.model_validate({"packets": [], "matched": 0, "dropped": 0})] * len(views)
    traffic = Traffic(forward_payload_bytes=1_000)
    reasons = judge(views, captures, {}, {}, traffic, unreached=[view.link.name for view in views]).invalid
    assert {reason.text for reason in reasons if reason.kind == ReasonKind.NOT_COUNTED} == {
        f"{view.end.node} could not be asked for the counters of {view.end.name}" for view in views
    }
    assert [reason.text for reason in reasons if reason.kind == ReasonKind.OTHER_PATH] == []


def move(**more: Any) -> dict[str, Any]:
    return {"t_ns": 5, "from": "198.18.0.1", "to": "198.18.1.1", **more}


def test_moves_that_both_ends_saw_are_evidence(read: Read) -> None:
    both = networks(read)
    client, server = {"moves": [move()]}, {"moves": [move(outage_ns=7)]}
    moves, reasons = judge_moves(client, server, both)
    assert reasons == []
    [evidence] = moves
    assert (evidence.moved_ns, evidence.outage_ns, evidence.links) == (5, 7, ("h1-r2", "r2-r3", "r3-h2"))
    flows = judge_moves({"forward_sender": client}, {"forward_receiver": server}, both)
    assert flows == (moves, [])


def test_a_move_that_is_lacking_or_another_one_is_a_reason(read: Read) -> None:
    both = networks(read)
    moves, reasons = judge_moves({}, {"moves": [move(outage_ns=7, to="198.18.9.9")]}, both)
    assert moves == ()
    due = "where the events make it a move from 198.18.0.1 to 198.18.1.1"
    assert [(reason.kind, reason.text) for reason in reasons] == [
        (ReasonKind.NOT_MOVED, f"the client saw no move, {due}"),
        (ReasonKind.NOT_MOVED, f"the server saw a move from 198.18.0.1 to 198.18.9.9, {due}"),
    ]


def test_a_link_that_an_event_takes_down_is_no_fault(read: Read) -> None:
    network, *left = networks(read)
    views = viewpoints(network, (), left)
    down = {"is_up": False, "carrier_losses": 1}
    after = {"h1": CountersAnswer.model_validate({"interfaces": {}, "snmp": {}, "links": {"eth0": down}})}
    before = {"h1": CountersAnswer.model_validate({"interfaces": {}, "snmp": {}, "links": {}})}
    assert [reason.kind for reason in link_failures(views, before, after)] == [ReasonKind.LINK_DOWN]
    assert link_failures(views, before, after, ["h1-r1"]) == []
