"""Looks at a combination whose blocks go on until its answers are decided (`blocks.until`).

A combination is looked at after the minimum of blocks, and each time that it has a quarter more, up to the maximum.
Each look spends as much of the error as its blocks are of the maximum. A combination that ends because the time is
over, and not because of what was seen, spends what is left of the error at its last look. `stats.sequential` makes
levels of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, log, log1p
from typing import TYPE_CHECKING

from ..model.experiment import Blocks, Combination, Experiment
from ..model.finding import Finding
from ..model.metric import CPU_METRICS
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from ..stats import Looks
from .candidates import Candidate, candidates, compare_candidates, compared_paths, finding_of
from .estimates import by_path
from .noise import with_noise

if TYPE_CHECKING:
    from ..store import Run

GROWTH = 5 / 4
"""Blocks at a look, of those at the look before. A look after each block would cost wider intervals and gain little."""


def schedule(blocks: Blocks) -> tuple[int, ...]:
    """The numbers of blocks after which a combination is looked at."""
    looks = [blocks.minimum]
    while looks[-1] < blocks.maximum:
        looks.append(min(blocks.maximum, max(looks[-1] + 1, round(looks[-1] * GROWTH))))
    return tuple(looks)


def looks_so_far(blocks: Blocks, executed: int, *, is_over: bool = False) -> Looks:
    """The looks at a combination with so many blocks.

    Args:
        executed: blocks. Where none of the scheduled looks is after so many, this one comes on top.
        is_over: whether the combination has ended undecided, so that the last look spends all that is left.
    """
    at = [number for number in schedule(blocks) if number < executed] + [executed]
    spent = [min(1.0, number / blocks.maximum) for number in at]
    if is_over:
        spent[-1] = 1.0
    return Looks(blocks=tuple(at), spent=tuple(spent))


def looks_of(run: Run) -> dict[str, Looks]:
    """The looks at each combination of a run; empty where no such rule ends combinations."""
    experiment = run.manifest.experiment
    blocks = experiment.blocks
    if blocks.until is None:
        return {}
    by_combination: dict[str, list[TrialRecord]] = {}
    for trial in run.trials:
        by_combination.setdefault(trial.combination, []).append(trial)
    has_ended = run.manifest.state in ("complete", "partial")
    looks = {}
    for combination in experiment.combinations:
        trials = by_combination.get(combination.name, [])
        executed = len({trial.block for trial in trials})
        if not executed:
            continue
        is_over = has_ended and not (
            executed in schedule(blocks) and are_answers_decided(experiment, combination, trials)
        )
        looks[combination.name] = looks_so_far(blocks, executed, is_over=is_over)
    return looks


def are_answers_decided(experiment: Experiment, combination: Combination, trials: Iterable[TrialRecord]) -> bool:
    """True if every path differs from the baseline in the workload's primary metric, or is equivalent to it, at this
    look.

    The p-value is multiplied by the number of comparisons of the metric in the experiment. So what ends a combination
    is a difference among all findings too, whatever the others come to. A difference no larger than the A/A
    comparison's decides nothing. Paths without a pair of valid trials do not hold up the others.

    Args:
        trials: those of the combination.
    """
    return all(_is_decided(answer) for answer in _answers(experiment, combination, trials))


def expected_blocks(experiment: Experiment, combination: Combination, trials: Iterable[TrialRecord]) -> int:
    """About how many blocks it takes until the answers of the combination are decided, if estimates and scatter stay
    what they are: at most the maximum. The order of magnitude is right and no more.

    Args:
        trials: those of the combination.
    """
    blocks, margin = experiment.blocks, log1p(experiment.statistics.margin_of(combination.workload.kind))
    needed = 0.0
    for answer in _answers(experiment, combination, trials):
        if _is_decided(answer):
            continue
        if answer.ci_low is None or answer.ci_high is None:
            return blocks.maximum
        centre = abs(log(answer.ratio)) if answer.ratio is not None else abs(answer.difference or 0.0)
        width = (
            log(answer.ci_high / answer.ci_low) if answer.ratio is not None else answer.ci_high - answer.ci_low
        ) / 2
        target = max(centre, margin - centre) if answer.ratio is not None else centre
        needed = max(needed, answer.n * (width / target) ** 2 if target > 0 else blocks.maximum)
    return int(min(blocks.maximum, ceil(needed)))


def _answers(experiment: Experiment, combination: Combination, trials: Iterable[TrialRecord]) -> list[Finding]:
    """The findings of the primary metric at this look, with the adjusted p-value. Without the A/A comparison."""
    trials = list(trials)
    executed = len({trial.block for trial in trials})
    primary = WORKLOADS[combination.workload.kind].primary
    compared = [
        candidate
        for candidate in candidates(experiment, combination, by_path(experiment, trials))
        if candidate.metric.name == primary and candidate.pairs.path
    ]
    looks = {combination.name: looks_so_far(experiment.blocks, executed)}
    comparisons = compare_candidates(compared, experiment.statistics, looks)
    findings = [
        finding_of(
            candidate,
            comparison,
            _adjusted(candidate, comparison.p_value, experiment),
            {},
            experiment.statistics,
            looks,
        )
        for candidate, comparison in zip(compared, comparisons, strict=True)
    ]
    return [finding for finding in with_noise(findings, experiment) if not finding.is_aa]


def _is_decided(finding: Finding) -> bool:
    return finding.is_answered


def _adjusted(candidate: Candidate, p_value: float | None, experiment: Experiment) -> float | None:
    """Bonferroni's adjustment: at least Holm's over the findings of the metric."""
    if p_value is None:
        return None
    metric = candidate.metric.name
    comparisons = sum(
        (path.aa_of is None) == (candidate.path.aa_of is None)
        for combination in experiment.combinations
        if metric in (*WORKLOADS[combination.workload.kind].metrics, *CPU_METRICS)
        for path, _ in compared_paths(experiment, combination)
    )
    return min(1.0, p_value * comparisons)
