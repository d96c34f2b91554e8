"""Access profiles: those that come with sixbench, those of a user's own, and what a link makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sixbench.mechanisms import MECHANISMS
from sixbench.model.direction import LinkDirection, RateQueue
from sixbench.model.emulation import ChosenPackets, GilbertElliott, Impairments
from sixbench.model.errors import ExperimentError
from sixbench.model.experiment import Experiment
from sixbench.model.topology import Link
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.link_settings import DIRECTION_SETTINGS
from sixbench.plan.profile_file import shipped_profiles
from sixbench.plan.yaml_source import read_yaml

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

TEXT = """
topology:
  nodes: {{home: host, isp: router, server: host}}
  links:
    - {{endpoints: [home, isp], name: access, {link}}}
    - {{endpoints: [isp, server]}}
paths: {{ipv4: native4, ipv6: native6}}
workloads: [ping: {{count: 10}}]
"""
VILLAGE = """
  title: Copper
  down: {rate: 6Mbit, delay: 15ms, jitter: 2ms, jitter-distribution: normal}
  up: {rate: 700kbit, queue: 200ms, delay: 15ms, loss: 1%, loss-burst: 3}
"""
PROFILES = "profiles:\n  village:" + VILLAGE.replace("\n  ", "\n    ")


def access(read: Read, link: str, more: str = "") -> Link:
    return read(TEXT.format(link=link) + more).topologies[0].links[0]


@pytest.mark.parametrize("name", ["fibre", "cable", "dsl", "lte", "5g", "leo", "geo"])
def test_every_number_of_a_profile_has_its_source(read: Read, name: str) -> None:
    profile = shipped_profiles()[name]
    given = {key for direction in profile.directions for key in direction}
    assert {"rate", "delay", "queue"} <= given <= DIRECTION_SETTINGS.keys()
    wanted = given | {"rate", "queue", "delay", "jitter", "loss"} | ({"mtu"} if profile.mtu_bytes else set())
    assert wanted - {"jitter-distribution", "loss-burst"} == profile.sources.keys()
    link = access(read, f"profile: {name}")
    assert link.profile == name
    assert all(direction.rate_bps for direction in link.directions)


def test_the_first_endpoint_is_the_customer(read: Read) -> None:
    up, down = access(read, "profile: village", PROFILES).directions
    assert up == LinkDirection(
        rate_bps=700_000,
        queue=RateQueue(limit_ns=200_000_000),
        impairments=Impairments(delay_ns=15_000_000, loss=GilbertElliott(to_bad=1 / 297, to_good=1 / 3)),
    )
    assert (down.rate_bps, down.queue, down.impairments.distribution) == (6_000_000, RateQueue(), "normal")
    link = access(read, "profile: dsl")
    assert (link.mtu_bytes, link.directions[0].rate_bps, link.directions[1].rate_bps) == (1492, 8_000_000, 33_000_000)


@pytest.mark.parametrize(
    ("beside", "up", "down"),
    [
        ("rate: 1Mbit", {"rate_bps": 1_000_000}, {"rate_bps": 1_000_000}),
        ("reverse: {rate: 1Mbit}", {"rate_bps": 700_000}, {"rate_bps": 1_000_000}),
        ("queue: 64KiB", {"queue": RateQueue(limit_bytes=65536)}, {"queue": RateQueue(limit_bytes=65536)}),
    ],
)
def test_a_key_beside_it_takes_the_place_of_the_profiles(
    read: Read, beside: str, up: dict[str, Any], down: dict[str, Any]
) -> None:
    link = access(read, f"profile: village, {beside}", PROFILES)
    for direction, wanted in zip(link.directions, (up, down), strict=True):
        assert {key: getattr(direction, key) for key in wanted} == wanted


@pytest.mark.parametrize(
    ("beside", "impairments"),
    [
        ("jitter: 0", Impairments(delay_ns=15_000_000)),
        ("loss: 0%", Impairments(delay_ns=15_000_000, jitter_ns=2_000_000, distribution="normal")),
        (
            "lost-packets: 5",
            Impairments(
                delay_ns=15_000_000, jitter_ns=2_000_000, distribution="normal", loss=ChosenPackets(packets=(5,))
            ),
        ),
    ],
)
def test_what_then_has_nothing_to_belong_to_goes(read: Read, beside: str, impairments: Impairments) -> None:
    up, down = access(read, f"profile: village, {beside}", PROFILES).impairments
    assert down == impairments
    if beside != "jitter: 0":
        assert up.loss == impairments.loss


def test_the_mtu_beside_it_is_the_links(read: Read) -> None:
    assert access(read, "profile: dsl, mtu: 1500").mtu_bytes == 1500


def test_a_profile_can_be_a_factor(read: Read) -> None:
    experiment = read(TEXT.format(link="profile: [lte, village]") + PROFILES)
    assert [combination.levels for combination in experiment.combinations] == [
        {"link_profile": "lte"},
        {"link_profile": "village"},
    ]
    rates = [[direction.rate_bps for direction in topology.links[0].directions] for topology in experiment.topologies]
    assert rates == [[6_300_000, 21_000_000], [700_000, 6_000_000]]
    shared = read(TEXT.format(link="profile: $access") + "factors: {access: [geo, leo]}\n")
    assert [combination.levels["access"] for combination in shared.combinations] == ["geo", "leo"]


def test_a_profile_may_be_a_file_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "village.yaml").write_text(VILLAGE.replace("\n  ", "\n"))
    file = tmp_path / "test.yaml"
    file.write_text(TEXT.format(link="profile: village.yaml"))
    link = read_experiment(read_yaml(file), MECHANISMS).topologies[0].links[0]
    assert link.directions[0].rate_bps == 700_000


def test_what_is_wrong_with_a_file_is_told_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "village.yaml").write_text("down: {rate: 6Mbit}\nup: {rate: fast}\n")
    file = tmp_path / "test.yaml"
    file.write_text(TEXT.format(link="profile: village.yaml"))
    with pytest.raises(ExperimentError) as caught:
        read_experiment(read_yaml(file), MECHANISMS)
    assert str(caught.value).startswith('village.yaml:2: up.rate: "fast" is not a rate')


@pytest.mark.parametrize(
    ("link", "more", "line", "message"),
    [
        ("profile: fiber", "", 5, 'there is no profile "fiber"; did you mean "fibre"?'),
        ("profile: warp", "", 5, 'there is no profile "warp"; known here: fibre, cable, dsl, 5g, leo, lte, geo'),
        ("profile: 5", "", 5, "5 is not a profile: give a name such as dsl, or a file such as home.yaml"),
        ("profile: nowhere.yaml", "", 5, "reading nowhere.yaml: No such file or directory"),
        ("profile: cable, delay: 1ms", "", 5, "a jitter of 3ms on a delay of 1ms would need delays under 0"),
        ("profile: dsl", PROFILES.replace("down:", "dawn:"), 12, 'unknown key; did you mean "down"?'),
        ("profile: dsl", PROFILES.replace("6Mbit", "6"), 12, "6 has no unit"),
        ("profile: dsl", PROFILES.replace("jitter: 2ms", "jitter: 20ms"), 12, "a jitter of 20ms on a delay of 15ms"),
        ("profile: dsl", PROFILES.replace("village", "lte"), 10, 'a profile named "lte" comes with sixbench'),
        ("profile: dsl", "profiles: 5\n", 9, "profiles must be a mapping"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(
    problems: Problems, link: str, more: str, line: int, message: str
) -> None:
    actual_problems = problems(TEXT.format(link=link) + more)
    assert any(problem.startswith(f"test.yaml:{line}: ") and message in problem for problem in actual_problems), (
        actual_problems
    )


def test_the_command_lists_them_and_tells_their_sources(sixbench: Callable[..., Any]) -> None:
    listed = sixbench("profiles")
    assert listed.exit == 0
    assert (
        "dsl: DSL (VDSL2, fibre to the cabinet), MTU 1492\n  down: 33 Mbit/s, queue 100ms, delay 10ms\n"
        in listed.stdout
    )
    stdout = sixbench("profiles", "geo").stdout
    assert "RFC 2488" in stdout
    assert "fibre" not in stdout
    data = json.loads(sixbench("profiles", "--json").stdout)
    assert [profile["name"] for profile in data["profiles"]] == list(shipped_profiles())
    wrong = sixbench("profiles", "fiber")
    assert (wrong.exit, wrong.stderr) == (2, 'sixbench: there is no profile "fiber"; did you mean "fibre"?\n')


def test_a_plan_shows_what_a_profile_became(sixbench: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "test.yaml"
    file.write_text(TEXT.format(link="profile: dsl"))
    done = sixbench("plan", file, "--commands")
    assert (
        "#   access: profile dsl, MTU 1492; from home: 8 Mbit/s, queue 100ms, delay 10ms; "
        "from isp: 33 Mbit/s, queue 100ms, delay 10ms\n"
    ) in done.stdout
    assert "tbf rate 33000000bit" in done.stdout
    [topology] = json.loads(sixbench("plan", file, "--json").stdout)["topologies"]
    assert (topology["links"][0]["profile"], topology["links"][0]["reverse"]["rate_bps"]) == ("dsl", 33_000_000)
