"""The verdicts on a paper's claims in a run, and our numbers beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..model.finding import (
    MANY_BLOCKS,
    ClaimResult,
    ClaimVerdict,
    ComparedTable,
    Estimate,
    Finding,
    PublishedComparison,
)
from ..model.metric import METRICS
from ..model.number_words import quantity
from ..model.paper import (
    SYSTEM,
    Amount,
    Claim,
    ClaimTest,
    Contrast,
    DirectionTest,
    InTheory,
    Magnitude,
    Paper,
    Quantifier,
    Trend,
    Untestable,
)
from .claim_numbers import amount, given_percent
from .claim_results import Results
from .claim_votes import (
    MIN_BLOCKS,
    Outcome,
    Vote,
    amount_votes,
    contrast_votes,
    direction_votes,
    magnitude_votes,
    trend_votes,
)
from .published_tables import compare_tables
from .published_values import compare_published, in_theory
from .system_kernels import NEEDS_KERNELS, system_kernels

if TYPE_CHECKING:
    from ..store import Run


def judge(
    paper: Paper, run: Run, findings: Sequence[Finding], estimates: Sequence[Estimate]
) -> tuple[list[ClaimResult], list[PublishedComparison]]:
    """A verdict on every claim, and our number beside every published one, in the order of the paper.

    *reproduced*: as many of the comparisons as the claim speaks of (all, most, any) show it, each by an interval or a
    test at the experiment's confidence. *too small to matter*: as many show it, and some of these differences are real
    but within the margin. *opposite*: as many show the contrary. *not reproduced*: too many show that it
    is not so (no difference, or another one) for the claim to hold. *undecided*: the run has fewer than three valid
    trials of each, or its intervals contain both the claim and its failure, and more blocks may tell. *not testable
    here*: the experiment cannot tell, however many blocks it has, or the run has no such trials. The reason says which.
    """
    results = Results(run, findings, estimates, system_kernels(paper, run))
    return [_judge(claim, results) for claim in paper.claims], compare_published(paper, results)


def in_own_columns(
    paper: Paper, run: Run, findings: Sequence[Finding], estimates: Sequence[Estimate]
) -> list[ComparedTable]:
    """The paper's tables that are given in columns, with our numbers in the same columns."""
    return compare_tables(paper, Results(run, findings, estimates, system_kernels(paper, run)))


def _judge(claim: Claim, results: Results) -> ClaimResult:
    verdict, reason, evidence, blocks_needed = _decide(claim, results)
    if _names_systems(claim.test) and results.system_kernels.words:
        reason += f"; {results.system_kernels.words}"
    source = claim.source if claim.page is None else f"{claim.source}, p. {claim.page}"
    return ClaimResult(
        claim=claim.name,
        text=claim.text,
        source=source,
        verdict=verdict,
        reason=reason,
        blocks_needed=blocks_needed,
        evidence=list(evidence),
    )


class _Decision(NamedTuple):
    verdict: ClaimVerdict
    reason: str
    evidence: Sequence[str] = ()
    blocks_needed: int | None = None


def _decide(claim: Claim, results: Results) -> _Decision:
    match claim.test:
        case Untestable(reason=reason):
            return _Decision("not testable here", reason)
        case InTheory() as test:
            ours = in_theory(test.theory)
            inside = test.low <= ours <= test.high
            between = f"the paper's {test.low:g} to {test.high:g} %"
            reason = f"the headers make {ours:.3g} %, {'within' if inside else 'outside'} {between}"
            return _Decision("reproduced" if inside else "not reproduced", reason)
        case DirectionTest() as test:
            than = "" if test.against is None else f" against {test.against}"
            return _count(direction_votes(test, results), test.quantifier, f"{test.expect}{than}")
        case Magnitude() as test:
            shown = f"{given_percent(test.low)} to {given_percent(test.high)} ({test.formula.replace('-', ' ')})"
            return _count(magnitude_votes(test, results), test.quantifier, shown)
        case Trend() as test:
            return _count(trend_votes(test, results), test.quantifier, f"it {test.expect}")
        case Amount() as test:
            return _count(amount_votes(test, results), test.quantifier, amount(test), test.selector.metric)
        case Contrast() as test if test.factor == SYSTEM:
            of_kernels = results.system_kernels.between(test)
            if of_kernels is None:
                return _Decision("not testable here", NEEDS_KERNELS)
            than = f"{'as' if test.expect == 'same' else 'than'} on {of_kernels.at}"
            expected = f"{_BETWEEN[test.expect]} on {of_kernels.then} {than}"
            return _count(contrast_votes(of_kernels, results), test.quantifier, expected)
        case Contrast() as test:
            expected = "the same" if test.expect == "same" else f"it {test.expect}"
            return _count(contrast_votes(test, results), test.quantifier, expected)


def _names_systems(test: ClaimTest) -> bool:
    if isinstance(test, InTheory | Untestable):
        return False
    return SYSTEM in test.selector.levels or (isinstance(test, Contrast) and test.factor == SYSTEM)


