"""The data of figures of values: estimates and findings of one workload and metric, sorted into panels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...model.experiment import Combination, Experiment
from ...model.finding import Analysis, Estimate, Finding
from ...model.metric import METRICS
from ...model.parameter import Scalar
from ...model.trial import TrialRecord
from ...model.workloads import WORKLOADS
from .. import rows, words
from .factors import is_quantity
from .style import PathStyle, path_styles


@dataclass(frozen=True, kw_only=True)
class Context:
    """Values that all figures of a run share."""

    experiment: Experiment
    styles: dict[str, PathStyle]
    metrics: Mapping[tuple[str, str], Mapping[int, Mapping[str, float]]] = field(default_factory=dict)
    """Metrics of the valid trials, by combination and path, then by block."""

    @classmethod
    def of(cls, experiment: Experiment, trials: Iterable[TrialRecord] = ()) -> Context:
        """The context of an experiment and of its trials."""
        metrics: dict[tuple[str, str], dict[int, Mapping[str, float]]] = {}
        for trial in trials:
            if trial.status == "ok":
                metrics.setdefault((trial.combination, trial.path), {})[trial.block] = trial.metrics
        return cls(experiment=experiment, styles=path_styles(experiment), metrics=metrics)

    def pairs(self, finding: Finding) -> list[float]:
        """The ratio of path to baseline in each block that has both, in the order of the blocks."""
        column = METRICS[finding.metric].column if finding.metric in METRICS else finding.metric
        path, base = (self.metrics.get((finding.combination, name), {}) for name in (finding.path, finding.baseline))
        both = [(path[block].get(column), base[block].get(column)) for block in sorted(path.keys() & base.keys())]
        return [ours / theirs for ours, theirs in both if ours is not None and theirs]

    def margins(self, findings: Iterable[Finding]) -> list[float]:
        """The margins of equivalence of these findings, as ratios, without repetition."""
        return self.experiment.statistics.margins_of(finding.workload for finding in findings)

    def margins_of(self, findings: Iterable[Finding]) -> str:
        """Such as `±1 %`."""
        return words.margins_of(self.experiment.statistics, findings, "±")

    def baselines(self, items: Iterable[Finding | Estimate]) -> str:
        """Baselines of paths at the combinations of these, in words."""
        names = {item.combination for item in items}
        of_names = [combination for combination in self.experiment.combinations if combination.name in names]
        return " or ".join(dict.fromkeys(map(self.experiment.baseline_of, of_names))) or self.experiment.baseline

    @property
    def confidence(self) -> str:
        """Such as `95 %`."""
        return words.percent(self.experiment.statistics.confidence)

    def paths(self, present: Iterable[str]) -> list[PathStyle]:
        """Styles of the paths that are present, in the experiment's order."""
        names = set(present)
        return [style for name, style in self.styles.items() if name in names]


@dataclass(frozen=True, kw_only=True)
class CombinationPanel:
    """The values of one combination of all factors but the main one."""

    title: str
    estimates: list[Estimate]
    findings: list[Finding]


@dataclass(frozen=True, kw_only=True)
class FigureMetric:
    """One metric of one workload.

    Attributes:
        main: column of the factor that is a quantity and has most levels; None where no quantity varies.
        is_first: whether it is the first of those with this workload and metric; further ones vary another factor.
    """

    workload: str
    metric: str
    unit: str
    main: str | None
    is_first: bool
    panels: list[CombinationPanel]

    @property
    def title(self) -> str:
        """The title of the figure, such as `TCP bulk transfer: Goodput, streams 4`."""
        constant = words.levels(rows.constant(estimate for panel in self.panels for estimate in panel.estimates))
        name = f"{words.workload_title(self.workload)}: {words.metric_label(self.metric)}"
        return f"{name}, {constant}" if constant and self.main else name


