"""What each combination of levels says of a claim: one vote each, by the kind of test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from ..model.experiment import Combination
from ..model.finding import Finding
from ..model.paper import Contrast, Direction, Formula, Magnitude, Selector, Trend
from .claim_results import Results, level_of
from .claim_words import level, percent, percent_with_interval, place, quantity, signed

MIN_BLOCKS = 3
"""With fewer trials of each there is no saying how far they would scatter: a t interval of two has 12.7 standard
errors on each side."""

MIN_LEVELS = 3
"""Two levels make no trend; a contrast is for them."""

Outcome = Literal["agrees", "contradicts", "refutes", "undecided", "unknown"]
"""`contradicts`: shows the contrary. `refutes`: shows that it is not so, such as that there is no difference.
`undecided`: the interval takes in both. `unknown`: too few trials."""


@dataclass(frozen=True, kw_only=True)
class Vote:
    """What one combination says.

    Attributes:
        change_percent: the difference that was looked at.
        n: blocks.
        sentence: the numbers in words.
    """

    outcome: Outcome
    n: int
    sentence: str
    change_percent: float | None = None


def in_percent(formula: Formula, ratio: float) -> float:
    """A difference by one of the `of-` formulas, from the ratio; all of them rise with it."""
    match formula:
        case "of-larger":
            return 100 * (ratio - 1) / max(ratio, 1.0)
        case "of-mean":
            return 200 * (ratio - 1) / (ratio + 1)
    return 100 * (ratio - 1)


def direction_votes(test: Direction, results: Results) -> list[Vote]:
    """By the verdicts of the findings; by their intervals against the test's own margin where it has one."""
    margin = results.experiment.statistics.margin if test.margin is None else test.margin

    def outcome(finding: Finding, low: float, high: float) -> Outcome:
        if test.expect == "equivalent":
            return _equivalence(finding, low, high, margin, by_verdict=test.margin is None)
        if finding.verdict == test.expect:
            return "agrees"
        if finding.verdict in ("higher", "lower"):
            return "contradicts"
        reaches = high > 1 + margin if test.expect == "higher" else low < 1 / (1 + margin)
        return "undecided" if finding.verdict == "inconclusive" and reaches else "refutes"

    return _finding_votes(test.selector, results, outcome)


def _equivalence(finding: Finding, low: float, high: float, margin: float, *, by_verdict: bool) -> Outcome:
    if (by_verdict and finding.verdict == "equivalent") or 1 / (1 + margin) <= low <= high <= 1 + margin:
        return "agrees"
    different = (by_verdict and finding.verdict != "inconclusive") or low > 1 + margin or high < 1 / (1 + margin)
    return "refutes" if different else "undecided"


def magnitude_votes(test: Magnitude, results: Results) -> list[Vote]:
    """A finding agrees where its interval overlaps the published range, and leaves no difference out where the range
    does."""

    def outcome(finding: Finding, low: float, high: float) -> Outcome:
        low, high = in_percent(test.formula, low), in_percent(test.formula, high)
        if high < 0 < test.low or test.high < 0 < low:
            return "contradicts"
        if high < test.low or test.high < low:
            return "refutes"
        return "undecided" if low <= 0 <= high and not test.low <= 0 <= test.high else "agrees"

    return _finding_votes(test.selector, results, outcome, test.formula)


def trend_votes(test: Trend, results: Results) -> list[Vote]:
    """One for each path and each group of combinations that differ in the factor only."""
    groups = results.without(results.combinations(test.selector), test.factor)
    return [_trend_vote(test, results, group, path) for path in test.selector.paths for group in groups]


def contrast_votes(test: Contrast, results: Results) -> list[Vote]:
    """One for each path and each group of combinations that differ in the factor only."""
    groups = results.without(results.combinations(test.selector), test.factor)
    votes = [_contrast_vote(test, results, group, path) for path in test.selector.paths for group in groups]
    return [vote for vote in votes if vote is not None]


def _finding_votes(
    selector: Selector,
    results: Results,
    outcome: Callable[[Finding, float, float], Outcome],
    formula: Formula = "of-baseline",
) -> list[Vote]:
    """`outcome` takes a finding and the ends of its ratio's interval."""
    votes = []
    for combination in results.combinations(selector):
        for path in selector.paths:
            finding = results.finding(combination, path, selector.metric)
            if finding is None:
                continue
            where = place(combination, path, selector.metric)
            low, high = finding.ci_low, finding.ci_high
            if finding.n < MIN_BLOCKS or finding.ratio is None or low is None or high is None:
                why = "too few" if finding.n < MIN_BLOCKS else "with values of 0, which have no ratio"
                sentence = f"{where}: {finding.n} pairs of valid trials, {why}"
                votes.append(Vote(outcome="unknown", n=finding.n, sentence=sentence))
                continue
            percents = [in_percent(formula, ratio) for ratio in (finding.ratio, low, high)]
            words = f"{where}: {percent_with_interval(*percents)} against {finding.baseline}"
            words += f", n = {finding.n}, {finding.verdict}"
            votes.append(
                Vote(outcome=outcome(finding, low, high), n=finding.n, sentence=words, change_percent=percents[0])
            )
    return votes


