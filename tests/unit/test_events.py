"""What changes in the midst of a trial: as an experiment says it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.model.experiment import Experiment, LinkChange

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

TEXT = "topology: {chain: 4}\npaths: {ipv4: native4, ipv6: native6}\nworkloads: [{ping: {duration: 2s}}]\nevents:\n"


def test_events_are_of_every_combination_in_the_order_of_time(read: Read) -> None:
    events = "  - {at: 2s, link: r1-r2, mtu: 1300}\n  - {at: 500ms, link: r1-r2, mtu: 1400}\n"
    [combination] = read(TEXT + events).combinations
    assert combination.events == (
        LinkChange(at_ns=500_000_000, link="r1-r2", mtu_bytes=1400),
        LinkChange(at_ns=2_000_000_000, link="r1-r2", mtu_bytes=1300),
    )
    assert combination.levels == {}


def test_an_mtu_may_have_levels(read: Read) -> None:
    combinations = read(TEXT + "  - {at: 1s, link: r1-r2, mtu: [1500, 1400]}\n").combinations
    assert [combination.levels for combination in combinations] == [
        {"event_mtu_bytes": 1500},
        {"event_mtu_bytes": 1400},
    ]
    assert [combination.events[0].mtu_bytes for combination in combinations] == [1500, 1400]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("{at: 1s, link: r1-r2}", "events.0: mtu is missing; an event is such as"),
        ("{at: 1s, link: r1-r9, mtu: 1400}", 'events.0.link: there is no link "r1-r9"; did you mean "r1-r2"?'),
        ("{at: 1, link: r1-r2, mtu: 1400}", "events.0.at: 1 has no unit"),
        ("{at: 0s, link: r1-r2, mtu: 1400}", 'events.0.at: "0s" is out of range'),
        ("{at: 1s, link: r1-r2, mtu: 1279}", "events.0.mtu: an MTU of 1279 is too small for IPv6"),
        ("{at: 1s, link: r1-r2, mtu: 14}", "events.0.mtu: an MTU of 14 cannot be"),
        ("{at: 1s, link: r1-r2, rate: 1Mbit, mtu: 1400}", "events.0.rate: unknown key"),
        ("{at: 3s, link: r1-r2, mtu: 1400}", "events.0.at: after 3s a trial of 2500ms with its warm-up is over"),
        ("r1-r2", 'events.0: an event must be a mapping (key: value), not "r1-r2"'),
    ],
)
def test_what_is_wrong_with_an_event(problems: Problems, event: str, said: str) -> None:
    found = problems(f"{TEXT}  - {event}\n")
    assert len(found) == 1, found
    assert found[0].startswith("test.yaml:5: ")
    assert said in found[0]
