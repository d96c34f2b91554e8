"""Our results as claims ask for them: by workload, path, metric and levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ..model.experiment import Combination
from ..model.finding import Estimate, Finding
from ..model.metric import METRICS
from ..model.paper import WORKLOAD, Selector
from ..model.parameter import Scalar
from ..stats import SAME, Comparison, Pairs, compare
from .estimates import group_trials
from .system_kernels import SystemKernels

if TYPE_CHECKING:
    from ..store import Run


class BlockValues(dict[int, float]):
    """The values of the valid trials, by block.

    Attributes:
        uncertainty: by how much a value may be wrong whatever the noise, by block, where that is known.
    """

    def __init__(self, values: Mapping[int, float], uncertainty: Mapping[int, float]) -> None:
        super().__init__(values)
        self.uncertainty = {block: by for block, by in uncertainty.items() if by and block in values}

    def uncertain_by(self, blocks: Sequence[int]) -> list[float]:
        """Uncertainties of these blocks; empty where no value may be wrong."""
        return [self.uncertainty.get(block, 0.0) for block in blocks] if self.uncertainty else []


class Results:
    """A run with its findings and estimates, indexed, and the kernels that stand for a paper's systems."""

    def __init__(
        self, run: Run, findings: Sequence[Finding], estimates: Sequence[Estimate], system_kernels: SystemKernels
    ) -> None:
        self.system_kernels = system_kernels
        self.experiment = run.manifest.experiment
        self.cores = run.manifest.environment.cores
        self._groups = group_trials(run)
        self._findings = {(f.combination, f.path, f.metric): f for f in findings if not f.is_aa}
        self._estimates = {(e.combination, e.path, e.metric): e for e in estimates}

    def combinations(self, selector: Selector) -> list[Combination]:
        """The combinations of the experiment that a selector means, in order."""
        levels = self.system_kernels.select(selector).levels
        return [
            combination
            for combination in self.experiment.combinations
            if combination.workload.kind in selector.workloads
            and all(level_of(combination, column) in values for column, values in levels.items())
        ]

    def finding(self, combination: Combination, path: str, metric: str) -> Finding | None:
        """The finding of the path against the baseline."""
        return self._findings.get((combination.name, path, metric))

    def estimate(self, combination: Combination, path: str, metric: str) -> Estimate | None:
        """The estimate of the path's own value."""
        return self._estimates.get((combination.name, path, metric))

    def by_block(self, combination: Combination, path: str, metric: str) -> BlockValues:
        """The values of the valid trials."""
        group = self._groups.get((combination.name, path))
        column = METRICS[metric].column
        trials = {} if group is None else group.ok
        return BlockValues(
            {block: trial.metrics[column] for block, trial in trials.items() if column in trial.metrics},
            {block: trial.uncertainty.get(column, 0.0) for block, trial in trials.items()},
        )

    def ratio_by_block(self, combination: Combination, path: str, metric: str) -> BlockValues:
        """Path over baseline where both have a valid trial in the block; not where a value is not positive.

        Empty for the baseline itself, which an altered experiment may have made of the path.
        """
        baseline = self.experiment.baseline_of(combination)
        if path == baseline:
            return BlockValues({}, {})
        series = self.by_block(combination, path, metric)
        base = self.by_block(combination, baseline, metric)
        ratios = {
            block: series[block] / base[block] for block in series if base.get(block, 0) > 0 and series[block] > 0
        }
        # Where the baseline may be 0, the ratio may have any value.
        greatest = {
            block: (series[block] + series.uncertainty.get(block, 0.0))
            / max(base[block] - base.uncertainty.get(block, 0.0), SAME * base[block])
            for block in ratios
        }
        return BlockValues(ratios, {block: greatest[block] - ratio for block, ratio in ratios.items()})

    def margin(self, combination: Combination) -> float:
        """The margin within which differences of its workload count as none."""
        return self.experiment.statistics.margin_of(combination.workload.kind)

    def compare(
        self,
        then: BlockValues,
        at: BlockValues,
        margin: float,
        scale: Literal["ratio", "difference"] = "ratio",
    ) -> Comparison:
        """Two series of values, by block, in pairs: `then` over `at`, as any path is compared with its baseline."""
        statistics = self.experiment.statistics
        blocks = sorted(then.keys() & at.keys())
        pairs = Pairs(
            path=[then[block] for block in blocks],
            baseline=[at[block] for block in blocks],
            scale=scale,
            path_uncertainty=then.uncertain_by(blocks),
            baseline_uncertainty=at.uncertain_by(blocks),
        )
        return compare(
            pairs,
            confidence=statistics.confidence,
            margin=margin,
            estimator=statistics.estimator,
        )

    def share_of_machine(self, metric: str) -> float:
        """The factor from a value of the metric to percent of the machine, for CPU time; 1 for other metrics."""
        return 100 / self.cores if METRICS[metric].unit == "cores" else 1.0

    def without(self, combinations: Sequence[Combination], factor: str) -> list[list[Combination]]:
        """Combinations in groups that differ in nothing but `factor`, each in the order of its levels. The factor
        `WORKLOAD` groups those of several workloads."""
        groups: dict[object, list[Combination]] = {}
        for combination in combinations:
            rest = {column: value for column, value in combination.levels.items() if column != factor}
            if level_of(combination, factor) is not None:
                kind = None if factor == WORKLOAD else combination.workload.kind
                groups.setdefault((kind, tuple(sorted(rest.items(), key=str))), []).append(combination)
        return [sorted(group, key=lambda c: _order(level_of(c, factor))) for group in groups.values()]


def level_of(combination: Combination, column: str) -> Scalar | None:
    """A level of the combination, or else the parameter of its workload that has the column, or else, of the column
    `WORKLOAD`, the workload's name."""
    unless_given = combination.workload.kind if column == WORKLOAD else None
    return combination.levels.get(column, combination.workload.params.get(column, unless_given))


def _order(value: Scalar | None) -> tuple[bool, float, str]:
    return (isinstance(value, str), 0.0 if isinstance(value, str) or value is None else float(value), str(value))
