"""The changes by worker, each by itself, and the test of their equality.

The two trials of a pair were measured by one worker. So what distinguishes workers cancels in a change, unless the
change itself depends on the machine. Whether it does is tested for each comparison of a headline metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING

from ..model.finding import WorkerEffect, WorkerValue
from ..model.names import subject
from ..stats import Pairs, alike_p_value, compare, holm
from .candidates import Candidate, candidates
from .estimates import group_trials

if TYPE_CHECKING:
    from ..store import Run


def worker_effects(run: Run) -> list[WorkerEffect]:
    """The comparisons of headline metrics by worker, with p-values that are adjusted over all of them (Holm). Empty for
    a run that fewer than two workers measured."""
    experiment = run.manifest.experiment
    if len({trial.worker for trial in run.trials} - {None}) < 2:
        return []
    groups = group_trials(run)
    compared = [
        candidate
        for combination in experiment.combinations
        for candidate in candidates(experiment, combination, groups)
        if candidate.is_headline and candidate.path.aa_of is None and candidate.pairs.path
    ]
    p_values = holm([alike_p_value(list(_by_worker(candidate).values())) for candidate in compared])
    return [_effect(candidate, p_value, run) for candidate, p_value in zip(compared, p_values, strict=True)]


def worker_remarks(effects: Sequence[WorkerEffect], run: Run) -> list[str]:
    """Sentences on workers that do not say the same, and on what came from them late or twice; empty if there are
    none."""
    remarks = []
    error = 1 - run.manifest.experiment.statistics.confidence
    differing = [effect for effect in effects if effect.p_value is not None and effect.p_value < error]
    if differing:
        named = "; ".join(
            subject(worker_effect.workload, worker_effect.metric, worker_effect.path, worker_effect.levels)
            for worker_effect in differing[:5]
        )
        more = f"; and {len(differing) - 5} more" if len(differing) > 5 else ""
        remarks.append(
            f"The workers differ in {len(differing)} of {len(effects)} comparisons of headline metrics ({named}{more})."
            " There the change depends on the machine, and the one that is given is that of this mixture of machines."
        )
    if run.manifest.apart:
        are = "1 trial came" if run.manifest.apart == 1 else f"{run.manifest.apart} trials came"
        remarks.append(
            f"{are} from workers late or twice, because a worker was taken for dead or slow. The run directory has "
            "them in apart, and they count nowhere."
        )
    return remarks


def _by_worker(candidate: Candidate) -> dict[str, list[float]]:
    """Each block's change, by worker: the log ratio, or the difference."""
    pairs, values = candidate.pairs, dict[str, list[float]]()
    is_ratio = pairs.scale == "ratio" and min(*pairs.path, *pairs.baseline) > 0
    for worker, path, baseline in zip(candidate.workers, pairs.path, pairs.baseline, strict=True):
        values.setdefault(worker or "", []).append(log(path / baseline) if is_ratio else path - baseline)
    return values


def _effect(candidate: Candidate, p_value: float | None, run: Run) -> WorkerEffect:
    statistics = run.manifest.experiment.statistics
    return WorkerEffect(
        workload=candidate.combination.workload.kind,
        metric=candidate.metric.name,
        unit=candidate.metric.unit,
        levels=candidate.combination.levels,
        combination=candidate.combination.name,
        path=candidate.path.name,
        baseline=candidate.baseline,
        p_value=p_value,
        workers=[_value(candidate, worker, statistics.confidence) for worker in sorted(_by_worker(candidate))],
    )


def _value(candidate: Candidate, worker: str, confidence: float) -> WorkerValue:
    """The change on one worker. A worker has few blocks, so that nothing tells a wild one from the others: it is the
    mean."""
    numbers = [index for index, name in enumerate(candidate.workers) if (name or "") == worker]
    pairs = Pairs(
        path=[candidate.pairs.path[index] for index in numbers],
        baseline=[candidate.pairs.baseline[index] for index in numbers],
        scale=candidate.pairs.scale,
    )
    comparison = compare(pairs, confidence=confidence, margin=0.0)
    return WorkerValue(
        worker=worker,
        n=comparison.n,
        ratio=comparison.ratio,
        difference=comparison.difference,
        ci_low=comparison.low,
        ci_high=comparison.high,
    )