def _series(of: str, results: Results, combination: Combination, path: str, metric: str) -> dict[int, float]:
    by_block = results.ratio_by_block if of == "ratio" else results.by_block
    return by_block(combination, path, metric)


def _trend_vote(test: Trend, results: Results, group: Sequence[Combination], path: str) -> Vote:
    """Page's test of ordered alternatives, from the ranks within each block.

    The mean of the blocks' rank correlations with the factor is Page's L on another scale (E. B. Page, Journal of the
    American Statistical Association 58, 1963); without a trend the correlation over k levels has a variance of 1 / (k
    - 1), which makes the sum over blocks a normal deviate. A trend whose whole change is within the experiment's
    margin does not count.
    """
    metric = test.selector.metric
    series = {level_of(c, test.factor): _series(test.of, results, c, path, metric) for c in group}
    where = place(group[0], path, metric, without=test.factor)
    thing = f"{where}{' against ' + results.experiment.baseline if test.of == 'ratio' else ''}"
    blocks = sorted({block for values in series.values() for block in values})
    correlations = []
    for block in blocks:
        values = [values[block] for values in series.values() if block in values]
        if len(values) >= MIN_LEVELS:
            correlations.append((rank_correlation(values), len(values) - 1))
    if len(correlations) < MIN_BLOCKS:
        sentence = f"{thing}: {len(correlations)} blocks with {MIN_LEVELS} or more levels, too few"
        return Vote(outcome="unknown", n=len(correlations), sentence=sentence)
    deviate = sum(rho * weight for rho, weight in correlations) / math.sqrt(sum(weight for _, weight in correlations))
    mean_rho = math.fsum(rho for rho, _ in correlations) / len(correlations)
    present = [(value, values) for value, values in series.items() if values and value is not None]
    (first, lowest), (last, highest) = present[0], present[-1]
    change = results.compare(highest, lowest)
    ratio = change.ratio if change.ratio is not None else 1.0
    significant = abs(deviate) > NormalDist().inv_cdf((1 + results.experiment.statistics.confidence) / 2)
    big = abs(math.log(ratio)) > math.log1p(results.experiment.statistics.margin)
    rising = deviate > 0 and ratio > 1
    falling = deviate < 0 and ratio < 1
    outcome: Outcome = "refutes" if change.equivalent else "undecided"
    if significant and (rising or falling):
        outcome = "refutes" if not big else "agrees" if rising == (test.expect == "rises") else "contradicts"
    ends = "" if test.of == "ratio" else f", {_mean(metric, lowest)} to {_mean(metric, highest)}"
    sentence = (
        f"{thing}: {percent(100 * (ratio - 1))} from {level(test.factor, first)} to {level(test.factor, last)}{ends}; "
        f"rank correlation {signed(mean_rho)} over {len(correlations)} blocks"
    )
    return Vote(outcome=outcome, n=len(correlations), sentence=sentence, change_percent=100 * (ratio - 1))


def _contrast_vote(test: Contrast, results: Results, group: Sequence[Combination], path: str) -> Vote | None:
    at, then = (next((c for c in group if level_of(c, test.factor) == end), None) for end in (test.at, test.then))
    if at is None or then is None:
        return None
    metric = test.selector.metric
    before, after = (_series(test.of, results, c, path, metric) for c in (at, then))
    change = results.compare(after, before, test.margin)
    where = place(at, path, metric, without=test.factor)
    thing = f"{where}{' against ' + results.experiment.baseline if test.of == 'ratio' else ''}"
    if change.n < MIN_BLOCKS or change.ratio is None or change.low is None or change.high is None:
        return Vote(outcome="unknown", n=change.n, sentence=f"{thing}: {change.n} pairs of valid trials, too few")
    percents = [in_percent("of-baseline", ratio) for ratio in (change.ratio, change.low, change.high)]
    ends = f"from {level(test.factor, test.at)} to {level(test.factor, test.then)}"
    sentence = f"{thing}: {percent_with_interval(*percents)} {ends}, n = {change.n}"
    outcome: Outcome = "undecided"
    if test.expect == "same":
        different = change.direction is not None and not change.equivalent
        outcome = "agrees" if change.equivalent else "refutes" if different else "undecided"
    elif change.equivalent:
        outcome = "refutes"
    elif change.direction is not None:
        outcome = "agrees" if (change.direction == "higher") == (test.expect == "rises") else "contradicts"
    return Vote(outcome=outcome, n=change.n, sentence=sentence, change_percent=percents[0])


def rank_correlation(values: Sequence[float]) -> float:
    """Spearman's correlation of values with their order, equal values sharing the mean of their ranks; 0 where all
    are equal."""
    ordered = sorted(values)
    ranks = [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]
    middle = (len(values) - 1) / 2
    covariance = sum((index - middle) * (rank - middle) for index, rank in enumerate(ranks))
    variance = sum((index - middle) ** 2 for index in range(len(values)))
    of_ranks = sum((rank - middle) ** 2 for rank in ranks)
    return covariance / math.sqrt(variance * of_ranks) if of_ranks else 0.0


def _mean(metric: str, values: dict[int, float]) -> str:
    return quantity(metric, math.fsum(values.values()) / len(values))
