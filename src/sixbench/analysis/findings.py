"""The difference of each path from its baseline, and whether it is certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..model.finding import Estimate, Finding
from .blocks_needed import with_blocks_needed
from .candidates import adjusted_within, candidates, compare_candidates, finding_of
from .estimates import estimates as estimate_all
from .estimates import group_trials
from .looks import looks_of
from .mixtures import with_mixtures
from .noise import with_noise

if TYPE_CHECKING:
    from ..store import Run


def findings(run: Run, estimates: Sequence[Estimate] | None = None) -> list[Finding]:
    """One finding for each combination, path other than the baseline, and metric that some block has for both.

    A path that was tried at a combination but cannot be compared there has a finding for the workload's primary
    metric, with `n` 0, so that nothing disappears silently. An A/A path is compared with the path that it repeats.

    *Verdict.* `equivalent`: a test of equivalence shows that the path is within `statistics.margin` of the baseline.
    This comes first, because the margin was declared to be no difference. `higher` or `lower`: the adjusted p-value is
    under 1 - confidence *and* the interval is on one side of no difference. Otherwise `inconclusive`: more blocks may
    tell. For metrics that are shares (loss) the margin is a margin of the share itself. There a difference comes first,
    and an interval without zero is never called equivalent. A loss of 0.5 % against none is within a margin of 1 %, but
    it matters.

    *Direction.* `higher` or `lower` where a difference is certain, whether or not it is within the margin: that it is
    real and that it is large enough to matter are two answers.

    *Families.* Holm's adjustment is over all findings of one metric in the run. The question is "does goodput differ
    anywhere?", and the chance of any false answer to it is at most 1 - confidence. Metrics are not one family, since
    most are views of the same thing (five quantiles of one histogram) and would take each other's power. A/A
    comparisons are a family of their own. They ask about the testbed, not the paths, and their number must not make
    real differences harder to see. Equivalence is not adjusted. It is a statement about one comparison, each with an
    error of 1 - confidence.

    *Looks.* Where blocks go on until answers are decided (`analysis.looks`), intervals and p-values are those of the
    last look, and hold for all looks at the combination.

    Args:
        run: the run as it was read.
        estimates: the estimates of the run, if they are known already. They are computed otherwise.
    """
    experiment = run.manifest.experiment
    groups = group_trials(run)
    compared = [
        candidate
        for combination in experiment.combinations
        for candidate in candidates(experiment, combination, groups)
    ]
    looks = looks_of(run)
    comparisons = compare_candidates(compared, experiment.statistics, looks)
    adjusted = adjusted_within(
        [(candidate.metric.name, candidate.path.aa_of is not None) for candidate in compared], comparisons
    )
    values = {(e.combination, e.path, e.metric): e.value for e in (estimates or estimate_all(run))}
    results = [
        finding_of(candidate, comparison, p_value, values, experiment.statistics, looks)
        for candidate, comparison, p_value in zip(compared, comparisons, adjusted, strict=True)
    ]
    return with_blocks_needed(with_mixtures(with_noise(results, experiment), groups, experiment), experiment)
