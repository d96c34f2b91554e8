"""What a comparison comes to, in words: the mark beside every answer, the word in a table's column, what would help."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..analysis.noise import BUSY_ELSEWHERE_CORES, MUCH_SLOWDOWN
from ..model.experiment import Statistics
from ..model.finding import Finding, Mark
from ..model.metric import METRICS
from ..model.trial import TrialRecord
from . import words

TOO_VARIABLE = "too variable"
"""In place of an interval that says nothing."""

MEANINGS = {
    "higher": "decided: the whole interval lies above no difference, the p-value adjusted for many comparisons agrees, "
    "and the baseline differs from itself by less",
    "lower": "decided: the same, below no difference",
    "within A/A": "a difference, but the A/A interval reaches as far from none: the baseline may differ from itself by "
    "as much",
    "equivalent": "a test of equivalence shows the difference to be within the margin: too small to matter",
    "undecided": "neither a difference nor equivalence is shown: more blocks may tell",
    "too variable": "undecided, and the interval reaches beyond half and twice the estimate: it says nothing",
    "not compared": "there are fewer than two pairs of valid trials",
}
"""How to read the words of `verdict`; the rules are those of `model.finding.Finding.mark`."""

LONG_TRIAL_NS = 10e9
"""Shorter trials than this are said to be short where results scatter."""

_MANY_BLOCKS = 10_000


def verdict(finding: Finding) -> str:
    """The word for a table: `higher` or `lower` only where that is decided, else the mark."""
    return finding.verdict if finding.mark == "decided" else finding.mark


def mark(finding: Finding, statistics: Statistics) -> str:
    """The mark alone: `decided: worse`, `equivalent within 1 %`, `within A/A`, `undecided`, `too variable to tell`."""
    match finding.mark:
        case "decided":
            better = METRICS[finding.metric].better if finding.metric in METRICS else "neither"
            said = finding.verdict if better == "neither" else "better" if finding.verdict == better else "worse"
            return f"decided: {said}"
        case "equivalent":
            return f"equivalent within {words.percent(statistics.margin_of(finding.workload))}"
        case "too variable":
            return f"{TOO_VARIABLE} to tell"
    return finding.mark


def hint(finding: Finding, trials: Sequence[TrialRecord] = ()) -> str:
    """What would make an answer of it: `about 40 blocks would tell 5 %`; empty where it is one."""
    match finding.mark:
        case "undecided" | "within A/A":
            return _blocks(finding) or "more blocks may tell"
        case "too variable":
            more = [_blocks(finding)] if finding.blocks_needed else []
            helps = what_helps(trial for trial in trials if trial.workload == finding.workload)
            return "; ".join([*more, *([f"{words.listing(helps)} would help"] if helps else [])])
        case "not compared":
            return "no pair of valid trials" if finding.n == 0 else "one pair of valid trials gives no interval"
    return ""


def what_helps(trials: Iterable[TrialRecord]) -> list[str]:
    """What would make results scatter less, by what the trials themselves say."""
    valid = [trial for trial in trials if trial.status == "ok"]
    lengths = [float(trial.params["duration_ns"]) for trial in valid if "duration_ns" in trial.params]
    helps = []
    if lengths and max(lengths) < LONG_TRIAL_NS:
        helps.append(f"longer trials than {words.level('duration_ns', max(lengths))}")
    if any(trial.metrics.get("cpu_other_cores", 0.0) > BUSY_ELSEWHERE_CORES for trial in valid):
        helps.append("a machine without other load")
    if any(trial.metrics.get("core_slowdown_ratio", 0.0) > MUCH_SLOWDOWN for trial in valid):
        helps.append("a machine that has its cores for itself")
    if any(trial.limited_by in ("cpu", "tester") for trial in valid):
        helps.append("a faster machine")
    return helps or ["more blocks"] * bool(valid)


def count_marks(findings: Sequence[Finding], statistics: Statistics) -> str:
    """How often each mark: `decided: worse at 12 of 20, within A/A at 3, undecided at 5`; decided ones first."""
    counts: dict[str, int] = {}
    for finding in sorted(findings, key=lambda one: _ORDER.index(one.mark)):
        said = mark(finding, statistics)
        counts[said] = counts.get(said, 0) + 1
    total = len(findings)
    if len(counts) == 1:
        return f"{next(iter(counts))} at {'both' if total == 2 else f'all {total}'}"
    parts = [f"{said} at {number}" for said, number in counts.items()]
    parts[0] += f" of {total}"
    return ", ".join(parts)


_ORDER: tuple[Mark, ...] = ("decided", "equivalent", "within A/A", "undecided", "too variable", "not compared")


def _blocks(finding: Finding) -> str:
    needed, tells = finding.blocks_needed, finding.blocks_tell
    if needed is None or tells is None:
        return ""
    unit = "pp" if finding.ratio is None and finding.unit == "1" else "%"
    change = f"{float(f'{100 * tells:.2g}'):g} {unit}"
    if needed > _MANY_BLOCKS:
        return f"it would take more than {words.whole(_MANY_BLOCKS)} blocks to tell {change}"
    return f"about {words.whole(_rounded(needed))} blocks would tell {change}"


def _rounded(needed: int) -> int:
    """The number as exactly as it is known: in fives below a hundred, then two digits; always up."""
    step = 1 if needed < 20 else 5 if needed < 100 else 10 ** (len(str(needed)) - 2)
    return -(-needed // step) * step
