"""Comparisons of the same two paths over a factor: each level by itself, their mean, and what reports say of both."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import synthetic
from synthetic_servers import FACTOR, towards

from sixbench.analysis import analyse
from sixbench.mechanisms import MECHANISMS
from sixbench.model.comparison_group import ComparisonGroup, GroupMember, Outcome
from sixbench.model.errors import ExperimentError
from sixbench.model.experiment import Statistics
from sixbench.model.finding import Analysis
from sixbench.model.parameter import Scalar
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml
from sixbench.report import FORMATS, Selection, group_words
from sixbench.report.figures import drawings
from sixbench.report.figures.style import NARROW_IN, WIDTH_IN, house_style
from sixbench.store import Run, read_run

pytestmark = pytest.mark.computes


MIXED = (0.15, 0.12, 0.0, 0.0, 0.0, -0.2)


@cache
def run_towards(*changes: float, scatter: float = 0.02, seed: int = 1, blocks: int = 10) -> Run:
    return towards(changes, scatter=scatter, seed=seed, blocks=blocks).in_memory()


@cache
def mixed_analysis() -> Analysis:
    return analyse(run_towards(*MIXED))


def median_group(analysis: Analysis) -> ComparisonGroup:
    [group] = [group for group in analysis.groups if group.metric == "connect_p50"]
    return group


def outcomes(group: ComparisonGroup) -> list[str]:
    return [member.outcome for member in group.members]


def test_each_level_has_the_outcome_of_its_finding_and_the_mean_has_an_interval() -> None:
    group = median_group(mixed_analysis())
    assert (group.factor, group.path, group.baseline, group.levels) == (FACTOR, "ipv6", "ipv4", {})
    assert outcomes(group) == ["higher", "higher", "within", "within", "within", "lower"]
    assert group.counts == {"higher": 2, "lower": 1, "within": 3}
    pooled = group.pooled
    assert pooled is not None
    assert pooled.ratio is not None
    assert pooled.ci_low < math.exp(sum(map(math.log1p, MIXED)) / len(MIXED)) < pooled.ci_high
    assert pooled.p_value is not None
    assert pooled.p_value < 0.001
    assert pooled.i_squared > 0.9
    weights = [member.weight for member in group.members]
    assert sum(weight for weight in weights if weight is not None) == pytest.approx(1)


def test_forty_servers_of_which_five_are_slower_by_15_percent() -> None:
    """Those five and no other; the interval of the mean holds the truth."""
    true = [0.15] * 5 + [0.0] * 35
    for seed in range(2):
        group = median_group(analyse(run_towards(*true, scatter=0.03, seed=seed)))
        assert [outcome == "higher" for outcome in outcomes(group)] == [True] * 5 + [False] * 35
        assert "lower" not in outcomes(group)
        assert group.pooled is not None
        assert group.pooled.ci_low < math.exp(5 * math.log1p(0.15) / 40) < group.pooled.ci_high


def test_equal_servers_are_not_called_different() -> None:
    """Forty of them, so that five in a hundred runs may call one different: of two runs, none."""
    for seed in range(2):
        group = median_group(analyse(run_towards(*[0.0] * 40, seed=seed)))
        assert not {"higher", "lower"} & set(outcomes(group))
        assert group.pooled is not None
        assert group.pooled.ci_low < 1 < group.pooled.ci_high


def test_no_factor_is_pooled_unless_it_is_asked_for() -> None:
    run = run_towards(*MIXED)
    experiment = run.manifest.experiment
    statistics = replace(experiment.statistics, pool=None)
    asked_nothing = replace(run, manifest=replace(run.manifest, experiment=replace(experiment, statistics=statistics)))
    analysis = analyse(asked_nothing)
    assert analysis.groups == []
    assert "groups" not in json.loads(FORMATS["json"].render(asked_nothing, analysis))


def test_any_factor_can_be_pooled_and_other_levels_stay_apart() -> None:
    sizes: list[Scalar] = [64, 1024, 65536]
    links: list[dict[str, Scalar]] = [{"link_mtu_bytes": 1280}, {"link_mtu_bytes": 1500}]
    chosen = synthetic.experiment(synthetic.NATIVE, [("tcp-rr", {"message_bytes": sizes})], links=links)
    run = synthetic.build(replace(chosen, statistics=Statistics(pool="message_bytes")), 5).in_memory()
    groups = [group for group in analyse(run).groups if group.metric == "rtt_p50"]
    assert [(len(group.members), group.levels) for group in groups] == [(3, link) for link in links]
    assert {group.path for group in groups} == {"ipv6"}, "A/A comparisons are none"
    assert group_words.size(groups[0]) == "3 levels of message"


def test_a_server_without_valid_pairs_is_not_compared_and_is_not_in_the_mean() -> None:
    run = run_towards(*MIXED)
    spoilt = {trial.key for trial in run.trials if trial.levels[FACTOR] == "server03.example"}
    trials = [
        replace(trial, status="failed", metrics={}, histograms={}) if trial.key in spoilt else trial
        for trial in run.trials
    ]
    group = median_group(analyse(replace(run, trials=trials)))
    assert outcomes(group)[2] == "not compared"
    assert group.members[2].weight is None
    assert group.pooled is not None
    assert group.pooled.groups == 5
    assert "1 could not be compared" in group_words.counts_sentence(group)
    assert "The mean change of 5 servers" in group_words.mean_sentence(group, 0.95)


# --- words --------------------------------------------------------------------------------------------------------


def group_of(*counts: tuple[Outcome, int], metric: str = "connect_p50", unit: str = "ns") -> ComparisonGroup:
    members = [
        GroupMember(level=f"s{number}", combination=f"c{number}", outcome=outcome, weight=None)
        for number, outcome in enumerate(outcome for outcome, times in counts for _ in range(times))
    ]
    return ComparisonGroup(
        factor="server", workload="tcp-connect", metric=metric, unit=unit, path="ipv6", baseline="ipv4", levels={},
        margin=0.05, members=members, pooled=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("group", "sentence"),
    [
        (
            group_of(("higher", 3), ("lower", 1), ("within", 12), ("undecided", 4)),
            "Of 20 servers, 3 are slower over IPv6, 1 is faster, 12 differ by less than 5 % either way, and 4 are "
            "undecided.",
        ),
        (
            group_of(("higher", 1), ("lower", 2), ("within", 1), ("mixed", 1), ("undecided", 1), ("not compared", 1)),
            "Of 7 servers, 1 is slower over IPv6, 2 are faster, 1 differs by less than 5 % either way, 1 is mixed, "
            "1 is undecided, and 1 could not be compared.",
        ),
        (
            group_of(("lower", 1), ("within", 1)),
            "Of 2 servers, 1 is faster over IPv6 and 1 differs by less than 5 % either way.",
        ),
        (group_of(("higher", 20)), "All 20 servers are slower over IPv6."),
        (group_of(("within", 2)), "Both servers differ by less than 5 % either way."),
        (group_of(("undecided", 5)), "All 5 servers are undecided."),
        (
            group_of(("higher", 1), ("lower", 3), metric="goodput", unit="bit/s"),
            "Of 4 servers, 1 is faster over IPv6 and 3 are slower.",
        ),
        (
            group_of(("higher", 1), ("within", 2), metric="loss_ratio", unit="1"),
            "Loss: of 3 servers, 1 is higher over IPv6 and 2 differ by less than 5 pp either way.",
        ),
        (group_of(("within", 3), metric="cpu_per_byte"), "CPU time per byte: all 3 servers differ by less than 5 % either way."),  # noqa: E501
    ],
)  # fmt: skip
def test_counts_are_a_sentence(group: ComparisonGroup, sentence: str) -> None:
    assert group_words.counts_sentence(group) == sentence


def test_counts_are_a_phrase_too() -> None:
    group = group_of(("higher", 3), ("lower", 1), ("within", 12), ("undecided", 4))
    phrase = "of 20 servers 3 slower, 1 faster, 12 less than 5 % either way, 4 undecided"
    assert group_words.counts_phrase(group) == phrase


@pytest.mark.parametrize(
    ("factor", "levels", "size"),
    [
        ("server", ("a", "b"), "2 servers"),
        ("city", ("a", "b"), "2 cities"),
        ("mailbox", ("a", "b"), "2 mailboxes"),
        ("day", ("a",), "1 day"),
        ("link_mtu_bytes", (1280, 1500), "2 levels of link MTU"),
    ],
)
def test_levels_are_named_by_their_factor(factor: str, levels: tuple[str | int, ...], size: str) -> None:
    members = [GroupMember(level=level, combination=str(level), outcome="within", weight=None) for level in levels]
    assert group_words.size(replace(group_of(("within", 1)), factor=factor, members=members)) == size


# --- formats ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["terminal", "md", "latex", "html"])
def test_every_format_has_the_servers_and_their_mean(form: str) -> None:
    run, analysis = run_towards(*MIXED), mixed_analysis()
    text = FORMATS[form].render(run, analysis)
    plain = " ".join(re.sub(r"[$~\u00a0\\]", " ", text).split())
    assert "Of 6 servers, 2 are slower over IPv6, 1 is faster, and 3 differ by less than 5 % either way." in plain
    assert "of 6 servers 2 slower, 1 faster, 3 less than 5 % either way" in plain or form == "latex"
    assert "mean of 6 servers" in plain
    assert "one more server" in plain
    assert all(f"server{number:02d}.example" in plain for number in range(1, 7))


def test_json_has_the_groups_with_their_findings() -> None:
    run = run_towards(*MIXED)
    data = json.loads(FORMATS["json"].render(run, mixed_analysis()))
    [group] = [group for group in data["groups"] if group["metric"] == "connect_p50"]
    findings = {finding["combination"] for finding in data["findings"] if finding["metric"] == "connect_p50"}
    assert {member["combination"] for member in group["members"]} == findings
    assert group["counts"] == {"higher": 2, "lower": 1, "within": 3}
    assert group["pooled"]["ci_low"] < group["pooled"]["ratio"] < group["pooled"]["ci_high"]
    assert group["pooled"]["predicted_low"] < group["pooled"]["ci_low"]
    assert group["sentences"].startswith("Of 6 servers, 2 are slower over IPv6")


def test_csv_has_outcomes_weights_and_means() -> None:
    run, analysis = run_towards(*MIXED), mixed_analysis()
    rows = [
        row
        for row in csv.DictReader(io.StringIO(FORMATS["csv"].render(run, analysis)))
        if row["metric"] == "connect_p50"
    ]
    *members, mean = rows
    assert [row["outcome"] for row in members] == outcomes(median_group(analysis))
    assert sum(float(row["weight"]) for row in members) == pytest.approx(1)
    assert (mean["pooled_over"], mean["level_server"], mean["n"], mean["outcome"]) == (FACTOR, "", "6", "")
    assert float(mean["ci_low"]) < float(mean["ratio"]) < float(mean["ci_high"])
    assert float(mean["predicted_low"]) < float(mean["ci_low"])


def test_a_selection_of_metrics_selects_groups_too() -> None:
    selected = Selection(metrics=("connect_p99",)).of(mixed_analysis())
    assert {group.metric for group in selected.groups} == {"connect_p99"}


@pytest.mark.parametrize(("servers", "width_in"), [(2, WIDTH_IN), (2, NARROW_IN), (20, WIDTH_IN), (200, NARROW_IN)])
def test_the_figure_has_every_server_and_the_mean_on_each_page(servers: int, width_in: float) -> None:
    changes = [0.15, *[0.0] * (servers - 1)]
    run = run_towards(*changes, blocks=2)
    analysis = analyse(run)
    pages = [drawing for drawing in drawings(run, analysis) if "connect-p50-ipv6-over-server" in drawing.name]
    assert len(pages) == math.ceil(servers / 50)
    named: list[str] = []
    for drawing in pages[:2]:
        with house_style():
            figure = drawing.draw(width_in).figure
            figure.draw_without_rendering()
        [axes] = figure.axes
        labels = [label.get_text() for label in axes.get_yticklabels()] or [text.get_text() for text in axes.texts]
        assert sum(label.startswith(f"mean of {servers}") for label in labels) == 1
        named += [label for label in labels if label.startswith("server")]
        for text in axes.texts:
            right = text.get_window_extent().x1
            assert right <= figure.bbox.width + 2, text.get_text()
    assert len(named) == min(servers, 2 * math.ceil(servers / len(pages)))
    assert named[0].startswith("server01.example"), "the worst is at the top"


def test_servers_have_no_second_figure_of_changes() -> None:
    run = run_towards(*MIXED)
    assert not [drawing for drawing in drawings(run, mixed_analysis()) if drawing.name.endswith("-changes")]


# --- experiments --------------------------------------------------------------------------------------------------

SITES = """\
experiment: sites
factors: {site: [dsl, fibre, lte], size: [64B, 1KiB]}
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1], profile: $site}, {endpoints: [r1, h2], mtu: [1280, 1500]}]
paths: {ipv4: native4, ipv6: native6}
workloads: [{tcp-rr: {message: $size}}]
statistics: {pool: POOL}
"""


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("site", "site"),
        ("size", "size_bytes"),
        ("size_bytes", "size_bytes"),
        ("link_mtu_bytes", "link_mtu_bytes"),
    ],
)
def test_a_factor_is_named_by_itself_or_by_its_column(name: str, column: str) -> None:
    experiment = read_experiment(parse_yaml(SITES.replace("POOL", name), "x.yaml"), MECHANISMS)
    assert experiment.statistics.pool == column


def test_options_of_paths_are_no_factor_to_pool() -> None:
    text = SITES.replace(
        "paths: {ipv4: native4, ipv6: native6}", "paths: {ipv4: native4, t: {6in4: {nodes: [h1, h2], ttl: $ttl}}}"
    )
    text = text.replace("factors: {", "factors: {ttl: [32, 64], ").replace("POOL", "ttl")
    with pytest.raises(
        ExperimentError, match=r"each level of \$ttl makes a path of its own.*pool a factor of the network"
    ):
        read_experiment(parse_yaml(text, "x.yaml"), MECHANISMS)


def test_a_run_directory_keeps_the_factor(tmp_path: Path) -> None:
    run = towards(MIXED, blocks=2).write(tmp_path / "run")
    assert run.manifest.experiment.statistics.pool == FACTOR
    assert [group.factor for group in analyse(read_run(run.directory)).groups] == [FACTOR, FACTOR]
