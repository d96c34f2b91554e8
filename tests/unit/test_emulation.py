"""Impairments of links: what a file may ask for, what an emulator is told, when links were not as asked."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest
from reasons import texts

from sixbench.bench.emulation import seeds_of
from sixbench.bench.proof.emulation import assess
from sixbench.lab.emulation import change, held_bytes
from sixbench.lab.netem import REACH, TABLES, table, unfit
from sixbench.lab.render import render
from sixbench.mechanisms import MECHANISMS
from sixbench.model.emulation import DISTRIBUTIONS, ChosenPackets, GilbertElliott, Impairments
from sixbench.model.errors import ExperimentError
from sixbench.model.evidence.emulation import HistogramSummary
from sixbench.model.observation import EmulateAnswer
from sixbench.model.topology import Link, Topology
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

EXPERIMENT = """
topology:
  nodes: {{h1: host, h2: host}}
  links: [{{endpoints: [h1, h2], {link}}}]
paths: {{ipv4: native4, ipv6: native6}}
workloads: [ping: {{count: 10}}]
"""


def topologies(link: str, file: str = "test.yaml") -> tuple[Topology, ...]:
    return read_experiment(parse_yaml(EXPERIMENT.format(link=link), file), MECHANISMS).topologies


def link_of(link: str, file: str = "test.yaml") -> Link:
    return topologies(link, file)[0].links[0]


@pytest.mark.parametrize(
    ("link", "impairments"),
    [
        ("delay: 5ms", Impairments(delay_ns=5_000_000)),
        (
            "delay: 5ms, jitter: 1ms, jitter-distribution: normal, jitter-correlation: 25%",
            Impairments(delay_ns=5_000_000, jitter_ns=1_000_000, distribution="normal", jitter_correlation=0.25),
        ),
        ("loss: 1%", Impairments(loss=ChosenPackets(ratio=0.01))),
        ("loss: 100%", Impairments(loss=ChosenPackets(ratio=1.0))),
        ("loss: 20%, loss-burst: 4", Impairments(loss=GilbertElliott(to_bad=0.0625, to_good=0.25))),
        (
            "gilbert-elliott: 1% 20% 0% 50%",
            Impairments(loss=GilbertElliott(to_bad=0.01, to_good=0.2, loss_in_good=0.0, loss_in_bad=0.5)),
        ),
        ("lost-packets: 3 10-12", Impairments(loss=ChosenPackets(packets=(3, 10, 11, 12)))),
        ("lost-packets: 0", Impairments(loss=ChosenPackets(packets=(0,)))),
        ("duplicated-packets: 5-6", Impairments(duplicate=ChosenPackets(packets=(5, 6)))),
        ("late-packets: 7, late-by: 3", Impairments(late=(7,), late_by=3)),
        ("delay: 1ms, reorder: 2%", Impairments(delay_ns=1_000_000, overtaking=ChosenPackets(ratio=0.02))),
        ("corrupt: 1%", Impairments(corrupt=ChosenPackets(ratio=0.01))),
    ],
)
def test_what_a_link_is_given_it_does_both_ways(link: str, impairments: Impairments) -> None:
    assert link_of(link).impairments == (impairments, impairments)


def test_a_direction_may_differ() -> None:
    link = link_of("delay: 5ms, loss: 1%, forward: {delay: 1ms}, reverse: {loss: 0%}")
    assert link.impairments == (
        Impairments(delay_ns=1_000_000, loss=ChosenPackets(ratio=0.01)),
        Impairments(delay_ns=5_000_000),
    )
    assert not link_of("forward: {delay: 0ms}").is_emulated


def test_a_setting_of_a_direction_can_be_a_factor() -> None:
    actual_topologies = topologies("delay: 1ms, reverse: {loss: [0%, 1%, 2%]}")
    assert [actual_topology.links[0].impairments[1].loss_ratio for actual_topology in actual_topologies] == [
        0.0,
        0.01,
        0.02,
    ]


def test_what_loses_packets_carries_no_super_packets() -> None:
    assert [link_of(text).offload_on for text in ("mtu: 1500", "loss: 1%", "loss: 1%, offload: true")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("link", "key", "words"),
    [
        ("loss: 101%", "loss", "at most 100%"),
        ("delay: 2ms, jitter: 5ms", "jitter", "would need delays under 0"),
        ("delay: 2ms, jitter: 1ms, jitter-correlation: 100%", "jitter-correlation", "give 0% to under 100%"),
        ("delay: 2ms, jitter: 1ms, jitter-distribution: zipf", "jitter-distribution", "not one of uniform"),
        ("jitter-distribution: normal", "jitter-distribution", "needs jitter"),
        ('lost-packets: ""', "lost-packets", "is not a list of packets"),
        ("lost-packets: 5 4", "lost-packets", "must be in ascending order"),
        ("lost-packets: 9-5", "lost-packets", "must be in ascending order"),
        ("lost-packets: 1-5000", "lost-packets", "too many"),
        ("lost-packets: five", "lost-packets", "neither the number"),
        ("loss: 1%, lost-packets: 5", "lost-packets", "leave one of them out"),
        ("loss-burst: 4", "loss-burst", "needs loss"),
        ("loss: 90%, loss-burst: 2", "loss-burst", "cannot come in bursts"),
        ("gilbert-elliott: 1% 2%", "gilbert-elliott", "four percentages"),
        ("reorder: 1%", "reorder", "needs delay"),
        ("late-packets: 5, late-by: 0", "late-by", "at least 1"),
        ("delay: 1ms, emulator: tc", "emulator", "not one of netem"),
        ("delay: 1ms, reverse: {jitter: 2ms}", "reverse.jitter", "would need delays under 0"),
        ("delay: 1ms, forward: {mtu: 1400}", "forward.mtu", "unknown key"),
        ("delay: 1ms, in-order: true, reorder: 1%", "in-order", "leave one of them out"),
        ("forward: 5ms", "forward", "must be a mapping"),
        ("delay-file: nowhere.txt", "delay-file", "nowhere.txt: No such file"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(link: str, key: str, words: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        topologies(link)
    assert [(problem.line, problem.key, words in problem.message) for problem in caught.value.problems] == [
        (4, f"topology.links.0.{key}", True)
    ], [problem.message for problem in caught.value.problems]


def test_delays_come_from_a_file_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "lte.txt").write_text("# one way\n40ms\n20ms # early\n\n30ms\n")
    impairments = link_of("delay-file: lte.txt", str(tmp_path / "test.yaml")).impairments[0]
    assert impairments.delays_ns == (20_000_000, 30_000_000, 40_000_000)
    assert (impairments.mean_delay_ns, impairments.longest_delay_ns) == (30_000_000, 40_000_000)
    quantiles = impairments.quantiles_ns()
    assert (quantiles[0], quantiles[len(quantiles) // 2], quantiles[-1]) == impairments.delays_ns


@pytest.mark.parametrize(
    ("text", "words"),
    [("10ms\nsoon\n", "lte.txt:2: "), ("10ms\n", "has 1 delays; give 2 to 65536"), ("\x00\xff" * 50, "lte.txt:1: ")],
)
def test_garbage_in_a_file_of_delays_is_told_by_its_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "lte.txt").write_text(text)
    with pytest.raises(ExperimentError, match=words):
        topologies("delay-file: lte.txt", str(tmp_path / "test.yaml"))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_quantiles_have_the_mean_and_the_spread_asked_for(distribution: Any) -> None:
    quantiles_ns = Impairments(delay_ns=10**9, jitter_ns=10**6, distribution=distribution).quantiles_ns()
    assert quantiles_ns == sorted(quantiles_ns)
    # The far tail of the Pareto distribution is beyond the last quantile.
    assert abs(fmean(quantiles_ns)) < 5_000
    spread = 10**6 / 3**0.5 if distribution == "uniform" else 10**6
    assert pstdev(quantiles_ns) == pytest.approx(spread, rel=0.1 if distribution == "pareto" else 0.01)


def test_the_emulator_is_a_node_between_the_ends() -> None:
    scripts = render(topologies("delay: 5ms, mtu: 1400")[0])
    assert list(scripts) == ["h1", "h2", "(links)"]
    assert scripts["h1"].links[0].endswith("peer name l0a index 11 netns {pid:(links)}")
    assert scripts["h2"].links[0].endswith("peer name l0b index 10 netns {pid:(links)}")
    (request,) = scripts["(links)"].emulation
    assert request.op == "emulate-add"
    assert (request.fields["interfaces"], request.fields["frame_bytes"]) == (["l0a", "l0b"], 1414)
    assert list(render(topologies("delay: 5ms, emulator: netem")[0])) == ["h1", "h2"]


def test_what_the_emulator_is_told() -> None:
    link = link_of(
        "delay: 5ms, jitter: 1ms, forward: {loss: 1%, loss-burst: 2}, reverse: {lost-packets: 4, late-packets: 9}"
    )
    actual_change = change(link, (1, 2))
    assert (
        actual_change["forward"]["delay_ns"],
        actual_change["forward"]["seed"],
        actual_change["reverse"]["seed"],
    ) == (5_000_000, 1, 2)
    assert (actual_change["forward"]["jitter_ns"][0], actual_change["forward"]["jitter_ns"][-1]) == (
        -1_000_000,
        1_000_000,
    )
    assert set(actual_change["forward"]["loss"]["gilbert-elliott"]) == {
        "to_bad",
        "to_good",
        "loss_in_good",
        "loss_in_bad",
    }
    assert actual_change["reverse"]["loss"] == {"packets": [4]}
    assert actual_change["reverse"]["late"] == {"packets": [9], "by": 1}
    assert "wire_bps" not in actual_change["forward"]


def test_the_emulator_spaces_what_a_rate_lets_go_in_bunches() -> None:
    actual_change = change(link_of("delay: 5ms, rate: 20Mbit, reverse: {rate: 1Mbit}"), (1, 2))
    assert (actual_change["forward"]["wire_bps"], actual_change["reverse"]["wire_bps"]) == (20_000_000, 1_000_000)


def test_seeds_are_those_of_the_words_the_link_and_the_direction() -> None:
    link = link_of("delay: 5ms")
    assert seeds_of("1/1/c0001", link) == seeds_of("1/1/c0001", link)
    assert len({*seeds_of("1/1/c0001", link), *seeds_of("1/2/c0001", link)}) == 4


def test_memory_is_bounded_by_rate_and_delay() -> None:
    small = held_bytes(link_of("rate: 1Mbit, delay: 10ms"), 1514)
    assert small < held_bytes(link_of("rate: 100Mbit, delay: 200ms"), 1514) < held_bytes(link_of("delay: 60s"), 1514)
    assert held_bytes(link_of("delay: 60min"), 1514) == 2 * 2**30


@pytest.mark.parametrize(
    ("link", "lacks"),
    [
        ("loss: 1%", None),
        ("delay: 9ms, jitter: 2ms, jitter-distribution: normal, loss: 1%, corrupt: 1%, reorder: 1%", None),
        ("delay: 1ms, duplicate: 1%", None),
        ("rate: 1Mbit, delay: 1ms", None),
        ("lost-packets: 5", "packets chosen by their number"),
        ("reverse: {late-packets: 5}", "packets chosen by their number"),
        ("delay: 9ms, jitter: 2ms, jitter-correlation: 1%", "correlated jitter"),
        ("delay: 9ms, jitter: 2ms, jitter-distribution: pareto", None),
        ("delay: 9ms, in-order: true", None),
        ("delay: 9ms, jitter: 2ms, in-order: true", "jitter that keeps the order of packets"),
        ("delay: 274s", None),
        ("delay: 275s", "a delay of more than 274 s"),
        ("delay: 3s, jitter: 2147ms", None),
        ("delay: 3s, jitter: 2148ms", "a jitter of more than 2.1 s"),
        ("delay: 3s, jitter: 400ms, jitter-distribution: pareto", "a jitter of more than 0.36 s"),
        ("loss: 1%, duplicate: 1%", "duplicates beside jitter, loss, corruption or reordering"),
        ("rate: 1Mbit, loss: 1%", "anything but a delay behind a rate"),
    ],
)
def test_what_netem_cannot_do(link: str, lacks: str | None) -> None:
    assert unfit(link_of(link)) == lacks


@pytest.mark.parametrize("distribution", list(REACH))
def test_netem_is_given_the_distribution_that_our_emulator_has(distribution: Any) -> None:
    """`SIXBENCH_UPDATE_GOLDEN=1` writes the files anew."""
    path = TABLES / f"{distribution}.dist"
    if os.environ.get("SIXBENCH_UPDATE_GOLDEN") == "1":
        path.write_text(table(distribution))
    assert path.read_text() == table(distribution)
    jitter_ns = 10**6
    numbers = [int(word) for line in path.read_text().splitlines()[1:] for word in line.split()]
    assert (len(numbers), max(map(abs, numbers)) < 2**15) == (4096, True)
    ours = Impairments(delay_ns=10**9, jitter_ns=jitter_ns, distribution=distribution).quantiles_ns()
    theirs = [number * REACH[distribution] * jitter_ns / 8192 for number in numbers]
    between = [(low + high) / 2 for low, high in pairwise(ours)]
    assert theirs[:-40] == pytest.approx(between[:-40], abs=0.02 * jitter_ns)
    assert fmean(theirs) == pytest.approx(0, abs=0.01 * jitter_ns)


def histogram(p99_ns: int, count: int = 1000) -> dict[str, Any]:
    values = dict.fromkeys(("min", "max", "mean", "stdev", "p50", "p90", "p999"), 1)
    return values | {"unit": "ns", "count": count, "p99": p99_ns, "buckets": [[1, 1]]}


def record(**changed: Any) -> EmulateAnswer:
    direction = {"packets": 1000, "lost": 0, "socket_drops": 0, "no_room": 0, "send_errors": 0} | {
        "delay": histogram(5_050_000),
        "lateness": histogram(50_000),
    }
    return EmulateAnswer.model_validate({"forward": direction | changed, "reverse": direction})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, None),
        ({"socket_drops": 3}, "lost packets that it could not take in time: 3"),
        ({"no_room": 3}, "for want of memory"),
        (
            {"send_errors": 3, "send_errors_by_code": {"ENOBUFS": 2, "ENETDOWN": 1}},
            "could not send packets (ENOBUFS, ENETDOWN): 3",
        ),
        ({"lateness": histogram(260_000)}, "1 % of the packets were late by 0.26 ms"),
        ({"lateness": histogram(260_000, count=10)}, None),
    ],
)
def test_a_trial_whose_emulator_fell_behind_is_invalid(changed: dict[str, Any], words: str | None) -> None:
    topology = topologies("delay: 5ms")[0]
    assessment = assess(topology, {"h1-h2": record(**changed)})
    assert [words in reason.text for reason in assessment.invalid if words] == ([True] if words else [])
    assert assessment.links["h1-h2"].direction("forward").delay == HistogramSummary(
        unit="ns", count=1000, min=1, max=1, mean=1, stdev=1, p50=1, p90=1, p99=5_050_000, p999=1
    )
    assert texts(assess(topology, {}).invalid) == ["the emulator of h1-h2 did not report what it did"]


def test_packets_of_a_link_that_an_event_took_down_are_lost_with_it() -> None:
    topology = topologies("delay: 5ms")[0]
    records = {"h1-h2": record(send_errors=3, send_errors_by_code={"ENETDOWN": 3})}
    assert len(assess(topology, records).invalid) == 1
    assert assess(topology, records, ["h1-h2"]).invalid == []
