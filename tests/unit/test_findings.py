"""From trials to estimates and findings: what a reader of the report is told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats
from synthetic_trials import combination_of, experiment_of, trial_of

from sixbench.analysis import analyse
from sixbench.analysis.estimates import estimates
from sixbench.analysis.findings import findings
from sixbench.analysis.held_against import mechanism_remarks
from sixbench.model.experiment import Blocks
from sixbench.model.finding import Finding
from sixbench.model.path import Path as NetworkPath
from sixbench.model.trial import Status
from sixbench.store import Environment, Manifest, Run

pytestmark = pytest.mark.computes

GOODPUT, LOSS, RTT = "goodput_bps", "loss_ratio", "rtt_p50_ns"
IPV4 = NetworkPath(name="ipv4", mechanism="native4", family=4)
AGAIN = NetworkPath(name="ipv4-again", mechanism="native4", family=4, aa_of="ipv4")
IPV6 = NetworkPath(name="ipv6", mechanism="native6", family=6)
TUNNEL = NetworkPath(name="tunnel", mechanism="6in4", family=6)

Values = Mapping[str, Mapping[str, list[float | None]]]
"""Values by path and column, one value a block; None where the trial was not valid."""


def _run(*combinations: Values, paths: tuple[NetworkPath, ...] = (IPV4, IPV6), **statistics: float) -> Run:
    trials = []
    for index, by_path in enumerate(combinations):
        for path, columns in by_path.items():
            for block in range(max(map(len, columns.values()))):
                metrics = {column: values[block] for column, values in columns.items()}
                present = {column: value for column, value in metrics.items() if value is not None}
                theory = {GOODPUT: 94.1e6} if path == "ipv4" else {}
                status: Status = "ok" if present else "invalid"
                trials.append(trial_of(f"c{index}", path, block + 1, present, status, theory=theory))
    actual_combinations = [combination_of(f"c{index}", message_bytes=2**index) for index in range(len(combinations))]
    experiment = experiment_of(paths, actual_combinations, Blocks(minimum=5, maximum=5), **statistics)
    environment = Environment(
        kernel="6.18", machine="x86_64", cpu="", distribution="", cores=2, memory_bytes=1, versions={}
    )
    manifest = Manifest(
        run="made-up", experiment=experiment, environment=environment, state="complete", started_realtime_ns=0
    )
    return Run(directory=Path("nowhere"), manifest=manifest, trials=trials)


def _only(result: list[Finding]) -> Finding:
    assert len(result) == 1
    return result[0]


BASE = [100.0e6, 101.0e6, 99.0e6, 100.5e6, 99.5e6]


def test_a_path_that_is_slower_in_every_block_is_lower() -> None:
    slower = [value * factor for value, factor in zip(BASE, [0.970, 0.971, 0.969, 0.970, 0.970], strict=True)]
    finding = _only(findings(_run({"ipv4": {GOODPUT: [*BASE]}, "ipv6": {GOODPUT: [*slower]}})))
    assert finding.verdict == "lower"
    assert (finding.workload, finding.metric, finding.unit) == ("tcp-stream", "goodput", "bit/s")
    assert (finding.path, finding.baseline, finding.n) == ("ipv6", "ipv4", 5)
    assert finding.levels == {"message_bytes": 1}
    assert finding.ratio == pytest.approx(0.97, abs=1e-4)
    assert finding.ci_low is not None
    assert finding.ci_high is not None
    assert 0.968 < finding.ci_low < 0.97 < finding.ci_high < 0.972
    assert finding.baseline_estimate == pytest.approx(100e6, rel=1e-4)
    assert (finding.value, finding.baseline_value) == (pytest.approx(97e6, rel=1e-4), pytest.approx(100e6, rel=1e-4))
    assert finding.ratio == finding.value / finding.baseline_value
    assert finding.difference == pytest.approx(-3e6, rel=1e-3)
    assert (finding.theory, finding.theory_baseline) == (None, 94.1e6)
    assert finding.headline
    assert not finding.is_aa


def test_a_difference_within_the_margin_is_equivalent_though_it_is_certain() -> None:
    slower = [value * 0.995 + shift for value, shift in zip(BASE, [1e3, -1e3, 0, 2e3, -2e3], strict=True)]
    run = _run({"ipv4": {GOODPUT: [*BASE]}, "ipv6": {GOODPUT: [*slower]}})
    finding = _only(findings(run))
    assert finding.ci_high is not None
    assert finding.ci_high < 1
    assert finding.verdict == "equivalent"
    strict = _run({"ipv4": {GOODPUT: [*BASE]}, "ipv6": {GOODPUT: [*slower]}}, margin=0.001)
    assert _only(findings(strict)).verdict == "lower"


def test_noise_is_inconclusive() -> None:
    noisy = [value * factor for value, factor in zip(BASE, [0.8, 1.3, 0.9, 1.1, 1.2], strict=True)]
    assert _only(findings(_run({"ipv4": {GOODPUT: [*BASE]}, "ipv6": {GOODPUT: [*noisy]}}))).verdict == "inconclusive"


def test_only_blocks_with_two_valid_trials_count() -> None:
    run = _run({"ipv4": {GOODPUT: [None, 100.0, 100.0, 100.0]}, "ipv6": {GOODPUT: [999.0, None, 50.0, 50.1]}})
    finding = _only(findings(run))
    assert finding.n == 2
    assert finding.invalid == 2
    assert finding.ratio == pytest.approx(0.5005)
    assert finding.estimate == pytest.approx((999 * 50 * 50.1) ** (1 / 3))
    assert (finding.value, finding.baseline_value) == (pytest.approx((50 * 50.1) ** 0.5), 100)


def test_one_pair_has_a_ratio_but_no_interval_and_no_verdict() -> None:
    finding = _only(findings(_run({"ipv4": {GOODPUT: [100.0]}, "ipv6": {GOODPUT: [50.0]}})))
    assert (finding.n, finding.ratio, finding.verdict) == (1, pytest.approx(0.5), "inconclusive")
    assert (finding.ci_low, finding.ci_high, finding.p_value) == (None, None, None)


def test_a_path_without_any_valid_trial_does_not_disappear() -> None:
    run = _run({"ipv4": {GOODPUT: [1.0, 2.0]}, "ipv6": {GOODPUT: [None, None]}})
    finding = _only(findings(run))
    assert (finding.metric, finding.n, finding.verdict, finding.invalid) == ("goodput", 0, "inconclusive", 2)
    assert (finding.estimate, finding.ratio) == (None, None)
    assert finding.baseline_estimate == pytest.approx(2**0.5)


def test_a_baseline_without_any_valid_trial_leaves_the_paths_estimate() -> None:
    finding = _only(findings(_run({"ipv4": {GOODPUT: [None, None]}, "ipv6": {GOODPUT: [1.0, 2.0]}})))
    assert (finding.n, finding.estimate, finding.baseline_estimate) == (0, pytest.approx(2**0.5), None)


def test_a_combination_that_an_interrupted_run_did_not_come_to_is_no_finding() -> None:
    assert [f.combination for f in findings(_run({"ipv4": {GOODPUT: [1.0]}, "ipv6": {GOODPUT: [1.0]}}, {}))] == ["c0"]


def test_no_loss_on_both_paths_is_equivalent() -> None:
    finding = _only(findings(_run({"ipv4": {LOSS: [0.0] * 5}, "ipv6": {LOSS: [0.0] * 5}})))
    assert (finding.verdict, finding.ratio, finding.difference) == ("equivalent", None, 0)
    assert (finding.ci_low, finding.ci_high) == (0, 0)


def test_a_certain_loss_is_told_even_within_the_margin() -> None:
    lossy = [0.005, 0.0051, 0.0049, 0.005, 0.0052]
    finding = _only(findings(_run({"ipv4": {LOSS: [0.0] * 5}, "ipv6": {LOSS: [*lossy]}})))
    assert finding.verdict == "higher"
    # A packet lost now and then is not.
    rare = _only(findings(_run({"ipv4": {LOSS: [0.0] * 5}, "ipv6": {LOSS: [0.0, 0.001, 0.0, 0.0, 0.0]}})))
    assert rare.verdict == "equivalent"


def test_the_same_p_value_counts_for_less_among_many_comparisons() -> None:
    slower = [value * f for value, f in zip(BASE, [0.98, 0.955, 0.97, 0.985, 0.95], strict=True)]
    alone = {"ipv4": {GOODPUT: [*BASE]}, "ipv6": {GOODPUT: [*slower]}}
    same = {"ipv4": {GOODPUT: [*BASE]}, "ipv6": {GOODPUT: [*BASE[::-1]]}}
    finding, many = findings(_run(alone))[0], findings(_run(alone, *[same] * 19))[0]
    assert finding.verdict == "lower"
    assert many.verdict == "inconclusive"
    assert finding.p_value is not None
    assert many.p_value == pytest.approx(20 * finding.p_value)


def test_metrics_and_a_a_paths_do_not_count_in_each_others_families() -> None:
    slower = [value * f for value, f in zip(BASE, [0.98, 0.955, 0.97, 0.985, 0.95], strict=True)]
    alone = _run({"ipv4": {GOODPUT: [*BASE]}, "ipv6": {GOODPUT: [*slower]}})
    busy = {
        "ipv4": {GOODPUT: [*BASE], RTT: [*BASE]},
        "ipv4-again": {GOODPUT: [*BASE[::-1]], RTT: [*slower]},
        "ipv6": {GOODPUT: [*slower], RTT: [*slower]},
    }
    actual_findings = findings(_run(busy, paths=(IPV4, AGAIN, IPV6)))
    goodput = next(f for f in actual_findings if f.metric == "goodput" and f.path == "ipv6")
    assert goodput.p_value == pytest.approx(findings(alone)[0].p_value)


def test_the_noise_floor_stands_beside_every_finding() -> None:
    again = [value * f for value, f in zip(BASE, [1.001, 0.999, 1.002, 0.998, 1.0], strict=True)]
    values = {"ipv4": {GOODPUT: [*BASE]}, "ipv4-again": {GOODPUT: [*again]}, "ipv6": {GOODPUT: [*BASE[::-1]]}}
    actual_findings = findings(_run(values, paths=(IPV4, AGAIN, IPV6)))
    floor = next(f for f in actual_findings if f.is_aa)
    other = next(f for f in actual_findings if not f.is_aa)
    assert floor.baseline == "ipv4"
    assert (other.noise_low, other.noise_high) == (floor.ci_low, floor.ci_high)
    assert floor.noise_low == floor.ci_low is not None


def _marked(**values: list[float]) -> Finding:
    """IPv6 against IPv4, with an A/A path whose values are `again`."""
    by_path = {"ipv4": values["ipv4"], "ipv4-again": values["again"], "ipv6": values["ipv6"]}
    run = _run({path: {GOODPUT: [*value]} for path, value in by_path.items()}, paths=(IPV4, AGAIN, IPV6))
    return next(f for f in findings(run) if not f.is_aa)


STEADY = [1.0, 1.0002, 0.9998, 1.0001, 0.9999]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_difference_that_the_baseline_has_from_itself_is_not_decided(side: float) -> None:
    lower = [0.98 * value * f for value, f in zip(BASE, STEADY, strict=True)]
    noisy = [value * (1 + side * f) for value, f in zip(BASE, [0.03, -0.01, 0.02, -0.02, 0.01], strict=True)]
    finding = _marked(ipv4=BASE, again=noisy, ipv6=lower)
    assert (finding.verdict, finding.mark) == ("lower", "within A/A")
    assert finding.blocks_needed is not None
    assert finding.blocks_needed > 5
    assert finding.blocks_tell == pytest.approx(0.02, rel=0.01)
    calm = [value * f for value, f in zip(BASE, STEADY[::-1], strict=True)]
    finding = _marked(ipv4=BASE, again=calm, ipv6=lower)
    assert (finding.verdict, finding.mark, finding.blocks_needed) == ("lower", "decided", None)


def test_what_is_undecided_says_about_how_many_blocks_would_tell() -> None:
    noisy = [value * f for value, f in zip(BASE, [1.1, 0.92, 1.08, 0.9, 1.02], strict=True)]
    finding = _marked(ipv4=BASE, again=BASE, ipv6=noisy)
    assert (finding.mark, finding.blocks_tell) == ("undecided", 0.05)
    n, spread = finding.blocks_needed, finding.spread
    assert n is not None
    assert spread is not None

    def half_width(count: int) -> float:
        quantile = scipy_stats.t.ppf(0.975, count - 1)
        return float(np.sinh(quantile * spread / np.sqrt(count)))

    assert half_width(n) <= 0.05 < half_width(n - 1)


def test_an_interval_that_takes_in_half_and_double_is_too_variable() -> None:
    wild = [value * f for value, f in zip(BASE, [9, 0.1, 3, 0.5, 1.1], strict=True)]
    finding = _marked(ipv4=BASE, again=BASE, ipv6=wild)
    assert finding.mark == "too variable"
    assert finding.blocks_needed is not None
    assert finding.blocks_needed > 1000


def test_without_an_a_a_path_there_is_no_noise_floor() -> None:
    finding = findings(_run({"ipv4": {GOODPUT: [*BASE]}, "ipv6": {GOODPUT: [*BASE]}}))[0]
    assert (finding.noise_low, finding.noise_high) == (None, None)


def test_a_testbed_that_differs_from_itself_is_remarked_upon() -> None:
    steady = [1.05, 1.0501, 1.0499, 1.0502, 1.0498]
    biased = [value * f for value, f in zip(BASE, steady, strict=True)]
    values = {"ipv4": {GOODPUT: [*BASE]}, "ipv4-again": {GOODPUT: [*biased]}, "ipv6": {GOODPUT: [*biased]}}
    analysis = analyse(_run(values, paths=(IPV4, AGAIN, IPV6)))
    assert any("differs from itself in 1 of 1" in remark for remark in analysis.remarks)
    named = [remark for remark in analysis.remarks if "goodput of TCP bulk transfer over ipv6 at message 1 B" in remark]
    assert any("A/A intervals" in remark for remark in named)
    assert not any("c0" in remark for remark in analysis.remarks)
    calm = {"ipv4": {GOODPUT: [*BASE]}, "ipv4-again": {GOODPUT: [*BASE]}, "ipv6": {GOODPUT: [*biased]}}
    assert analyse(_run(calm, paths=(IPV4, AGAIN, IPV6))).remarks == []


def test_what_speaks_against_a_mechanism_is_remarked_with_its_paths() -> None:
    old = [NetworkPath(name=name, mechanism="nat-pt", family=6, nodes=("r1",)) for name in ("first", "second")]
    later = NetworkPath(name="later", mechanism="of-a-later-version", family=6)
    [remark] = mechanism_remarks([IPV4, *old, later])
    assert remark.startswith("Against nat-pt (over first, second): RFC 4966 made it historic.")


def test_every_path_is_compared_and_every_metric_in_the_registrys_order() -> None:
    columns = {RTT: [5.0, 6.0], GOODPUT: [1.0, 2.0], "unknown_of_a_later_version": [1.0, 1.0]}
    values = {path: {column: [*v] for column, v in columns.items()} for path in ("ipv4", "ipv6", "tunnel")}
    actual_findings = findings(_run(values, paths=(IPV4, IPV6, TUNNEL)))
    assert [(f.path, f.metric) for f in actual_findings] == [
        ("ipv6", "goodput"),
        ("ipv6", "rtt_p50"),
        ("tunnel", "goodput"),
        ("tunnel", "rtt_p50"),
    ]
    assert [f.headline for f in actual_findings] == [True, False, True, False]


def test_an_estimate_of_few_trials_is_their_geometric_mean_with_an_interval_above_zero() -> None:
    first = estimates(_run({"ipv4": {GOODPUT: [1.0, 2.0, 4.0, None]}}))[0]
    assert (first.n, first.value, first.theory) == (3, pytest.approx(2), 94.1e6)
    assert first.ci_low == pytest.approx(2 / math.exp(4.30265 * math.log(2) / 3**0.5), rel=1e-4)
    assert first.ci_high == pytest.approx(4 / first.ci_low)


def test_one_wild_trial_moves_no_estimate() -> None:
    [first] = estimates(_run({"ipv4": {GOODPUT: [100.0, 101.0, 99.0, 100.5, 3.0]}}))
    assert first.value == pytest.approx(100, abs=0.5)
    assert first.outlying == 1


def test_trimming_moves_the_estimate_and_not_its_interval() -> None:
    values = {"ipv4": {GOODPUT: [1.0, 2.0, 3.0, 40.0]}}
    plain, trimmed = estimates(_run(values))[0], estimates(_run(values, trim=1))[0]
    assert (plain.value, trimmed.value) == (pytest.approx(240**0.25), 2.5)
    assert trimmed.ci_low is not None
    assert trimmed.ci_high is not None
    assert 0 < trimmed.ci_low < 11.5 < trimmed.ci_high


def test_one_valid_trial_has_an_estimate_without_an_interval() -> None:
    only = estimates(_run({"ipv4": {GOODPUT: [7.0, None]}}))[0]
    assert (only.n, only.value, only.ci_low, only.ci_high) == (1, 7.0, None, None)


def test_an_analysis_without_a_paper_has_neither_claims_nor_published_values() -> None:
    analysis = analyse(_run({"ipv4": {GOODPUT: [1.0, 2.0]}, "ipv6": {GOODPUT: [1.0, 2.0]}}))
    assert (analysis.claims, analysis.published) == ([], [])
    assert len(analysis.estimates) == 2
    assert len(analysis.findings) == 1


def test_a_run_of_nothing_has_an_analysis_of_nothing() -> None:
    analysis = analyse(_run({}))
    assert (analysis.estimates, analysis.findings, analysis.remarks) == ([], [], [])


EXPERIMENTS = 200
MOST_WRONG = int(scipy_stats.binom.ppf(0.999, EXPERIMENTS, 0.05))
"""Experiments that may have any false difference: 5 % of them, and what chance adds once in a thousand simulations."""


def test_two_equal_paths_are_seldom_found_different_anywhere() -> None:
    """Ten comparisons of two equal paths, each metric noisy in its own way: a family is right 19 times in 20."""
    generator = np.random.default_rng(1)
    wrong: dict[str, int] = {}
    for _ in range(EXPERIMENTS):
        shape = (10, 2, int(generator.integers(5, 21)))
        run = _run(*_noisy_combinations(generator, shape))
        for metric in {f.metric for f in findings(run) if f.verdict in ("higher", "lower")}:
            wrong[metric] = wrong.get(metric, 0) + 1
    assert max(wrong.values(), default=0) <= MOST_WRONG, wrong


def _noisy_combinations(generator: np.random.Generator, shape: tuple[int, int, int]) -> list[Values]:
    combinations, paths, blocks = shape
    # Drift from trial to trial, of which a block has two, in random order; the second also is always a bit slower.
    drift = np.cumsum(generator.normal(0, 0.02, (combinations, 2 * blocks)), axis=1).reshape(combinations, blocks, 2)
    drift = generator.permuted(drift + np.array([0.0, 0.01]), axis=2).transpose(0, 2, 1)
    # An effect of the order that is far larger than the noise: harmless only where every other block reverses it.
    order = generator.choice([-0.05, 0.05], (combinations, 1, blocks))
    order[:, :, 1::2] = -order[:, :, : blocks - blocks % 2 : 2]
    columns = {
        GOODPUT: np.exp(generator.normal(0, 0.03, shape)),
        RTT: np.exp(0.03 * generator.standard_t(2, shape)),
        "connect_p50_ns": np.exp(drift + generator.normal(0, 0.01, shape)),
        "transfer_time_ns": np.exp(order * [[0.0], [1.0]] + generator.normal(0, 0.01, shape)),
        "tcp_rtt_mean_ns": np.exp(0.1 * generator.exponential(size=shape)),
        "cpu_busy_cores": generator.poisson(1.0, shape).astype(float),
        LOSS: generator.poisson(0.5, shape) / 1000,
    }
    return [
        {path: {column: values[c, p].tolist() for column, values in columns.items()} for p, path in enumerate(names)}
        for names in [("ipv4", "ipv6")[:paths]]
        for c in range(combinations)
    ]
