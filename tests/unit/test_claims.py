"""Verdicts on claims, and published numbers beside ours, from runs whose values are known."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from paper_runs import BOTH, GOODPUT, LENGTHS, beside, run_of, same, slower_ipv6, verdict
from reasons import of_agents

from sixbench.analysis import analyse
from sixbench.analysis.claim_votes import rank_correlation
from sixbench.model.paper import (
    ClaimTest,
    Contrast,
    DirectionTest,
    InTheory,
    Magnitude,
    OurMeasurement,
    OurTheory,
    Quantifier,
    Trend,
    Untestable,
)
from sixbench.report import marks, rows
from sixbench.store import Run

pytestmark = pytest.mark.computes

# Direction


def test_a_direction_is_reproduced() -> None:
    result = verdict(DirectionTest(selector=GOODPUT, expect="lower", quantifier="all"), run_of(slower_ipv6))
    assert result.verdict == "reproduced"
    assert "of 3 comparisons 3 as claimed" in result.reason
    assert "n = 6" in result.reason
    assert len(result.evidence) == 3
    assert "−5.05 % (−5.20 to −4.90)" in result.evidence[0]
    assert "length 128 B" in result.evidence[0]


@pytest.mark.parametrize("noise", [0.001, 0.1, 0.4])
def test_a_claim_prints_a_change_with_the_digits_of_the_table_of_findings(noise: float) -> None:
    run = run_of(slower_ipv6, noise=noise)
    result = verdict(DirectionTest(selector=GOODPUT, expect="lower", quantifier="all"), run)
    goodput = [finding for finding in analyse(run).findings if finding.metric == "goodput" and not finding.is_aa]
    assert len(goodput) == len(result.evidence) == 3
    for row, sentence in zip(map(rows.row, goodput), result.evidence, strict=True):
        assert f": {row.change}" in sentence
        if row.interval != marks.TOO_VARIABLE:
            assert f": {row.change_with_interval} against " in sentence


def test_the_contrary_is_opposite() -> None:
    result = verdict(DirectionTest(selector=GOODPUT, expect="higher", quantifier="most"), run_of(slower_ipv6))
    assert result.verdict == "opposite"


@pytest.mark.parametrize("quantifier", ["all", "most", "any"])
def test_a_real_difference_within_the_margin_is_too_small_to_matter(quantifier: Quantifier) -> None:
    claimed = DirectionTest(selector=GOODPUT, expect="lower", quantifier=quantifier)
    result = verdict(claimed, generous_to_streams(run_of(slower_ipv6)))
    assert result.verdict == "too small to matter"
    assert "3 as claimed and less than the margin" in result.reason
    assert result.blocks_needed is None
    contrary = replace(claimed, expect="higher")
    assert verdict(contrary, generous_to_streams(run_of(slower_ipv6))).verdict == "not reproduced"


def test_one_small_difference_makes_a_claim_on_all_too_small_and_none_on_any() -> None:
    def mostly_much_lower(path: str, length: int) -> float:
        return 1e8 * (1.0 if path == "ipv4" else 0.95 if length == 128 else 0.7)

    run = generous_to_streams(run_of(mostly_much_lower))
    verdicts = {
        q: verdict(DirectionTest(selector=GOODPUT, expect="lower", quantifier=q), run) for q in ("all", "most", "any")
    }
    assert {q: result.verdict for q, result in verdicts.items()} == {
        "all": "too small to matter",
        "most": "reproduced",
        "any": "reproduced",
    }


def test_no_difference_does_not_reproduce_a_direction() -> None:
    result = verdict(DirectionTest(selector=GOODPUT, expect="lower"), run_of(same))
    assert result.verdict == "not reproduced"
    assert "inconclusive" not in result.reason


def test_noise_neither_reproduces_a_direction_nor_refutes_it() -> None:
    result = verdict(DirectionTest(selector=GOODPUT, expect="lower"), run_of(same, noise=0.03))
    assert result.verdict == "undecided"
    assert "3 inconclusive" in result.reason
    assert result.blocks_needed is not None
    assert result.reason.endswith(f"; about {result.blocks_needed} blocks would tell")


def test_blocks_beyond_reason_are_no_advice() -> None:
    result = verdict(DirectionTest(selector=GOODPUT, expect="lower"), run_of(same, noise=0.5))
    assert (result.verdict, result.blocks_needed) == ("undecided", None)
    assert "longer trials" in result.reason


def test_no_difference_is_shown_by_equivalence_only() -> None:
    expected = DirectionTest(selector=GOODPUT, expect="equivalent", quantifier="all")
    assert verdict(expected, run_of(same)).verdict == "reproduced"
    assert verdict(expected, run_of(same, noise=0.1)).verdict == "undecided"
    assert verdict(expected, run_of(slower_ipv6)).verdict == "not reproduced"


def test_a_paper_may_be_more_generous_than_the_experiment() -> None:
    generous = DirectionTest(selector=GOODPUT, expect="equivalent", quantifier="all", margin=0.1)
    assert verdict(generous, run_of(slower_ipv6)).verdict == "reproduced"


def generous_to_streams(run: Run) -> Run:
    """The run with a margin of 10 % for its workload, and of 1 % for all others."""
    experiment = run.manifest.experiment
    statistics = replace(experiment.statistics, margins={"tcp-stream": 0.1})
    return replace(run, manifest=replace(run.manifest, experiment=replace(experiment, statistics=statistics)))


@pytest.mark.parametrize(
    "test",
    [
        DirectionTest(selector=GOODPUT, expect="equivalent", quantifier="all"),
        DirectionTest(selector=GOODPUT, expect="equivalent", quantifier="all", against="ipv4"),
        DirectionTest(selector=GOODPUT, expect="not lower", quantifier="all"),
        Contrast(selector=GOODPUT, of="value", factor="length_bytes", at=128, then=1408, expect="same"),
    ],
    ids=["baseline", "another path", "not lower", "contrast"],
)
def test_a_claim_without_a_margin_of_its_own_takes_that_of_its_workload(test: ClaimTest) -> None:
    def lower(path: str, length: int) -> float:
        return 1e8 * (1 - length / 20_000) * (0.95 if path == "ipv6" else 1.0)

    run = run_of(lower)
    assert verdict(test, run).verdict != "reproduced"
    assert verdict(test, generous_to_streams(run)).verdict == "reproduced"
    changed = replace(test, margin=0.01)
    assert verdict(changed, generous_to_streams(run)).verdict != "reproduced"


def test_a_trend_within_the_margin_of_its_workload_is_none() -> None:
    rises = Trend(selector=BOTH, of="value", factor="length_bytes", expect="rises")

    def slightly(path: str, length: int) -> float:
        return 1e8 * (1 + length * 5e-5)

    assert verdict(rises, run_of(slightly)).verdict == "reproduced"
    assert verdict(rises, generous_to_streams(run_of(slightly))).verdict == "not reproduced"


def test_quantifiers() -> None:
    def lower_at_128(path: str, length: int) -> float:
        return 0.9e8 if path == "ipv6" and length == 128 else 1e8

    run = run_of(lower_at_128)
    verdicts = {
        q: verdict(DirectionTest(selector=GOODPUT, expect="lower", quantifier=q), run) for q in ("all", "most", "any")
    }
    assert {q: result.verdict for q, result in verdicts.items()} == {
        "all": "not reproduced",
        "most": "not reproduced",
        "any": "reproduced",
    }


def test_what_is_undecided_does_not_save_a_claim_that_is_refuted_elsewhere() -> None:
    """In two of three comparisons there is no difference: whatever the third would turn out to be, most have none."""
    run = run_of(same)
    dice = random.Random(3)
    trials = [
        replace(t, metrics={"goodput_bps": 1e8 * (1 + dice.gauss(0, 0.1))}) if t.combination == "c0128" else t
        for t in run.trials
    ]
    noisy = replace(run, trials=trials)
    assert (
        verdict(DirectionTest(selector=GOODPUT, expect="lower", quantifier="most"), noisy).verdict == "not reproduced"
    )
    assert verdict(DirectionTest(selector=GOODPUT, expect="lower", quantifier="any"), noisy).verdict == "undecided"


def test_levels_select_and_parameters_count_as_levels() -> None:
    only = replace(GOODPUT, levels={"length_bytes": (128,), "sndbuf_bytes": (4096,)})
    result = verdict(DirectionTest(selector=only, expect="lower"), run_of(slower_ipv6))
    assert (result.verdict, len(result.evidence)) == ("reproduced", 1)
    none = replace(GOODPUT, levels={"sndbuf_bytes": (8192,)})
    assert verdict(DirectionTest(selector=none, expect="lower"), run_of(slower_ipv6)).verdict == "not testable here"


# Too little


def test_two_blocks_are_too_few_to_judge() -> None:
    tests: list[ClaimTest] = [
        DirectionTest(selector=GOODPUT, expect="lower"),
        Magnitude(selector=GOODPUT, formula="of-baseline", low=-6, high=-4),
        Trend(selector=GOODPUT, of="value", factor="length_bytes", expect="rises"),
        Contrast(selector=GOODPUT, of="value", factor="length_bytes", at=128, then=1408, expect="rises"),
    ]
    for test in tests:
        result = verdict(test, run_of(slower_ipv6, blocks=2))
        assert (result.verdict, result.blocks_needed) == ("undecided", 3)
        assert "too few valid trials: at most 2" in result.reason


def test_invalid_trials_do_not_count() -> None:
    run = run_of(slower_ipv6)
    trials = [replace(t, status="invalid", reasons=of_agents("r")) if t.block > 2 else t for t in run.trials]
    result = verdict(DirectionTest(selector=GOODPUT, expect="lower"), replace(run, trials=trials))
    assert result.verdict == "undecided"


def test_values_of_zero_have_no_ratio() -> None:
    def idle(path: str, length: int) -> float:
        return 0.0

    cpu = replace(GOODPUT, metric="cpu_busy")
    result = verdict(DirectionTest(selector=cpu, expect="lower"), run_of(idle, noise=0, column="cpu_busy_cores"))
    assert result.verdict == "not testable here"
    assert "values of 0, which have no ratio" in result.reason


def test_a_run_without_such_trials_says_so() -> None:
    other = replace(GOODPUT, workloads=("tcp-rr",), metric="rtt_mean")
    result = verdict(DirectionTest(selector=other, expect="lower"), run_of(same))
    assert (result.verdict, result.reason) == (
        "not testable here",
        "this run has no trial that the claim is about",
    )


def test_an_untestable_claim_carries_its_reason() -> None:
    result = verdict(Untestable(reason="it compares two systems"), run_of(same))
    assert (result.verdict, result.reason) == ("not testable here", "it compares two systems")


# Magnitude


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-6, -4, "reproduced"), (-20, -10, "not reproduced"), (4, 6, "opposite"), (-1, 1, "not reproduced")],
)
def test_a_magnitude_is_compared_with_our_interval(low: float, high: float, expected: str) -> None:
    test = Magnitude(selector=GOODPUT, formula="of-baseline", low=low, high=high)
    assert verdict(test, run_of(slower_ipv6)).verdict == expected


def test_a_wide_interval_does_not_reproduce_a_magnitude() -> None:
    test = Magnitude(selector=GOODPUT, formula="of-baseline", low=-6, high=-4)
    result = verdict(test, run_of(slower_ipv6, noise=0.2))
    assert result.verdict == "undecided"
    assert "blocks would tell" in result.reason


# Trend


def test_trends() -> None:
    rises = Trend(selector=BOTH, of="value", factor="length_bytes", expect="rises")
    falls = replace(rises, expect="falls")
    assert verdict(rises, run_of(slower_ipv6)).verdict == "reproduced"
    assert verdict(falls, run_of(slower_ipv6)).verdict == "opposite"
    assert verdict(rises, run_of(same)).verdict == "not reproduced"
    assert verdict(rises, run_of(same, noise=0.05)).verdict == "undecided"


def test_a_trend_within_the_margin_is_none() -> None:
    def barely(path: str, length: int) -> float:
        return 1e8 * (1 + length * 1e-6)

    rises = Trend(selector=GOODPUT, of="value", factor="length_bytes", expect="rises")
    assert verdict(rises, run_of(barely, noise=0)).verdict == "not reproduced"


def test_a_trend_of_the_ratio_is_of_the_difference_alone() -> None:
    def closing(path: str, length: int) -> float:
        return length * 1e6 * (1 - 20 / length if path == "ipv6" else 1.0)

    rises = Trend(selector=GOODPUT, of="ratio", factor="length_bytes", expect="rises")
    result = verdict(rises, run_of(closing))
    assert result.verdict == "reproduced"
    assert "against ipv4" in result.evidence[0]
    assert verdict(rises, run_of(slower_ipv6)).verdict == "not reproduced"


def test_two_levels_are_no_trend() -> None:
    two = replace(GOODPUT, levels={"length_bytes": (128, 1408)})
    test = Trend(selector=two, of="value", factor="length_bytes", expect="rises")
    assert verdict(test, run_of(slower_ipv6)).verdict == "not testable here"


@pytest.mark.parametrize(
    ("values", "correlation"),
    [([1, 2, 3], 1), ([3, 2, 1], -1), ([1, 1, 1], 0), ([1, 3, 2], 0.5), ([1, 1, 2], 0.866)],
)
def test_rank_correlation(values: list[float], correlation: float) -> None:
    assert rank_correlation(values) == pytest.approx(correlation, abs=1e-3)


# Contrast


def test_contrasts() -> None:
    rises = Contrast(selector=BOTH, of="value", factor="length_bytes", at=128, then=1408, expect="rises")
    assert verdict(rises, run_of(slower_ipv6)).verdict == "reproduced"
    assert verdict(replace(rises, expect="falls"), run_of(slower_ipv6)).verdict == "opposite"
    unchanged = replace(rises, expect="same")
    assert verdict(unchanged, run_of(slower_ipv6)).verdict == "not reproduced"
    assert verdict(unchanged, run_of(same)).verdict == "reproduced"
    assert verdict(unchanged, run_of(same, noise=0.1)).verdict == "undecided"
    assert verdict(rises, run_of(same)).verdict == "not reproduced"
    assert verdict(replace(unchanged, of="ratio", selector=GOODPUT), run_of(slower_ipv6)).verdict == "reproduced"


def test_a_contrast_of_a_level_that_was_not_run_is_not_testable() -> None:
    test = Contrast(selector=GOODPUT, of="value", factor="length_bytes", at=128, then=9000, expect="rises")
    assert verdict(test, run_of(slower_ipv6)).verdict == "not testable here"


def test_a_contrast_of_workloads_pairs_them_at_the_same_levels() -> None:
    run = with_quic(run_of(same), slower_by=0.8)
    falls = Contrast(
        selector=replace(GOODPUT, workloads=("tcp-stream", "quic-stream")),
        of="value",
        factor="workload",
        at="tcp-stream",
        then="quic-stream",
        expect="falls",
    )
    result = verdict(falls, run)
    assert result.verdict == "reproduced"
    assert len(result.evidence) == len(LENGTHS)
    assert "from tcp-stream to quic-stream" in result.evidence[0]
    assert verdict(replace(falls, expect="rises"), run).verdict == "opposite"
    assert verdict(falls, run_of(same)).verdict == "not testable here"


def test_a_number_of_a_workload_against_another_is_set_beside_the_papers() -> None:
    ours = OurMeasurement(
        selector=replace(GOODPUT, workloads=("quic-stream",), levels={"length_bytes": (128,)}),
        formula="of-baseline",
        against={"workload": "tcp-stream"},
    )
    compared = beside(ours, with_quic(run_of(same), slower_by=0.8))
    assert compared.ours == pytest.approx(-20, abs=0.5)


def with_quic(run: Run, *, slower_by: float) -> Run:
    """The run with as many trials of QUIC as it has of TCP, at the same levels, whose goodput is so much of theirs."""
    experiment = run.manifest.experiment
    quic = tuple(
        replace(c, name=c.name.replace("c", "q"), workload=replace(c.workload, kind="quic-stream"))
        for c in experiment.combinations
    )
    trials = [
        replace(
            trial,
            key=trial.key.replace("-c", "-q"),
            combination=trial.combination.replace("c", "q"),
            workload="quic-stream",
            metrics={column: slower_by * value for column, value in trial.metrics.items()},
        )
        for trial in run.trials
    ]
    both = replace(experiment, combinations=(*experiment.combinations, *quic))
    return replace(run, manifest=replace(run.manifest, experiment=both), trials=[*run.trials, *trials])


# Theory


def test_theory_needs_no_trial() -> None:
    extra = OurTheory(quantity="extra_header_percent", mechanism="native6", transport="tcp", message_bytes=64)
    run = replace(run_of(same), trials=[])
    assert verdict(InTheory(theory=extra, low=30, high=32), run).verdict == "reproduced"
    result = verdict(InTheory(theory=replace(extra, quantity="extra_wire_percent"), low=30, high=32), run)
    assert result.verdict == "not reproduced"
    assert "14.1 %" in result.reason


# Published numbers


def test_our_number_is_made_by_the_papers_formula() -> None:
    """From the paper's own throughputs (Table II of soorty-sarkar-kernels) its own percentages must come."""

    def table_2(path: str, length: int) -> float:
        return 812.23e6 if path == "ipv4" else 698.26e6

    run = run_of(table_2, noise=0)
    at_1408 = replace(GOODPUT, levels={"length_bytes": (1408,)})
    of = {formula: OurMeasurement(selector=at_1408, formula=formula) for formula in ("of-mean", "of-larger")}
    assert beside(of["of-mean"], run).ours == pytest.approx(-15.09, abs=0.005)
    assert beside(of["of-larger"], run).ours == pytest.approx(-14.03, abs=0.005)
    shown = beside(OurMeasurement(selector=at_1408), run, value=698.26, unit="Mbit/s")
    assert (shown.published, shown.unit) == (pytest.approx(698.26e6), "bit/s")
    assert shown.ours == pytest.approx(698.26e6)
    assert shown.what == "Old Linux: w"


