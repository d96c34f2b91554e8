"""Random effects: against published examples and those of other programs, where errors are known, and by simulation
where they are estimated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from sixbench.stats import Effect, RandomEffects, biweight, random_effects, student_quantile
from sixbench.stats.moderated import moderated
from sixbench.stats.random_effects import paule_mandel, pooled_with

pytestmark = pytest.mark.computes

Array = NDArray[np.float64]

LABORATORIES = (61.0, 61.4, 62.21, 62.3, 62.34, 62.6, 62.7, 62.84, 65.9)
LABORATORY_VARIANCES = (0.2025, 1.21, 0.09, 0.2025, 0.3844, 0.5625, 0.0676, 0.0225, 1.8225)
"""R. N. Kacker, "Combining information from interlaboratory evaluations using a random effects model", Metrologia 41,
2004, table 1."""

EXPECTANCY = (0.03, 0.12, -0.14, 1.18, 0.26, -0.06, -0.02, -0.32, 0.27, 0.80,
              0.54, 0.18, -0.02, 0.23, -0.18, -0.06, 0.30, 0.07, -0.07)  # fmt: skip
EXPECTANCY_VARIANCES = (0.0156, 0.0216, 0.0279, 0.1391, 0.1362, 0.0106, 0.0106, 0.0484, 0.0269, 0.0630,
                        0.0912, 0.0497, 0.0835, 0.0841, 0.0253, 0.0279, 0.0193, 0.0088, 0.0303)  # fmt: skip
"""S. W. Raudenbush, A. S. Bryk, "Empirical Bayes meta-analysis", Journal of Educational Statistics 10, 1985."""


def known(values: tuple[float, ...], variances: tuple[float, ...]) -> RandomEffects:
    effects = [Effect(value=value, error=math.sqrt(v)) for value, v in zip(values, variances, strict=True)]
    return random_effects(effects, 0.95)


def test_tau_is_that_of_kackers_example() -> None:
    """Kacker's table 1 gives the root of tau² by Paule and Mandel to four digits."""
    assert known(LABORATORIES, LABORATORY_VARIANCES).tau == pytest.approx(0.8399, abs=5e-5)


def test_mean_and_heterogeneity_are_those_of_metafor() -> None:
    """R's metafor, `rma(y, v, method="PM")` of Kacker's example, as the tests of statsmodels have it
    (`statsmodels/stats/tests/results/results_meta.py`, exk1_metafor)."""
    result = known(LABORATORIES, LABORATORY_VARIANCES)
    assert result.value == pytest.approx(62.4076199113286, abs=1e-9)
    assert result.tau**2 == pytest.approx(0.705395309224248, abs=1e-9)
    assert result.q == pytest.approx(24.801897741835, abs=1e-8)
    assert result.p_value == pytest.approx(0.00167935146372742, abs=1e-9)
    assert result.i_squared == pytest.approx(0.837218626490482, abs=1e-9)


def test_the_interval_is_that_of_metafor_with_the_same_tau() -> None:
    """`rma(y, v, method="DL", test="knha")` of the same example (exk1_dl_hksj)."""
    values, variances = np.array([LABORATORIES]), np.array([LABORATORY_VARIANCES])
    pooled = pooled_with(values, variances, np.array([0.288049246973751]))
    width = student_quantile(0.975, 8) * pooled.errors[0]
    assert pooled.errors[0] == pytest.approx(0.29477605699879, abs=1e-10)
    assert pooled.values[0] - width == pytest.approx(61.710383798052, abs=1e-8)
    assert pooled.values[0] + width == pytest.approx(63.0698934108488, abs=1e-8)


def test_the_interval_is_that_of_raudenbushs_table() -> None:
    """S. W. Raudenbush, "Analyzing effect sizes: random-effects models", in: The Handbook of Research Synthesis and
    Meta-Analysis, 2009, table 16.3, page 309: tau² of DerSimonian and Laird, interval of Knapp and Hartung."""
    values, variances = np.array([EXPECTANCY]), np.array([EXPECTANCY_VARIANCES])
    weights = 1 / variances[0]
    q = known(EXPECTANCY, EXPECTANCY_VARIANCES).q
    assert q is not None
    assert q == pytest.approx(35.83, abs=0.005)
    tau2 = (q - 18) / (weights.sum() - np.square(weights).sum() / weights.sum())
    pooled = pooled_with(values, variances, np.array([tau2]))
    width = student_quantile(0.975, 18) * pooled.errors[0]
    rounded = [round(float(number), 3) for number in (tau2, pooled.values[0], pooled.errors[0])]
    assert rounded == [0.026, 0.089, 0.064]
    assert [round(float(pooled.values[0] + side * width), 3) for side in (-1, 1)] == [-0.044, 0.223]


def test_effects_that_agree_better_than_their_errors_have_no_smaller_interval_than_the_errors_give() -> None:
    """Without that, the interval of Hartung and Knapp would have no width here."""
    result = random_effects([Effect(value=0.1, error=0.02)] * 4, 0.95)
    assert result.tau == 0
    assert result.i_squared == 0
    assert result.half_width == pytest.approx(student_quantile(0.975, 3) * 0.02 / 2)