_BETWEEN = {"rises": "higher", "falls": "lower", "same": "the same"}

MORE_THAN_BLOCKS = (
    f"more blocks alone would not decide it, as over {MANY_BLOCKS} would be needed: longer trials or a quieter machine "
    "would help"
)

_NEEDED = {"all": "in all", "most": "in more than half", "any": "in at least one"}


def _count(votes: list[Vote], quantifier: Quantifier, expected: str, metric: str = "") -> _Decision:
    """The verdict that the votes make together. Votes without enough trials do not count.

    `metric` is the metric of the values that the votes are on, if they are not on changes.
    """
    evidence = [vote.sentence for vote in votes]
    known = [vote for vote in votes if vote.outcome != "unknown"]
    most = max((vote.n for vote in votes), default=0)
    if not known and 0 < most < MIN_BLOCKS:
        few = f"too few valid trials: at most {most} in a comparison, and at least {MIN_BLOCKS} are needed"
        return _Decision("undecided", few, evidence, MIN_BLOCKS)
    if not known:
        why = votes[0].sentence if votes else "this run has no trial that the claim is about"
        return _Decision("not testable here", why, evidence)
    verdict = _verdict(Counter(vote.outcome for vote in known), len(known), quantifier)
    needed = _blocks_needed(known, quantifier) if verdict == "undecided" else None
    reason = _reason(known, len(votes) - len(known), quantifier, expected, _spread(known, metric))
    if verdict == "undecided":
        if needed is not None and needed > MANY_BLOCKS:
            reason += f"; {MORE_THAN_BLOCKS}"
            needed = None
        else:
            reason += f"; about {needed} blocks would tell" if needed else "; the blocks needed cannot be estimated"
    return _Decision(verdict, reason, evidence, needed)


def _blocks_needed(known: list[Vote], quantifier: Quantifier) -> int | None:
    """About how many blocks would decide so many of the undecided comparisons that the claim is decided.

    A claim on all or most is open until the last of them is decided at worst. For a claim on any, the first may do.
    """
    needed = [vote.blocks_needed for vote in known if vote.outcome == "undecided"]
    those = [blocks for blocks in needed if blocks is not None]
    if quantifier == "any":
        return min(those, default=None)
    return max(those) if those and len(those) == len(needed) else None


def _verdict(outcomes: Counter[Outcome], total: int, quantifier: Quantifier) -> ClaimVerdict:
    if _enough(outcomes["agrees"], total, quantifier):
        return "reproduced"
    if _enough(outcomes["agrees"] + outcomes["small"], total, quantifier):
        return "too small to matter"
    if _enough(outcomes["contradicts"], total, "all" if quantifier == "any" else quantifier):
        return "opposite"
    could_hold = _enough(outcomes["agrees"] + outcomes["small"] + outcomes["undecided"], total, quantifier)
    return "undecided" if could_hold else "not reproduced"


def _enough(count: int, total: int, quantifier: Quantifier) -> bool:
    return count == total if quantifier == "all" else 2 * count > total if quantifier == "most" else count > 0


def _reason(known: list[Vote], unknown: int, quantifier: Quantifier, expected: str, spread: str) -> str:
    left = f"; {unknown} more cannot be compared" if unknown else ""
    if len(known) == 1:
        [vote] = known
        return f"{vote.sentence}; claimed: {expected}{_SENSE[vote.outcome]}{left}"
    outcomes: Counter[Outcome] = Counter(vote.outcome for vote in known)
    ns = sorted({vote.n for vote in known})
    n = f"n = {ns[0]}" if len(ns) == 1 else f"n = {ns[0]} to {ns[-1]}"
    counts = ", ".join(f"{outcomes[outcome]} {words}" for outcome, words in _WORDS.items() if outcomes[outcome])
    return f"claimed {_NEEDED[quantifier]}: {expected}; of {len(known)} comparisons {counts} ({n}{spread}){left}"


def _spread(known: list[Vote], metric: str) -> str:
    values = sorted(vote.value for vote in known if vote.value is not None)
    if values:
        return (
            f", values from {quantity(values[0], METRICS[metric].unit)} to {quantity(values[-1], METRICS[metric].unit)}"
        )
    changes = [vote.change for vote in known if vote.change is not None]
    if not changes:
        return ""
    ordered = sorted(changes, key=lambda change: change.change)
    return f", changes from {ordered[0].text} to {ordered[-1].text}"


_WORDS: dict[Outcome, str] = {
    "agrees": "as claimed",
    "small": "as claimed and less than the margin",
    "contradicts": "the contrary",
    "refutes": "not so",
    "undecided": "inconclusive",
}

_SENSE: dict[Outcome, str] = {
    "agrees": "",
    "small": "; it is so, and too small to matter here",
    "contradicts": "; here it is the contrary",
    "refutes": "; here it is not so",
    "undecided": "; here it is inconclusive",
    "unknown": "",
}
