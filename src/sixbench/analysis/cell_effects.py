"""What the cells of a run say, each by itself, and whether they say the same.

The two trials of a pair were measured by one cell. So what distinguishes cells cancels in a change, unless the change
itself depends on the machine. Whether it does is tested for each comparison of a headline metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING

from ..model.finding import CellEffect, CellValue
from ..model.names import subject
from ..stats import Pairs, alike_p_value, compare, holm
from .candidates import Candidate, candidates
from .estimates import group_trials

if TYPE_CHECKING:
    from ..store import Run


def cell_effects(run: Run) -> list[CellEffect]:
    """The comparisons of headline metrics by cell, with p-values that are adjusted over all of them (Holm). Empty for a
    run that fewer than two cells measured."""
    experiment = run.manifest.experiment
    if len({trial.cell for trial in run.trials} - {None}) < 2:
        return []
    groups = group_trials(run)
    compared = [
        one
        for combination in experiment.combinations
        for one in candidates(experiment, combination, groups)
        if one.is_headline and one.path.aa_of is None and one.pairs.path
    ]
    p_values = holm([alike_p_value(list(_by_cell(one).values())) for one in compared])
    return [_effect(one, p_value, run) for one, p_value in zip(compared, p_values, strict=True)]


def cell_remarks(effects: Sequence[CellEffect], run: Run) -> list[str]:
    """Sentences on cells that do not say the same, and on what came from them late or twice; empty if there are
    none."""
    remarks = []
    error = 1 - run.manifest.experiment.statistics.confidence
    differing = [effect for effect in effects if effect.p_value is not None and effect.p_value < error]
    if differing:
        named = "; ".join(subject(one.workload, one.metric, one.path, one.levels) for one in differing[:5])
        more = f"; and {len(differing) - 5} more" if len(differing) > 5 else ""
        remarks.append(
            f"The cells differ in {len(differing)} of {len(effects)} comparisons of headline metrics ({named}{more}). "
            "There the change depends on the machine, and the one that is given is that of this mixture of machines."
        )
    if run.manifest.apart:
        are = "1 trial came" if run.manifest.apart == 1 else f"{run.manifest.apart} trials came"
        remarks.append(
            f"{are} from cells late or twice, because a cell was taken for dead or slow. The run directory has them in "
            "apart, and they count nowhere."
        )
    return remarks


def _by_cell(candidate: Candidate) -> dict[str, list[float]]:
    """What each block says of the change, by cell: the log ratio, or the difference."""
    pairs, found = candidate.pairs, dict[str, list[float]]()
    is_ratio = pairs.scale == "ratio" and min(*pairs.path, *pairs.baseline) > 0
    for cell, path, baseline in zip(candidate.cells, pairs.path, pairs.baseline, strict=True):
        found.setdefault(cell or "", []).append(log(path / baseline) if is_ratio else path - baseline)
    return found


def _effect(candidate: Candidate, p_value: float | None, run: Run) -> CellEffect:
    statistics = run.manifest.experiment.statistics
    return CellEffect(
        workload=candidate.combination.workload.kind,
        metric=candidate.metric.name,
        unit=candidate.metric.unit,
        levels=candidate.combination.levels,
        combination=candidate.combination.name,
        path=candidate.path.name,
        baseline=candidate.baseline,
        p_value=p_value,
        cells=[_value(candidate, cell, statistics.confidence) for cell in sorted(_by_cell(candidate))],
    )


def _value(candidate: Candidate, cell: str, confidence: float) -> CellValue:
    """The change on one cell. A cell has few blocks, so that nothing tells a wild one from the others: it is the
    mean."""
    own = [index for index, name in enumerate(candidate.cells) if (name or "") == cell]
    pairs = Pairs(
        path=[candidate.pairs.path[index] for index in own],
        baseline=[candidate.pairs.baseline[index] for index in own],
        scale=candidate.pairs.scale,
    )
    found = compare(pairs, confidence=confidence, margin=0.0)
    return CellValue(
        cell=cell, n=found.n, ratio=found.ratio, difference=found.difference, ci_low=found.low, ci_high=found.high
    )