def test_two_effects_have_a_wide_interval_and_none_for_a_third() -> None:
    result = random_effects([Effect(value=0.1, error=0.01), Effect(value=0.2, error=0.01)], 0.95)
    assert result.value == pytest.approx(0.15)
    assert result.half_width == pytest.approx(12.706 * 0.05, rel=1e-4)
    assert result.prediction_half_width is None


def test_one_effect_has_no_mean() -> None:
    with pytest.raises(ValueError, match="at least two"):
        random_effects([Effect(value=0.1, error=0.01)], 0.95)


def test_effects_without_scatter_are_not_tested() -> None:
    same = random_effects([Effect(value=0.1, error=0.0, degrees=4)] * 3, 0.95)
    assert (same.q, same.p_value) == (None, None)
    assert same.value == pytest.approx(0.1)
    assert same.half_width < 1e-9
    values = [Effect(value=value, error=0.0, degrees=4) for value in (0.1, 0.2, 0.3)]
    different = random_effects(values, 0.95)
    assert different.value == pytest.approx(0.2)
    assert different.tau == pytest.approx(0.1)
    assert different.half_width == pytest.approx(student_quantile(0.975, 2) * 0.1 / math.sqrt(3))


def test_many_degrees_of_freedom_are_errors_that_are_known() -> None:
    sure = known(LABORATORIES, LABORATORY_VARIANCES)
    estimated = random_effects(
        [
            Effect(value=value, error=math.sqrt(v), degrees=1e6)
            for value, v in zip(LABORATORIES, LABORATORY_VARIANCES, strict=True)
        ],
        0.95,
    )
    assert estimated.value == pytest.approx(sure.value, rel=1e-5)
    assert estimated.half_width == pytest.approx(sure.half_width, rel=1e-3)
    assert estimated.p_value == pytest.approx(sure.p_value, abs=0.002)


def test_variances_that_are_alike_become_one_and_those_that_differ_stay() -> None:
    generator = np.random.default_rng(4)
    alike = moderated(generator.chisquare(4, (1, 2000)) / 4, np.full(2000, 4.0))
    assert alike.prior_degrees[0] > 50
    assert np.ptp(np.log(alike.variances[0])) < 1
    raw = np.geomspace(1e-4, 1e4, 2000)[np.newaxis] * generator.chisquare(40, (1, 2000)) / 40
    differing = moderated(raw, np.full(2000, 40.0))
    assert differing.prior_degrees[0] < 1
    assert float(np.median(np.abs(differing.variances / raw - 1))) < 0.05


def drawn(runs: int, groups: int, blocks: int, tau: float, apart: float) -> tuple[Array, Array]:
    """Biweights of log ratios with their errors. The true mean is zero.

    Args:
        tau: in standard errors of a typical group.
        apart: the ratio of the largest scatter of a group to the least.
    """
    generator = np.random.default_rng([groups, blocks, round(10 * tau)])
    scatter = np.geomspace(1, apart, groups) / math.sqrt(apart)
    spread = tau / math.sqrt(blocks)
    true = generator.normal(0, spread, (runs, groups))
    pairs = true[:, :, np.newaxis] + generator.normal(0, 1, (runs, groups, blocks)) * scatter[:, np.newaxis]
    values, errors, _ = biweight.centres(pairs.reshape(-1, blocks))
    return values.reshape(runs, groups), errors.reshape(runs, groups)


@pytest.mark.parametrize("blocks", [5, 10])
@pytest.mark.parametrize("groups", [5, 20])
@pytest.mark.parametrize("tau", [0.0, 1.0, 3.0])
def test_intervals_of_means_cover(groups: int, blocks: int, tau: float) -> None:
    """Those of five groups whose scatter is ten times apart may cover a little less (docs/measurements)."""
    runs, t = 1500, student_quantile(0.975, groups - 1)
    for apart, least in ((1.0, 0.935), (10.0, 0.915)):
        values, errors = drawn(runs, groups, blocks, tau, apart)
        variances = moderated(np.square(errors), np.full(groups, biweight.degrees(blocks))).variances
        pooled = pooled_with(values, variances, paule_mandel(values, variances))
        assert float((np.abs(pooled.values) <= t * pooled.errors).mean()) >= least, apart


def test_equal_groups_are_seldom_called_different() -> None:
    """Q against the chi-squared distribution would call them different in a third of the runs of five blocks."""
    for groups, blocks in ((5, 5), (12, 10)):
        values, errors = drawn(100, groups, blocks, 0.0, 1.0)
        different = 0
        for of_values, of_errors in zip(values.tolist(), errors.tolist(), strict=True):
            effects = [
                Effect(value=value, error=error, degrees=biweight.degrees(blocks))
                for value, error in zip(of_values, of_errors, strict=True)
            ]
            p_value = random_effects(effects, 0.95).p_value
            assert p_value is not None
            different += p_value < 0.05
        assert different / 100 <= 0.05 + 3.3 * math.sqrt(0.05 * 0.95 / 100)