def test_two_lengths_of_one_path_are_compared() -> None:
    """Round trips of 1.38 ms at 128 B and 7.53 ms at 1408 B differ by 138 % (section IV of soorty-sarkar-kernels)."""

    def times(path: str, length: int) -> float:
        return {128: 1.38e6, 640: 3e6, 1408: 7.53e6}[length]

    run = run_of(times, noise=0, column="tcp_rtt_mean_ns")
    selector = replace(GOODPUT, metric="tcp_rtt_mean", levels={"length_bytes": (1408,)})
    ours = OurMeasurement(selector=selector, formula="of-mean", against={"length_bytes": 128})
    assert beside(ours, run).ours == pytest.approx(138, abs=0.1)


def test_several_combinations_are_averaged() -> None:
    comparison = beside(OurMeasurement(selector=GOODPUT), run_of(slower_ipv6, noise=0), unit="bit/s")
    assert comparison.ours == pytest.approx(0.95e6 * sum(LENGTHS) / 3)
    assert comparison.note == "ours is the mean over 3 combinations"


def test_cpu_is_of_the_whole_machine() -> None:
    def cores(path: str, length: int) -> float:
        return 1.12 if path == "ipv4" else 0.98

    run = run_of(cores, noise=0, column="cpu_system_cores")
    cpu = replace(GOODPUT, metric="cpu_system", levels={"length_bytes": (128,)})
    assert beside(OurMeasurement(selector=cpu), run).ours == pytest.approx(24.5)
    points = beside(OurMeasurement(selector=cpu, formula="points"), run)
    assert points.ours == pytest.approx(-3.5)


def test_what_was_not_measured_is_absent_and_says_why() -> None:
    other = OurMeasurement(selector=replace(GOODPUT, levels={"length_bytes": (1,)}))
    comparison = beside(other, run_of(same), unit="bit/s")
    assert (comparison.ours, comparison.note) == (None, "this run has no such combination")
    comparison = beside(OurMeasurement(selector=GOODPUT), replace(run_of(same), trials=[]), unit="bit/s")
    assert (comparison.ours, comparison.note) == (None, "no valid trial in this run")
