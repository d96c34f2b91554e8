"""The result of a comparison in words: the mark beside every answer, the word in a table's column, and advice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import asinh, log

from ..analysis.noise import BUSY_ELSEWHERE_CORES, MUCH_SLOWDOWN
from ..model.change_words import apart_words, change_of
from ..model.experiment import Statistics
from ..model.finding import MANY_BLOCKS, Finding, KernelContrast, Mark
from ..model.metric import METRICS
from ..model.trial import TrialRecord
from . import words

TOO_VARIABLE = "too variable"
"""In place of an interval that is too wide to be useful."""

MEANINGS = {
    "higher": "decided: the whole interval lies above no difference, the p-value adjusted for many comparisons agrees, "
    "and the baseline differs from itself by less",
    "lower": "decided: the same, below no difference",
    "slightly higher": "real, by the same rule, and less than the margin: too small to matter",
    "slightly lower": "the same, below no difference",
    "mixed": "the path, or its baseline, behaves differently in some blocks than in most, more often than the other "
    "paths do (Barnard's exact test)",
    "within A/A": "a difference, but no larger than the A/A interval: the baseline may differ from itself by as much",
    "equivalent": "a test of equivalence shows that any difference is within the margin: too small to matter",
    "undecided": "neither a difference nor equivalence is shown; the number is an estimate of the blocks needed to "
    "decide",
    "too variable": "undecided, and the interval reaches beyond half and twice the estimate, too wide to be useful",
    "not compared": "there are fewer than two pairs of valid trials",
}
"""Explanations of the plain words of `MarkWord`; the rules are those of `model.finding.Finding.mark`."""

APART = "in most: some blocks with almost no weight differ by more than the margin"

ARROWS = {"higher": "↑", "lower": "↓"}
SLIGHT_ARROWS = {"higher": "↗", "lower": "↘"}
_SIGNS: dict[Mark, str] = {"within A/A": "†", "equivalent": "≈", "mixed": "‡", "too variable": "?"}

LONG_TRIAL_NS = 60e9
"""Shorter trials than this are said to be short where results scatter."""


@dataclass(frozen=True, kw_only=True)
class MarkWord:
    """One of few words, by which findings can be sorted: `higher` or `lower` only where that is decided, else the mark.

    Attributes:
        plain: the word, which is one of `MEANINGS`.
        is_in_most: whether some blocks, which count for almost nothing, say otherwise by more than the margin.
    """

    plain: str
    is_in_most: bool = False

    @classmethod
    def of(cls, finding: Finding) -> MarkWord:
        """The word of a finding."""
        return cls(plain=_plain_word(finding), is_in_most=_has_apart(finding) and finding.mark != "mixed")

    @property
    def text(self) -> str:
        """Such as `equivalent in most`."""
        return f"{self.plain} in most" if self.is_in_most else self.plain

    @property
    def meaning(self) -> str:
        """The explanation of the word."""
        return f"{MEANINGS[self.plain]}; {APART}" if self.is_in_most else MEANINGS[self.plain]

    @property
    def order(self) -> tuple[int, str]:
        """Place among all words."""
        return list(MEANINGS).index(self.plain), self.text


def word(finding: Finding) -> str:
    """The text of its `MarkWord`."""
    return MarkWord.of(finding).text


def _plain_word(finding: Finding) -> str:
    match finding.mark:
        case "decided":
            return finding.verdict
        case "small":
            return f"slightly {finding.direction}"
    return finding.mark


def verdict(finding: Finding) -> str:
    """The text for a table: the word, with the blocks that say otherwise or those that would tell."""
    plain = _plain_word(finding)
    if _has_apart(finding):
        middle = "equal" if finding.mark == "equivalent" else _middle(finding) if plain == "mixed" else plain
        return f"{'mixed: ' if plain == 'mixed' else ''}{middle} {_in_most(finding)}; {apart_words(finding)}"
    if finding.mark in ("undecided", "too variable", "within A/A"):
        return "; ".join(filter(None, (undecided(finding), _aside(finding))))
    return f"{plain}, constant" if finding.constant and finding.mark in ("decided", "small") else plain


COLON = ": "
"""Between a mark and what it says. Where the mark itself stands behind a colon, a comma is there instead."""


def mark(finding: Finding, statistics: Statistics, colon: str = COLON) -> str:
    """The mark alone: `decided: worse`, `equivalent within 1 %`, `within A/A`, `undecided`, `too variable to tell`,
    `higher by 3.4 %, less than the 5 % that matter here`; with blocks that say otherwise, `equal in 8 of 10 blocks;
    77 to 97 % less in 2`."""
    most, apart = (f" {_in_most(finding)} blocks", f"; {apart_words(finding)}") if _has_apart(finding) else ("", "")
    margin = words.percent(statistics.margin_of(finding.workload))
    match finding.mark:
        case "decided":
            return f"decided{colon}{_judged(finding)}{most}{apart}"
        case "small":
            return f"{_middle(finding)}{most}, less than the {margin} that matter here{apart}"
        case "mixed":
            return f"mixed{colon}{_middle(finding)}{most}{apart}"
        case "equivalent":
            return f"equal{most}{apart}" if apart else f"equivalent within {margin}"
        case "too variable":
            return f"{TOO_VARIABLE} to tell"
    return finding.mark


def short_mark(finding: Finding, statistics: Statistics, colon: str = COLON) -> str:
    """The mark without numbers of its own, by which comparisons can be counted."""
    margin = words.percent(statistics.margin_of(finding.workload))
    most = " in most blocks" if _has_apart(finding) else ""
    match finding.mark:
        case "decided":
            return f"decided{colon}{_judged(finding)}{most}"
        case "small":
            return f"slightly {finding.direction}{most} (less than {margin})"
        case "equivalent":
            return f"equivalent within {margin}{most}"
    return mark(finding, statistics, colon) if finding.mark != "mixed" else "mixed"


def blocks(finding: Finding) -> str:
    """A remark on the blocks: `8 of 10; 77 to 97 % less in 2`, `about 40 would tell`, `constant`."""
    if _has_apart(finding):
        return f"{_most_of(finding)}; {apart_words(finding)}"
    if finding.mark in ("undecided", "too variable", "within A/A"):
        needed = finding.blocks_needed
        would_tell = "" if needed is None else f"{_number_between([needed])} would tell"
        return "; ".join(part for part in (would_tell, _aside(finding)) if part)
    return "constant" if finding.constant and finding.mark in ("decided", "small") else ""


def sign(finding: Finding) -> str:
    """The mark as one character beside a change; none where more blocks may tell."""
    if finding.mark == "small":
        return SLIGHT_ARROWS.get(finding.direction or "", "")
    return ARROWS.get(finding.verdict, "") if finding.mark == "decided" else _SIGNS.get(finding.mark, "")


def _judged(finding: Finding) -> str:
    """True if a difference is for the better, or its direction where neither is better."""
    better = METRICS[finding.metric].better if finding.metric in METRICS else "neither"
    return finding.verdict if better == "neither" else "better" if finding.verdict == better else "worse"


def _has_apart(finding: Finding) -> bool:
    return finding.apart > 0 and finding.mark in ("decided", "small", "mixed", "equivalent")


def _middle(finding: Finding) -> str:
    """The finding of most blocks: `higher by 3.4 %`, or `equal`."""
    change = change_of(finding)
    if finding.direction is None or change is None:
        return "equal" if finding.verdict == "equivalent" else "undecided" if change is None else change.text
    return f"{finding.direction} by {change.size}"


def _in_most(finding: Finding | KernelContrast) -> str:
    return f"in {_most_of(finding)}"


def _most_of(finding: Finding | KernelContrast) -> str:
    """Number of blocks that do not lie apart: `8 of 10`."""
    return f"{finding.n - finding.apart} of {finding.n}"


def in_most(text: str, contrast: Finding | KernelContrast) -> str:
    """The text with what blocks that lie apart say: `equal in 8 of 10; 77 to 97 % less in 2`; as it is if none do."""
    return f"{text} {_in_most(contrast)}; {apart_words(contrast)}" if contrast.apart else text


def _aside(finding: Finding) -> str:
    """Blocks that say otherwise of what is not decided."""
    return f"{apart_words(finding)} of {finding.n}" if finding.apart else ""


def hint(finding: Finding, trials: Sequence[TrialRecord] = (), colon: str = COLON) -> str:
    """Advice that would lead to an answer: `about 40 blocks would tell 5 %`; empty where it is one."""
    aside = [f"{apart_words(finding)} of {words.count(finding.n, 'block')}"] if finding.apart else []
    match finding.mark:
        case "decided" | "small" if finding.constant:
            return f"constant{colon}each has the same value in all {words.count(finding.n, 'block')}"
        case "mixed":
            return f"the trials of {finding.mixed} differ from one another more often than those of the other paths"
        case "undecided" | "within A/A":
            as_long = longer_trials(finding, trials)
            longer = ["longer trials would help"] if (finding.blocks_needed or 0) > MANY_BLOCKS and not as_long else []
            return "; ".join([_blocks(finding, as_long, colon) or "more blocks may tell", *longer, *aside])
        case "too variable":
            as_long = longer_trials(finding, trials)
            of_workload = [trial for trial in trials if trial.workload == finding.workload]
            helps = [*([] if as_long else _longer_than(of_workload)), *_other_help(of_workload)]
            more = [_blocks(finding, as_long, colon)] if finding.blocks_needed else []
            return "; ".join([*more, *([f"{words.listing(helps)} would help"] if helps else []), *aside])
        case "not compared":
            return "no pair of valid trials" if finding.n == 0 else "one pair of valid trials gives no interval"
    return ""


def longer_trials(finding: Finding, trials: Sequence[TrialRecord]) -> str:
    """The length of trials that would tell as much as the blocks needed: `trials of 2.4 s`. Empty where it would be
    longer than `LONG_TRIAL_NS`, where links do not lose packets at random, or where the machine was busy with something
    else, so that losses are not all that makes trials differ.

    At random losses a trial is a mean over times without a loss, many of them and independent: its scatter falls with
    the root of its length, as that of a mean falls with the root of the number of blocks.
    """
    tells, ratio = finding.blocks_tell, finding.ratio
    if not (tells and ratio and finding.ci_low and finding.ci_high and finding.mark in ("undecided", "too variable")):
        return ""
    valid = [trial for trial in trials if trial.status == "ok" and trial.combination == finding.combination]
    lengths = [float(trial.params["duration_ns"]) for trial in valid if "duration_ns" in trial.params]
    if not lengths or 2 * sum(_has_random_loss(trial) and not _is_disturbed(trial) for trial in valid) < len(valid):
        return ""
    as_long = max(lengths) * (log(finding.ci_high / finding.ci_low) / 2 / asinh(tells)) ** 2
    rounded = float(f"{as_long:.2g}")
    return f"trials of {words.level('duration_ns', rounded)}" if max(lengths) < rounded <= LONG_TRIAL_NS else ""


def _is_beside_other_load(trial: TrialRecord) -> bool:
    return trial.metrics.get("cpu_other_cores", 0.0) > BUSY_ELSEWHERE_CORES


def _is_on_slow_cores(trial: TrialRecord) -> bool:
    return trial.metrics.get("core_slowdown_ratio", 0.0) > MUCH_SLOWDOWN


def _is_disturbed(trial: TrialRecord) -> bool:
    return _is_beside_other_load(trial) or _is_on_slow_cores(trial)


def _has_random_loss(trial: TrialRecord) -> bool:
    """True if a link lost packets of the trial because it is configured to."""
    losses = trial.evidence.losses
    return any(place.side == "emulated" for place in (losses.located if losses is not None else None) or ())


def _longer_than(trials: Iterable[TrialRecord]) -> list[str]:
    """Advice on the length of trials that are short; empty for others."""
    lengths = [float(trial.params["duration_ns"]) for trial in _valid(trials) if "duration_ns" in trial.params]
    is_short = bool(lengths) and max(lengths) < LONG_TRIAL_NS
    return [f"longer trials than {words.level('duration_ns', max(lengths))}"] if is_short else []


def _other_help(trials: Iterable[TrialRecord]) -> list[str]:
    """Advice on the machine that would reduce the scatter of results, by the trials themselves."""
    valid = _valid(trials)
    helps = []
    if any(map(_is_beside_other_load, valid)):
        helps.append("a machine without other load")
    if any(map(_is_on_slow_cores, valid)):
        helps.append("a machine that has its cores for itself")
    if any(trial.limited_by in ("cpu", "tester") for trial in valid):
        helps.append("a faster machine")
    return helps


def _valid(trials: Iterable[TrialRecord]) -> list[TrialRecord]:
    return [trial for trial in trials if trial.status == "ok"]


def count_marks(findings: Sequence[Finding], statistics: Statistics, colon: str = COLON) -> str:
    """Counts of each mark: `decided: worse at 12 of 20, within A/A at 3, undecided at 5 (about 40 blocks)`; decided
    ones first."""
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda item: _ORDER.index(item.mark)):
        groups.setdefault(short_mark(finding, statistics, colon), []).append(finding)
    total = len(findings)
    if len(groups) == 1:
        [name] = groups
        return f"{name} at {'both' if total == 2 else f'all {total}'}{_blocks_of(findings)}"
    parts = [f"{name} at {len(of_mark)}" for name, of_mark in groups.items()]
    parts[0] += f" of {total}"
    return ", ".join(part + _blocks_of(groups[name]) for part, name in zip(parts, groups, strict=True))


def undecided(compared: Finding | KernelContrast) -> str:
    """The mark of what is not decided, with the blocks that would decide it: `undecided (about 40 blocks)`."""
    return f"{compared.mark}{_blocks_of([compared])}"


def about_blocks(needed: int | None) -> str:
    """The blocks that would tell: `about 40 blocks`; empty where that is not known."""
    return _blocks_between([] if needed is None else [needed])


def _blocks_of(findings: Sequence[Finding | KernelContrast]) -> str:
    """The blocks that would tell, of several: ` (about 40 to 200 blocks)`; empty where none is known."""
    text = _blocks_between([known for finding in findings if (known := finding.blocks_needed) is not None])
    return f" ({text})" if text else ""


def _blocks_between(needed: Sequence[int]) -> str:
    """The least and the most of these: `about 40 to 200 blocks`; empty for none."""
    return f"{_number_between(needed)} blocks" if needed else ""


def _number_between(needed: Sequence[int]) -> str:
    """The same without the word: `about 40 to 200`."""
    low, high = _rounded(min(needed)), _rounded(max(needed))
    if min(needed) > MANY_BLOCKS:
        return f"over {words.whole(MANY_BLOCKS)}"
    most = f"over {words.whole(MANY_BLOCKS)}" if high > MANY_BLOCKS else words.whole(high)
    return f"about {words.whole(low)}" if low == high else f"about {words.whole(low)} to {most}"


_ORDER: tuple[Mark, ...] = (
    "decided",
    "small",
    "mixed",
    "equivalent",
    "within A/A",
    "undecided",
    "too variable",
    "not compared",
)


def _blocks(finding: Finding, as_long: str, colon: str) -> str:
    """The blocks that would tell a change, or the trials of another length that would: `about 40 blocks or trials of
    2.4 s would tell 5 %`."""
    needed, tells = finding.blocks_needed, finding.blocks_tell
    if needed is None or tells is None:
        return ""
    unit = "pp" if finding.ratio is None and finding.unit == "1" else "%"
    change = f"{float(f'{100 * tells:.2g}'):g} {unit}"
    if needed > MANY_BLOCKS:
        longer = f"; {as_long} would" if as_long else ""
        return f"blocks alone would hardly tell {change}{colon}over {words.whole(MANY_BLOCKS)} of them{longer}"
    longer = f" or {as_long}" if as_long else ""
    return f"about {words.whole(_rounded(needed))} blocks{longer} would tell {change}"


def _rounded(needed: int) -> int:
    """The number as exactly as it is known: in fives below a hundred, then two digits; always up."""
    step = 1 if needed < 20 else 5 if needed < 100 else 10 ** (len(str(needed)) - 2)
    return -(-needed // step) * step
