"""Changes in the midst of a trial: their form in an experiment, their errors, and theory with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from synthetic import both_ways, chain, rate_of

from sixbench.lab.emulation import change_on, emulated_links, held_bytes
from sixbench.lab.netem import unfit
from sixbench.lab.queues import rate_change_lines
from sixbench.model.direction import LinkDirection, RateQueue
from sixbench.model.emulation import Impairments
from sixbench.model.experiment import Experiment, LinkChange
from sixbench.model.path import Path
from sixbench.report.link_descriptions import event_words
from sixbench.theory import expected, expected_amid_changes

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

TEXT = "topology: {chain: 4}\npaths: {ipv4: native4, ipv6: native6}\nworkloads: [{ping: {duration: 2s}}]\nevents:\n"
RATED = TEXT.replace("{chain: 4}", "{chain: 4, rate: 20Mbit, delay: 1ms}")
MBIT = 10**6
PATH = Path(name="ipv4", mechanism="native4", family=4)


def events_of(read: Read, events: str, text: str = RATED) -> tuple[LinkChange, ...]:
    [combination] = read(text + events).combinations
    return combination.events


def test_events_are_of_every_combination_in_the_order_of_time(read: Read) -> None:
    events = "  - {at: 2s, link: r1-r2, mtu: 1300}\n  - {at: 500ms, link: r1-r2, mtu: 1400}\n"
    actual_events = events_of(read, events, TEXT)
    assert [(event.at_ns, event.link, event.mtu_bytes) for event in actual_events] == [
        (500_000_000, "r1-r2", 1400),
        (2_000_000_000, "r1-r2", 1300),
    ]


def test_an_mtu_may_have_levels(read: Read) -> None:
    combinations = read(TEXT + "  - {at: 1s, link: r1-r2, mtu: [1500, 1400]}\n").combinations
    assert [combination.levels for combination in combinations] == [
        {"event_mtu_bytes": 1500},
        {"event_mtu_bytes": 1400},
    ]
    assert [combination.events[0].mtu_bytes for combination in combinations] == [1500, 1400]


def test_a_rate_of_a_direction_may_have_levels(read: Read) -> None:
    combinations = read(RATED + "  - {at: 1s, link: r1-r2, forward: {rate: [1Mbit, 2Mbit]}}\n").combinations
    assert [combination.levels for combination in combinations] == [
        {"event_forward_rate_bps": MBIT},
        {"event_forward_rate_bps": 2 * MBIT},
    ]
    assert [[direction.rate_bps for direction in combination.events[0].directions] for combination in combinations] == [
        [MBIT, 20 * MBIT],
        [2 * MBIT, 20 * MBIT],
    ]


def test_each_event_changes_what_the_one_before_it_left(read: Read) -> None:
    events = (
        "  - {at: 1s, link: h1-r1, rate: 5Mbit, queue: 30ms}\n"
        "  - {at: 1500ms, link: h1-r1, loss: 1%, reverse: {delay: 9ms, rate: 1Mbit}}\n"
    )
    first, second = events_of(read, events)
    before = Impairments(delay_ns=1_000_000)
    assert (
        first.directions
        == (LinkDirection(rate_bps=5 * MBIT, queue=RateQueue(limit_ns=30_000_000), impairments=before),) * 2
    )
    assert [direction.rate_bps for direction in second.directions] == [5 * MBIT, MBIT]
    assert [(direction.impairments.delay_ns, direction.impairments.loss_ratio) for direction in second.directions] == [
        (1_000_000, 0.01),
        (9_000_000, 0.01),
    ]


def test_a_link_is_ready_for_what_events_make_of_it(read: Read) -> None:
    experiment = read(TEXT + "  - {at: 1s, link: r1-r2, delay: [1ms, 400ms]}\n")
    [topology] = experiment.topologies
    assert [(link.name, len(link.changes)) for link in topology.links if link.changes] == [("r1-r2", 2)]
    [(_, link)] = emulated_links(topology)
    assert not link.offload_on
    assert unfit(link) == "a change in the midst of a trial"
    assert held_bytes(link, 1514) > 100 * held_bytes(replace(link, changes=()), 1514)


def test_what_the_ends_of_a_link_are_told(read: Read) -> None:
    text = RATED.replace("delay: 1ms", "queue: 10 packets")
    event = "  - {at: 1s, link: h1-r1, forward: {rate: 5Mbit, queue: 20 packets}, loss: 2%}\n"
    experiment = read(text + event)
    [change] = experiment.combinations[0].events
    link = replace(experiment.topologies[0].links[0], directions=change.directions)
    assert rate_change_lines(link, link.ends[0]) == [
        "qdisc change dev eth0 root handle 1: tbf rate 5000000bit burst 3076 limit 33356 overhead 24 mpu 84",
        "qdisc change dev eth0 parent 1:1 handle 2: pfifo limit 20",
    ]
    actual_change = change_on("h1-r1", change.directions)
    assert (actual_change["continues"], actual_change["forward"]["loss"]) == (True, {"ratio": 0.02})


def test_events_are_told_by_what_they_change(read: Read) -> None:
    events = (
        "  - {at: 1s, link: h1-r1, rate: 5Mbit}\n"
        "  - {at: 1500ms, link: h1-r1, mtu: 1400, reverse: {delay: 0, queue: 1s}}\n"
        "  - {at: 2s, link: h1-r1, rate: 5Mbit}\n"
    )
    experiment = read(RATED + events)
    assert event_words(experiment.topologies[0], experiment.combinations[0].events) == [
        "after 1s h1-r1 has 5 Mbit/s",
        "after 1500ms h1-r1 has MTU 1400 and from r1 queue 1s, no delay and no loss",
        "after 2s h1-r1 has what it had",
    ]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            "{at: 1s, link: r1-r2}",
            "events.0: it changes nothing; an event is such as {at: 1s, link: r1-r2,",
        ),
        ("{link: r1-r2, mtu: 1400}", "events.0: at is missing; an event is such as"),
        ("{at: 1s, link: r1-r9, mtu: 1400}", 'events.0.link: there is no link "r1-r9"; did you mean "r1-r2"?'),
        ("{at: 1, link: r1-r2, mtu: 1400}", "events.0.at: 1 has no unit"),
        ("{at: 0s, link: r1-r2, mtu: 1400}", 'events.0.at: "0s" is out of range'),
        ("{at: 1s, link: r1-r2, mtu: 1279}", "events.0.mtu: an MTU of 1279 is too small for IPv6"),
        ("{at: 1s, link: r1-r2, mtu: 14}", "events.0.mtu: 14 is too small: at least 68"),
        ("{at: 1s, link: r1-r2, mtu: 1500 - 15 per link}", "events.0.mtu: an MTU per link is for a chain"),
        ("{at: 1s, link: r1-r2, offload: true}", "events.0.offload: unknown key"),
        ("{at: 1s, link: r1-r2, queue-discipline: codel}", "events.0.queue-discipline: unknown key"),
        ("{at: 1s, link: r1-r2, loss: 101%}", 'events.0.loss: "101%" is too large: at most 100%'),
        ("{at: 1s, link: r1-r2, jitter: 5ms}", "events.0.jitter: a jitter of 5ms on a delay of 1ms"),
        ("{at: 1s, link: r1-r2, forward: {queue: 100us}}", "events.0.forward.queue: a queue of 100us at 20Mbit holds"),
        (
            "{at: 1s, link: r1-r2, rate: 20kbit}",
            "events.0: a queue of 50ms at 20kbit holds 125 bytes, which is less",
        ),
        ("{at: 1s, link: r1-r2, queue: 5 packets}", "events.0.queue: a queue cannot change from counting packets"),
        ("{at: 1s, link: r2-h2, rate: 1Mbit}", "events.0.rate: r2-h2 has no rate that could change; give"),
        ("{at: 3s, link: r1-r2, mtu: 1400}", "events.0.at: at 3s a trial of 2050ms with its warm-up is over"),
        ("r1-r2", 'events.0: an event must be a mapping (key: value), not "r1-r2"'),
    ],
)
def test_what_is_wrong_with_an_event(problems: Problems, event: str, message: str) -> None:
    links = "{chain: 4, links: {r1-r2: {rate: 20Mbit, queue: 50ms, delay: 1ms}}}"
    actual_problems = problems(f"{TEXT.replace('{chain: 4}', links)}  - {event}\n")
    assert len(actual_problems) == 1, actual_problems
    assert actual_problems[0].startswith("test.yaml:5: ")
    assert message in actual_problems[0]


def at(at_ns: int, rate_mbps: int, link: str = "h1-r1", mtu_bytes: int = 1500) -> LinkChange:
    return LinkChange(at_ns=at_ns, link=link, mtu_bytes=mtu_bytes, directions=both_ways(rate_mbps * MBIT))


STREAM = {"duration_ns": 4 * 10**9, "warmup_ns": 10**9}


def test_theory_is_the_mean_over_the_measured_time() -> None:
    topology = chain(rate_bps=20 * MBIT)
    between = ("h1", "h2")
    full = expected("tcp-stream", STREAM, PATH, topology, between)["goodput_bps"]
    actual_expected_amid_changes = expected_amid_changes(
        "tcp-stream", STREAM, PATH, topology, between, [at(2 * 10**9, 5)]
    )
    assert actual_expected_amid_changes == {"goodput_bps": pytest.approx(full * (1 * 20 + 3 * 5) / 80)}
    twice = expected_amid_changes(
        "tcp-stream", STREAM, PATH, topology, between, [at(5 * 10**8, 5), at(3 * 10**9, 10), at(9 * 10**9, 1)]
    )
    assert twice == {"goodput_bps": pytest.approx(full * (2 * 5 + 2 * 10) / 80)}
    assert expected_amid_changes("tcp-stream", STREAM, PATH, topology, between, []) == {"goodput_bps": full}


@pytest.mark.parametrize(
    ("params", "changes"),
    [
        (STREAM, [at(2 * 10**9, 20, mtu_bytes=1400)]),
        (STREAM, [at(2 * 10**9, 5), at(3 * 10**9, 5, link="r1-r2")]),
        ({"bytes": 10**6}, [at(2 * 10**9, 5)]),
    ],
)
def test_theory_is_absent_where_the_mean_is_no_bound(params: dict[str, int], changes: list[LinkChange]) -> None:
    assert expected_amid_changes("tcp-stream", params, PATH, chain(rate_bps=20 * MBIT), ("h1", "h2"), changes) == {}


def test_theory_is_absent_where_a_round_trip_is_long() -> None:
    topology = chain(rate_bps=20 * MBIT)
    far = LinkDirection(rate_bps=20 * MBIT, impairments=Impairments(delay_ns=50_000_000))
    slow = replace(topology, links=(replace(topology.links[0], directions=(far, far)), *topology.links[1:]))
    assert rate_of(slow.links[0]) == 20 * MBIT
    assert expected_amid_changes("tcp-stream", STREAM, PATH, slow, ("h1", "h2"), [at(2 * 10**9, 5)]) == {}


def test_an_event_may_take_a_link_without_ipv6_below_1280(read: Read) -> None:
    links = "[{endpoints: [h1, h2], ipv6: none, name: four}, {endpoints: [h1, h2], ipv4: none}]"
    text = (
        f"topology: {{nodes: {{h1: host, h2: host}}, links: {links}}}\npaths: {{a: native4, b: native6}}\n"
        "workloads: [{ping: {duration: 2s}}]\nevents: [{at: 1s, link: four, mtu: 905}]\n"
    )
    [change] = read(text).combinations[0].events
    assert (change.link, change.mtu_bytes) == ("four", 905)
