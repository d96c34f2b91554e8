"""The vote of each combination of levels on a claim: one vote each, by the kind of test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

from ..model.change_words import PrintedChange, apart_words, printed_change
from ..model.experiment import Combination
from ..model.finding import Verdict, is_too_variable
from ..model.metric import METRICS
from ..model.names import level
from ..model.number_words import percent_decimals, quantity, signed
from ..model.paper import Amount, Contrast, DirectionTest, Formula, Magnitude, Selector, Trend
from ..stats import Comparison
from .claim_blocks import blocks_of_a_trend, blocks_to_decide
from .claim_numbers import change_words, subject
from .claim_results import BlockValues, Results, level_of

MIN_BLOCKS = 3
"""Fewest trials of each side. With fewer nobody knows how far they would scatter. A t interval of two has 12.7 standard
errors on each side."""

MIN_LEVELS = 3
"""Two levels make no trend; a contrast is for them."""

Outcome = Literal["agrees", "contradicts", "small", "refutes", "undecided", "unknown"]
"""`contradicts`: it shows the contrary. `small`: it shows what is claimed for certain, and by less than the margin.
`refutes`: it shows that the claim is not so, such as that there is no difference. `undecided`: the interval contains
both. `unknown`: there are too few trials."""


@dataclass(frozen=True, kw_only=True)
class Vote:
    """The vote of one combination of levels on a claim.

    Attributes:
        change: the difference that was looked at, if it was one.
        value: the path's own value in the metric's unit, if that was looked at.
        n: blocks.
        sentence: the numbers in words.
        blocks_needed: about how many blocks would decide it, where it is undecided.
    """

    outcome: Outcome
    n: int
    sentence: str
    change: PrintedChange | None = None
    value: float | None = None
    blocks_needed: int | None = None


def in_percent(formula: Formula, ratio: float) -> float:
    """A difference by one of the `of-` formulas, from the ratio; all of them rise with it."""
    match formula:
        case "of-larger":
            return 100 * (ratio - 1) / max(ratio, 1.0)
        case "of-mean":
            return 200 * (ratio - 1) / (ratio + 1)
    return 100 * (ratio - 1)


@dataclass(frozen=True, kw_only=True)
class _Difference:
    """A path and the path that it is compared with.

    Attributes:
        ratio: None for shares, whose interval is that of the difference.
        unit: that of the metric.
        margin: the workload's, within which differences count as none.
        is_within_noise: whether the baseline may differ from itself by as much.
        direction: `higher` or `lower` where there is a difference for certain, however small.
        apart: what blocks that lie apart say; empty where there are none.
    """

    where: str
    other: str
    n: int
    ratio: float | None
    difference: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    unit: str
    is_share: bool
    margin: float
    is_within_noise: bool = False
    direction: str | None = None
    apart: str = ""

    @property
    def is_small(self) -> bool:
        """True if there is a difference for certain that is within the margin."""
        return self.verdict == "equivalent" and self.direction is not None and not self.is_within_noise


def direction_votes(test: DirectionTest, results: Results) -> list[Vote]:
    """The votes on a direction. They come from the verdicts of the findings, or from their intervals if the test has a
    margin."""

    def outcome(difference: _Difference, low: float, high: float) -> Outcome:
        below, above = _band(difference.margin if test.margin is None else test.margin, is_share=difference.is_share)
        if test.expect == "equivalent":
            return _equivalence(difference.verdict, below <= low <= high <= above, low > above or high < below)
        if test.expect == "not lower":
            return "agrees" if low >= below else "contradicts" if high < below else "undecided"
        if test.expect == "not higher":
            return "agrees" if high <= above else "contradicts" if low > above else "undecided"
        if difference.verdict == test.expect:
            return "agrees"
        if difference.verdict in ("higher", "lower"):
            return "contradicts"
        if difference.is_small:
            return "small" if difference.direction == test.expect else "refutes"
        reaches = high > above if test.expect == "higher" else low < below
        return "undecided" if difference.verdict == "inconclusive" and reaches else "refutes"

    def _equivalence(verdict: Verdict, inside: bool, outside: bool) -> Outcome:
        by_verdict = test.margin is None
        if (by_verdict and verdict == "equivalent") or inside:
            return "agrees"
        return "refutes" if (by_verdict and verdict != "inconclusive") or outside else "undecided"

    differences = _differences(test.selector, results, test.against)
    return [
        _difference_vote(difference, outcome, results.experiment.statistics.confidence) for difference in differences
    ]


def magnitude_votes(test: Magnitude, results: Results) -> list[Vote]:
    """A finding agrees where its interval overlaps the published range, and leaves no difference out where the range
    does."""

    def outcome(difference: _Difference, low: float, high: float) -> Outcome:
        if difference.is_share:
            low, high = 100 * low, 100 * high
        else:
            low, high = in_percent(test.formula, low), in_percent(test.formula, high)
        if high < 0 < test.low or test.high < 0 < low:
            return "contradicts"
        if high < test.low or test.high < low:
            return "refutes"
        return "undecided" if low <= 0 <= high and not test.low <= 0 <= test.high else "agrees"

    differences = _differences(test.selector, results)
    return [
        _difference_vote(difference, outcome, results.experiment.statistics.confidence, test.formula)
        for difference in differences
    ]


def amount_votes(test: Amount, results: Results) -> list[Vote]:
    """A path's own value agrees where it is in the published range, and is undecided where only its interval reaches
    there."""
    votes = []
    metric = test.selector.metric
    for combination in results.combinations(test.selector):
        for path in test.selector.paths:
            estimate = results.estimate(combination, path, metric)
            if estimate is None:
                continue
            where = subject(combination, path, metric)
            low, high = estimate.ci_low, estimate.ci_high
            if estimate.n < MIN_BLOCKS or low is None or high is None:
                few = f"{where}: {estimate.n} valid trials, too few"
                votes.append(Vote(outcome="unknown", n=estimate.n, sentence=few))
                continue
            factor = results.share_of_machine(metric)
            value, *ends = (quantity(item, METRICS[metric].unit) for item in (estimate.value, low, high))
            words = f"{where}: {value} ({ends[0]} to {ends[1]})"
            outcome, needed = _amount_outcome(
                test, factor, (estimate.value, low, high), estimate.n, results.experiment.statistics.confidence
            )
            votes.append(
                Vote(
                    outcome=outcome,
                    n=estimate.n,
                    sentence=f"{words}, n = {estimate.n}",
                    value=estimate.value,
                    blocks_needed=needed,
                )
            )
    return votes


def _amount_outcome(
    test: Amount, factor: float, ends: tuple[float, float, float], n: int, confidence: float
) -> tuple[Outcome, int | None]:
    """The outcome, and about how many blocks would decide it where it is undecided.

    Args:
        factor: from the metric's unit to that of the range.
        ends: the value, and its interval.
    """
    value, low, high = (factor * end for end in ends)
    if test.low <= value <= test.high:
        return "agrees", None
    if high < test.low or test.high < low:
        return "refutes", None

    def decides(low: float, high: float) -> bool:
        return high < test.low or test.high < low

    needed = blocks_to_decide((value, low, high), decides, n=n, confidence=confidence, is_ratio=low > 0)
    return "undecided", needed


def trend_votes(test: Trend, results: Results) -> list[Vote]:
    """One for each path and each group of combinations that differ in the factor only."""
    groups = results.without(results.combinations(test.selector), test.factor)
    return [_trend_vote(test, results, group, path) for path in test.selector.paths for group in groups]


def contrast_votes(test: Contrast, results: Results) -> list[Vote]:
    """One for each path and each group of combinations that differ in the factor only."""
    groups = results.without(results.combinations(test.selector), test.factor)
    votes = [_contrast_vote(test, results, group, path) for path in test.selector.paths for group in groups]
    return [vote for vote in votes if vote is not None]


def _differences(selector: Selector, results: Results, against: str | None = None) -> Iterator[_Difference]:
    """The finding of each path at each combination, or its comparison with another path."""
    metric = selector.metric
    for combination in results.combinations(selector):
        margin = results.margin(combination)
        for path in selector.paths:
            where = subject(combination, path, metric)
            if against is not None:
                series, other = (results.by_block(combination, name, metric) for name in (path, against))
                compared = results.compare(series, other, margin, scale=METRICS[metric].scale)
                yield _Difference(
                    where=where,
                    other=against,
                    n=compared.n,
                    ratio=compared.ratio,
                    difference=compared.difference,
                    low=compared.low,
                    high=compared.high,
                    verdict=_verdict_of(compared),
                    unit=METRICS[metric].unit,
                    is_share=_is_share(metric),
                    margin=margin,
                    direction=compared.direction,
                )
            elif (finding := results.finding(combination, path, metric)) is not None:
                yield _Difference(
                    where=where,
                    other=finding.baseline,
                    n=finding.n,
                    ratio=finding.ratio,
                    difference=finding.difference,
                    low=finding.ci_low,
                    high=finding.ci_high,
                    verdict=finding.verdict,
                    unit=METRICS[metric].unit,
                    is_share=_is_share(metric),
                    margin=margin,
                    is_within_noise=finding.is_within_noise,
                    direction=finding.direction,
                    apart=f"{apart_words(finding)} of {finding.n} blocks" if finding.apart else "",
                )


def _difference_vote(
    difference: _Difference,
    outcome: Callable[[_Difference, float, float], Outcome],
    confidence: float,
    formula: Formula = "of-baseline",
) -> Vote:
    """`outcome` takes a difference and the ends of its interval: of the ratio, or for shares of the difference."""
    low, high = difference.low, difference.high
    middle = difference.difference if difference.is_share else difference.ratio
    if difference.n < MIN_BLOCKS or middle is None or low is None or high is None:
        why = "too few" if difference.n < MIN_BLOCKS else "with values of 0, which have no ratio"
        return Vote(
            outcome="unknown",
            n=difference.n,
            sentence=f"{difference.where}: {difference.n} pairs of valid trials, {why}",
        )
    ends = (middle, low, high)
    wild = (
        difference.verdict == "inconclusive"
        and difference.ratio is not None
        and is_too_variable(low, high, difference.ratio, ())
    )
    change = _printed(difference, formula, says_nothing=wild)
    in_words = "" if change is None else f" {change_words(change, says_nothing=wild)}"
    words = f"{difference.where}:{in_words} against {difference.other}"
    small = f"{difference.direction}, by less than the {100 * difference.margin:g} % that matter"
    words += f", n = {difference.n}, {small if difference.is_small else difference.verdict}"
    words += ", but within A/A" if difference.is_within_noise and difference.verdict in ("higher", "lower") else ""
    words += f", but {difference.apart}" if difference.apart else ""
    text = outcome(difference, low, high)

    def decides(low: float, high: float) -> bool:
        narrower = replace(difference, verdict=_verdict(low, high, difference.margin, is_share=difference.is_share))
        return outcome(narrower, low, high) != "undecided"

    needed = None
    if text == "undecided":
        needed = blocks_to_decide(
            ends, decides, n=difference.n, confidence=confidence, is_ratio=not difference.is_share
        )
    return Vote(
        outcome=text,
        n=difference.n,
        sentence=words,
        change=change,
        blocks_needed=needed,
    )


def _printed(difference: _Difference, formula: Formula, *, says_nothing: bool) -> PrintedChange | None:
    """The change by a formula, as findings have it. `says_nothing`: its interval is too wide to be printed."""
    interval = () if says_nothing else (difference.low, difference.high)
    if difference.is_share or difference.ratio is None:
        return printed_change(None, difference.difference, interval, difference.unit)
    ratios = [difference.ratio, *(end for end in interval if end is not None)]
    change, *ends = (in_percent(formula, ratio) for ratio in ratios)
    return PrintedChange(
        change=change, ends=tuple(ends), decimals=percent_decimals(change, *ends), unit="%", divisor=None
    )


def _verdict_of(compared: Comparison) -> Verdict:
    return "equivalent" if compared.equivalent else compared.direction or "inconclusive"


def _band(margin: float, *, is_share: bool) -> tuple[float, float]:
    """The ends of what counts as no difference."""
    return (-margin, margin) if is_share else (1 / (1 + margin), 1 + margin)


def _verdict(low: float, high: float, margin: float, *, is_share: bool) -> Verdict:
    """The verdict on a comparison with such an interval."""
    none = 0.0 if is_share else 1.0
    below, above = _band(margin, is_share=is_share)
    if below <= low and high <= above:
        return "equivalent"
    return "higher" if low > none else "lower" if high < none else "inconclusive"


def _series(of: str, results: Results, combination: Combination, path: str, metric: str) -> BlockValues:
    by_block = results.ratio_by_block if of == "ratio" else results.by_block
    return by_block(combination, path, metric)


def _is_share(metric: str) -> bool:
    """True if zero is an ordinary value of it, so that it is compared by difference."""
    return METRICS[metric].scale == "difference"


def _trend_vote(test: Trend, results: Results, group: Sequence[Combination], path: str) -> Vote:
    """Page's test of ordered alternatives, from the ranks within each block.

    The mean of the blocks' rank correlations with the factor is Page's L on another scale (E. B. Page, Journal of the
    American Statistical Association 58, 1963); without a trend the correlation over k levels has a variance of 1 / (k
    - 1), which makes the sum over blocks a normal deviate. A trend whose whole change is within the workload's
    margin does not count.
    """
    metric = test.selector.metric
    series = {level_of(c, test.factor): _series(test.of, results, c, path, metric) for c in group}
    where = subject(group[0], path, metric, without=test.factor)
    baseline = results.experiment.baseline_of(group[0])
    thing = f"{where}{' against ' + baseline if test.of == 'ratio' else ''}"
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
    share = test.of == "value" and _is_share(metric)
    margin = results.margin(group[0])
    whole = results.compare(highest, lowest, margin, scale="difference" if share else "ratio")
    change_percent = _change_percent(whole, share=share) or 0.0
    significant = abs(deviate) > NormalDist().inv_cdf((1 + results.experiment.statistics.confidence) / 2)
    rising = deviate > 0 and change_percent > 0
    falling = deviate < 0 and change_percent < 0
    outcome: Outcome = "refutes" if whole.equivalent else "undecided"
    is_certain = whole.direction is not None or not (lowest.uncertainty or highest.uncertainty)
    if significant and is_certain and (rising or falling):
        big = _is_big(change_percent, margin, share=share)
        outcome = "refutes" if not big else "agrees" if rising == (test.expect == "rises") else "contradicts"
    ends = "" if test.of == "ratio" else f", {_mean(metric, lowest)} to {_mean(metric, highest)}"
    change = printed_change(None if share else whole.ratio, whole.difference, (), METRICS[metric].unit)
    sentence = (
        f"{thing}: {'' if change is None else change.text} "
        f"from {level(test.factor, first)} to {level(test.factor, last)}{ends}; "
        f"rank correlation {signed(mean_rho, 2)} over {len(correlations)} blocks"
    )
    needed = None
    if outcome == "undecided":
        needed = blocks_of_a_trend(deviate, n=len(correlations), confidence=results.experiment.statistics.confidence)
    return Vote(
        outcome=outcome,
        n=len(correlations),
        sentence=sentence,
        change=change,
        blocks_needed=needed,
    )


def _change_percent(change: Comparison, *, share: bool) -> float | None:
    if share:
        return None if change.difference is None else 100 * change.difference
    return None if change.ratio is None else 100 * (change.ratio - 1)


def _is_big(change_percent: float, margin: float, *, share: bool) -> bool:
    """True if a change is more than the margin: as a difference for shares, else as a factor either way."""
    if share:
        return abs(change_percent) > 100 * margin
    return abs(math.log(1 + change_percent / 100)) > math.log1p(margin)


def _contrast_vote(test: Contrast, results: Results, group: Sequence[Combination], path: str) -> Vote | None:
    at, then = (next((c for c in group if level_of(c, test.factor) == end), None) for end in (test.at, test.then))
    if at is None or then is None:
        return None
    metric = test.selector.metric
    before, after = (_series(test.of, results, c, path, metric) for c in (at, then))
    share = test.of == "value" and _is_share(metric)
    margin = results.margin(at) if test.margin is None else test.margin
    comparison = results.compare(after, before, margin, scale="difference" if share else "ratio")
    where = subject(at, path, metric, without=test.factor)
    baseline = results.experiment.baseline_of(at)
    thing = f"{where}{' against ' + baseline if test.of == 'ratio' else ''}"
    middle = _change_percent(comparison, share=share)
    if comparison.n < MIN_BLOCKS or middle is None or comparison.low is None or comparison.high is None:
        return Vote(
            outcome="unknown", n=comparison.n, sentence=f"{thing}: {comparison.n} pairs of valid trials, too few"
        )
    ends = f"from {level(test.factor, test.at)} to {level(test.factor, test.then)}"
    wild = (
        comparison.direction is None
        and not share
        and is_too_variable(comparison.low, comparison.high, comparison.ratio, ())
    )
    interval = () if wild else (comparison.low, comparison.high)
    change = printed_change(None if share else comparison.ratio, comparison.difference, interval, METRICS[metric].unit)
    text = "" if change is None else f"{change_words(change, says_nothing=wild)} "
    sentence = f"{thing}: {text}{ends}, n = {comparison.n}"
    outcome = _contrast_outcome(test, _verdict_of(comparison))

    def decides(low: float, high: float) -> bool:
        return _contrast_outcome(test, _verdict(low, high, margin, is_share=share)) != "undecided"

    needed = None
    if outcome == "undecided":
        estimate = (middle / 100 if share else 1 + middle / 100, comparison.low, comparison.high)
        confidence = results.experiment.statistics.confidence
        needed = blocks_to_decide(estimate, decides, n=comparison.n, confidence=confidence, is_ratio=not share)
    return Vote(outcome=outcome, n=comparison.n, sentence=sentence, change=change, blocks_needed=needed)


def _contrast_outcome(test: Contrast, verdict: Verdict) -> Outcome:
    if verdict == "inconclusive":
        return "undecided"
    if test.expect == "same":
        return "agrees" if verdict == "equivalent" else "refutes"
    if verdict == "equivalent":
        return "refutes"
    return "agrees" if (verdict == "higher") == (test.expect == "rises") else "contradicts"


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
    return quantity(math.fsum(values.values()) / len(values), METRICS[metric].unit)
