"""Comparisons over a factor in words: how many levels are slower, faster or neither, and how much they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp

from ..model.change_words import PrintedChange, difference_scale, printed_change
from ..model.comparison_group import ComparisonGroup, GroupMember, Outcome, PooledEffect
from ..model.finding import Finding, is_too_variable
from ..model.metric import METRICS
from . import words

LEAST_P = 0.001

ALIKE_ERROR = 0.05
"""Levels are said to differ where the p-value of levels that do not is smaller."""

_SPEED_UNITS = ("bit/s", "packets/s", "1/s")
_STATISTICS = ("_mean", "_min", "_p50", "_p90", "_p99", "_p999", "_max", "transfer_time")
_NO_SPEED = ("cpu_", "pdv_", "ipdv_", "jitter")
"""Beginnings of metrics whose values are times, and of which a higher one is no slower path."""

_ADJECTIVES: Mapping[Outcome, str] = {
    "higher": "higher",
    "lower": "lower",
    "mixed": "mixed",
    "undecided": "undecided",
    "not compared": "not compared",
}


def nouns(group: ComparisonGroup) -> tuple[str, str]:
    """The name of one level of the factor, and of several: `server` and `servers`, or `level of link MTU` and `levels
    of link MTU` where levels are numbers."""
    name = words.factor(group.factor)
    if all(isinstance(member.level, str) for member in group.members):
        return name, words.plural(name)
    return f"level of {name}", f"levels of {name}"


def size(group: ComparisonGroup) -> str:
    """Such as `20 servers`."""
    return words.count(len(group.members), *nouns(group))


def level_text(group: ComparisonGroup, member: GroupMember) -> str:
    """The name of a level."""
    return words.level(group.factor, member.level)


def counts_sentence(group: ComparisonGroup) -> str:
    """Such as `Of 20 servers, 3 are slower over IPv6, 1 is faster, 12 differ by less than 5 % either way, and 4 are
    undecided.` Metrics that are no speed have `Loss: of 20 servers, 3 are higher over IPv6` instead."""
    counts, total = group.counts, len(group.members)
    over = f" over {words.protocol(group.path)}"
    head = "" if is_speed(group.metric) else f"{_capital(words.metric_in_sentence(group.metric))}: "
    if len(counts) == 1:
        [outcome] = counts
        many = nouns(group)[1]
        text = f"{'both' if total == 2 else f'all {total}'} {many} {_verb(group, outcome, total, over)}."
    else:
        parts = []
        for outcome, number in counts.items():
            parts.append(f"{number} {_verb(group, outcome, number, over)}")
            over = "" if outcome in ("higher", "lower") else over
        text = f"of {size(group)}, {', '.join(parts[:-1])}{',' if len(parts) > 2 else ''} and {parts[-1]}."
    return f"{head}{text}" if head else _capital(text)


def counts_phrase(group: ComparisonGroup) -> str:
    """The same in short: `of 20 servers 3 slower, 1 faster, 12 less than 5 % either way, 4 undecided`."""
    parts = [f"{number} {_adjective(group, outcome)}" for outcome, number in group.counts.items()]
    return f"of {size(group)} {', '.join(parts)}"


def mean_sentence(group: ComparisonGroup, confidence: float) -> str:
    """The mean change, and where the change at one more level would lie; empty where there is no mean."""
    pooled, change = group.pooled, mean_change(group)
    if pooled is None or change is None:
        return ""
    noun, many = nouns(group)
    left_out = "" if pooled.groups == len(group.members) else f" of {pooled.groups} {many}"
    interval = f"{words.percent(confidence)} interval {change.interval}"
    text = f"The mean change{left_out} is {change.text} ({interval}, Hartung-Knapp-Sidik-Jonkman)"
    predicted = predicted_change(group)
    if predicted is None:
        return f"{text}."
    return f"{text}, and the change at one more {noun} would lie within {predicted.interval} {predicted.unit}."


def difference_sentence(group: ComparisonGroup) -> str:
    """The differences between levels; empty where they are not known."""
    pooled = group.pooled
    if pooled is None or pooled.p_value is None or pooled.q is None:
        return ""
    many = _capital(nouns(group)[1])
    p_value = f"under {LEAST_P:g}" if pooled.p_value < LEAST_P else f"{pooled.p_value:.2g}"
    about = f"I² {100 * pooled.i_squared:.0f} %, Q {words.number(pooled.q, 3)}, p {p_value}"
    if differ(pooled):
        return (
            f"{many} differ by more than the scatter of their blocks explains: by a standard deviation of "
            f"{_tau(group, pooled)} ({about})."
        )
    return f"{many} are not shown to differ ({about})."


def sentences(group: ComparisonGroup, confidence: float) -> str:
    """All that is said of a group."""
    texts = (counts_sentence(group), mean_sentence(group, confidence), difference_sentence(group))
    return " ".join(text for text in texts if text)


def differ(pooled: PooledEffect) -> bool:
    """True if levels are said to differ."""
    return pooled.p_value is not None and pooled.p_value < ALIKE_ERROR


def mean_change(group: ComparisonGroup) -> PrintedChange | None:
    """The mean change with its interval."""
    pooled = group.pooled
    if pooled is None:
        return None
    return printed_change(pooled.ratio, pooled.difference, (pooled.ci_low, pooled.ci_high), group.unit)


def predicted_change(group: ComparisonGroup) -> PrintedChange | None:
    """The mean change with the interval of the change at one more level; None where there is none, or where it says
    nothing."""
    pooled = group.pooled
    if pooled is None or pooled.predicted_low is None or pooled.predicted_high is None:
        return None
    if pooled.ratio is not None and is_too_variable(pooled.predicted_low, pooled.predicted_high, pooled.ratio, ()):
        return None
    ends = (pooled.predicted_low, pooled.predicted_high)
    return printed_change(pooled.ratio, pooled.difference, ends, group.unit)


def mean_word(group: ComparisonGroup) -> str:
    """The side of no difference on which the interval of the mean lies: `higher` or `lower`; `equivalent` where it is
    within the margin; else `undecided`. Empty without a mean."""
    pooled = group.pooled
    if pooled is None:
        return ""
    none, margin = (0.0, group.margin) if pooled.ratio is None else (1.0, 1 + group.margin)
    low, high = pooled.ci_low, pooled.ci_high
    is_share = pooled.ratio is not None or group.unit == "1"
    if is_share and (-margin if pooled.ratio is None else 1 / margin) <= low and high <= margin:
        return "equivalent"
    return "higher" if low > none else "lower" if high < none else "undecided"


def is_speed(metric: str) -> bool:
    """True if a path with another value of the metric is slower or faster: of times and of rates."""
    known = METRICS.get(metric)
    if known is None or metric.startswith(_NO_SPEED):
        return False
    if known.unit == "ns":
        return known.better == "lower" and metric.endswith(_STATISTICS)
    return known.better == "higher" and known.unit in _SPEED_UNITS and ("rate" in metric or "goodput" in metric)


def margin_text(group: ComparisonGroup) -> str:
    """The margin: `5 %`, and `5 pp` of shares."""
    return f"{100 * group.margin:g} pp" if group.unit == "1" else words.percent(group.margin)


def by_place(findings: Sequence[Finding]) -> dict[tuple[str, str, str], Finding]:
    """Findings by combination, path and metric."""
    return {(finding.combination, finding.path, finding.metric): finding for finding in findings}


def findings_of(group: ComparisonGroup, findings: Mapping[tuple[str, str, str], Finding]) -> list[Finding]:
    """The findings of the members, in their order.

    Args:
        findings: by combination, path and metric.
    """
    return [findings[member.combination, group.path, group.metric] for member in group.members]


def _verb(group: ComparisonGroup, outcome: Outcome, number: int, over: str) -> str:
    """The outcome of so many as a predicate: `are slower over IPv6`, `is undecided`."""
    match outcome:
        case "within":
            return f"{'differs' if number == 1 else 'differ'} by less than {margin_text(group)} either way"
        case "not compared":
            return "could not be compared"
        case "higher" | "lower":
            return f"{'is' if number == 1 else 'are'} {_adjective(group, outcome)}{over}"
    return f"{'is' if number == 1 else 'are'} {_adjective(group, outcome)}"


def _adjective(group: ComparisonGroup, outcome: Outcome) -> str:
    if outcome == "within":
        return f"less than {margin_text(group)} either way"
    if outcome in ("higher", "lower") and is_speed(group.metric):
        return "faster" if METRICS[group.metric].better == outcome else "slower"
    return _ADJECTIVES[outcome]


def _tau(group: ComparisonGroup, pooled: PooledEffect) -> str:
    """The standard deviation of true changes: `4.6 %`."""
    if pooled.ratio is not None:
        percent = words.as_percent(exp(min(pooled.tau, 10.0)))
        return f"{words.unsigned(percent, words.percent_decimals(percent))} %"
    divisor, unit = difference_scale([pooled.tau], group.unit)
    return f"{words.number(pooled.tau / divisor, 3)} {unit}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