def measured(analysis: Analysis) -> list[FigureMetric]:
    """The headline metrics of every workload, in order, and the run times of its BPF programs. A workload without any
    measured headline metric has all its metrics."""
    results = []
    for workload, of_workload in rows.by_workload(analysis.estimates).items():
        known = WORKLOADS[workload].headline if workload in WORKLOADS else ()
        shown = [estimate for estimate in of_workload if estimate.metric in known] or of_workload
        if shown is not of_workload:
            shown += [estimate for estimate in of_workload if estimate.metric in rows.PROGRAM_METRICS]
        varying = rows.varying(of_workload)
        mains = _mains(of_workload, varying)
        for metric, of_metric in rows.by_metric(shown).items():
            findings = [f for f in analysis.findings if f.workload == workload and f.metric == metric]
            for main, estimates in _by_main(of_metric, mains).items():
                others = [column for column in varying if column != main]
                results.append(
                    FigureMetric(
                        workload=workload,
                        metric=metric,
                        unit=estimates[0].unit,
                        main=main,
                        is_first=main == mains[0],
                        panels=panels(estimates, findings, others),
                    )
                )
    return results


def _mains(items: Sequence[Estimate], varying: Sequence[str]) -> list[str | None]:
    """The main factors. Workloads of one kind may vary different things, so items without the first main factor have
    one of their own, and so on. None stands for items without any quantity that varies."""
    names: list[str | None] = []
    rest = list(items)
    while rest:
        main = main_factor(rest, varying)
        names.append(main)
        rest = [item for item in rest if main is not None and main not in item.levels]
    return names


def _by_main(estimates: Iterable[Estimate], mains: Sequence[str | None]) -> dict[str | None, list[Estimate]]:
    """The estimates of each main factor, in their order; those that have none of them belong to None."""
    results: dict[str | None, list[Estimate]] = {main: [] for main in mains}
    for estimate in estimates:
        results[next((main for main in mains if main in estimate.levels), None)].append(estimate)
    return {main: of_main for main, of_main in results.items() if of_main}


def main_factor(items: Sequence[rows.HasLevels], varying: Sequence[str]) -> str | None:
    """The quantity with most levels, the first of equals. None where only categories vary, or nothing."""
    best, most = None, 1
    for column in varying:
        values = {item.levels[column] for item in items if column in item.levels}
        if len(values) > most and is_quantity(items[0].workload, column, values):
            best, most = column, len(values)
    return best


def combinations(items: Iterable[rows.HasLevels], columns: Sequence[str]) -> list[tuple[Scalar | None, ...]]:
    """The combinations of levels of these columns that occur, in order of appearance."""
    return list(dict.fromkeys(tuple(item.levels.get(column) for column in columns) for item in items))


def describe(columns: Sequence[str], values: Sequence[Scalar | None]) -> str:
    """Levels as a panel's title: `link rate 10 Mbit/s, link MTU 1500 B`."""
    known = {column: value for column, value in zip(columns, values, strict=True) if value is not None}
    return words.levels(known)


def levels_of(items: Iterable[rows.HasLevels], column: str) -> list[float]:
    """The sorted levels of a quantity."""
    return sorted({float(item.levels[column]) for item in items if column in item.levels})


class AsItem:
    """A combination in the form that `rows` takes, for the sake of its levels."""

    def __init__(self, combination: Combination) -> None:
        self.workload = combination.workload.kind
        self.metric = ""
        self.levels = combination.levels


def panels(
    estimates: Sequence[Estimate], findings: Sequence[Finding], columns: Sequence[str]
) -> list[CombinationPanel]:
    """A panel for each combination of levels of these factors that was measured."""
    results = []
    for values in combinations(estimates, columns):
        results.append(
            CombinationPanel(
                title=describe(columns, values),
                estimates=[e for e in estimates if tuple(e.levels.get(column) for column in columns) == values],
                findings=[f for f in findings if tuple(f.levels.get(column) for column in columns) == values],
            )
        )
    return results


def tip(style: PathStyle, item: Estimate, column: str | None, finding: Finding | None) -> str:
    """The text of a marker: where it is, its value with its interval, and the comparison."""
    place = f"{words.factor(column)} {words.level(column, item.levels.get(column))}" if column else ""
    lines = [f"{style.name}{f', {place}' if place else ''}", words.quantity(item.value, item.unit)]
    if words.finite(item.ci_low) is not None and words.finite(item.ci_high) is not None:
        lines[-1] += f" ({words.quantity(item.ci_low, item.unit)} to {words.quantity(item.ci_high, item.unit)})"
    lines.append(words.count(item.n, "trial"))
    if finding is not None:
        lines.append(rows.row(finding).compared)
    if item.theory is not None:
        at_least = "at least " if rows.has_lower_bounds(item.metric) else ""
        lines.append(f"theory: {at_least}{words.quantity(item.theory, item.unit)}")
    return "\n".join(lines)
