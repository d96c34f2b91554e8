"""A plain analysis for tests of reports: t intervals of log ratios, rounded to six digits so that it is the same
everywhere.

Reports are tested against this, so that a change of the statistics does not change their golden files.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from sixbench.model.experiment import Combination, Experiment
from sixbench.model.finding import Analysis, ClaimResult, Direction, Estimate, Finding, PublishedComparison, Verdict
from sixbench.model.metric import COLUMNS
from sixbench.model.quantity import Metric
from sixbench.model.trial import TrialRecord
from sixbench.model.workloads import WORKLOADS
from sixbench.store import Run

_T_95 = {
    1: 12.7062,
    2: 4.30265,
    3: 3.18245,
    4: 2.77645,
    5: 2.57058,
    6: 2.44691,
    7: 2.36462,
    8: 2.306,
    9: 2.26216,
    10: 2.22814,
    11: 2.20099,
}
Interval = tuple[float | None, float | None]


def plain_analysis(run: Run, *, paper: bool = False) -> Analysis:
    """Estimates and findings of a run; with some claims and published values if `paper`."""
    experiment = run.manifest.experiment
    estimates: list[Estimate] = []
    findings: list[Finding] = []
    for combination in experiment.combinations:
        of_combination = [trial for trial in run.trials if trial.combination == combination.name]
        columns = dict.fromkeys(column for trial in of_combination if trial.status == "ok" for column in trial.metrics)
        for metric in (COLUMNS[column] for column in columns):
            of_metric = _estimates(experiment, combination, metric, of_combination)
            estimates.extend(of_metric)
            findings.extend(_findings(experiment, combination, metric, of_combination, of_metric))
    return Analysis(
        estimates=estimates,
        findings=findings,
        claims=_claims() if paper else [],
        published=_published() if paper else [],
        remarks=["1 of 3 paths shows a drift over the blocks"] if findings else [],
    )


def _estimates(
    experiment: Experiment, combination: Combination, metric: Metric, trials: list[TrialRecord]
) -> list[Estimate]:
    estimates = []
    for path in experiment.paths:
        values = list(_by_block(trials, path.name, metric).values())
        if not values:
            continue
        low, high = _t_interval(values)
        theory = next(
            (t.theory[metric.column] for t in trials if t.path == path.name and metric.column in t.theory), None
        )
        estimates.append(
            Estimate(
                workload=combination.workload.kind,
                metric=metric.name,
                unit=metric.unit,
                levels=combination.levels,
                combination=combination.name,
                path=path.name,
                n=len(values),
                value=_rounded(statistics.fmean(values)),
                ci_low=low,
                ci_high=high,
                theory=theory,
            )
        )
    return estimates


def _findings(
    experiment: Experiment,
    combination: Combination,
    metric: Metric,
    trials: list[TrialRecord],
    estimates: list[Estimate],
) -> list[Finding]:
    by_path = {estimate.path: estimate for estimate in estimates}
    baseline = _by_block(trials, experiment.baseline, metric)
    findings: list[Finding] = []
    noise: Interval = (None, None)
    for path in sorted(experiment.paths, key=lambda path: path.aa_of is None):
        if path.name == experiment.baseline:
            continue
        by_block = _by_block(trials, path.name, metric)
        pairs = [(by_block[block], baseline[block]) for block in by_block if block in baseline]
        if not pairs and metric.name != WORKLOADS[combination.workload.kind].primary:
            continue
        ratio, difference, (low, high) = _compare(metric, pairs)
        values = _values(pairs, ratio)
        none = 1.0 if metric.scale == "ratio" else 0.0
        if path.aa_of:
            noise = (low, high)
        ours, base = by_path.get(path.name), by_path.get(experiment.baseline)
        findings.append(
            Finding(
                workload=combination.workload.kind,
                metric=metric.name,
                unit=metric.unit,
                levels=combination.levels,
                combination=combination.name,
                path=path.name,
                baseline=experiment.baseline,
                n=len(pairs),
                verdict=_verdict(low, high, none, experiment.statistics.margin),
                direction=_direction(low, high, none),
                value=values[0],
                baseline_value=values[1],
                estimate=ours.value if ours else None,
                baseline_estimate=base.value if base else None,
                ratio=ratio,
                ci_low=low,
                ci_high=high,
                difference=difference,
                noise_low=noise[0],
                noise_high=noise[1],
                theory=ours.theory if ours else None,
                theory_baseline=base.theory if base else None,
                invalid=sum(t.status != "ok" for t in trials if t.path in (path.name, experiment.baseline)),
                is_aa=path.aa_of is not None,
                headline=metric.name in WORKLOADS[combination.workload.kind].headline,
            )
        )
    return findings


def _by_block(trials: list[TrialRecord], path: str, metric: Metric) -> dict[int, float]:
    return {
        t.block: t.metrics[metric.column]
        for t in trials
        if t.path == path and t.status == "ok" and metric.column in t.metrics
    }


def _compare(metric: Metric, pairs: list[tuple[float, float]]) -> tuple[float | None, float | None, Interval]:
    if not pairs:
        return None, None, (None, None)
    differences = [these - base for these, base in pairs]
    difference = _rounded(statistics.fmean(differences))
    if metric.scale == "difference" or any(these <= 0 or base <= 0 for these, base in pairs):
        return None, difference, _t_interval(differences)
    logs = [math.log(these / base) for these, base in pairs]
    low, high = _t_interval(logs)
    ratio = _rounded(math.exp(statistics.fmean(logs)))
    if low is None or high is None:
        return ratio, difference, (None, None)
    return ratio, difference, (_rounded(math.exp(low)), _rounded(math.exp(high)))


def _values(pairs: list[tuple[float, float]], ratio: float | None) -> tuple[float | None, float | None]:
    """The values that the change is of: geometric means where there is a ratio."""
    if not pairs:
        return None, None
    if ratio is None:
        return statistics.fmean(these for these, _ in pairs), statistics.fmean(base for _, base in pairs)
    base = _rounded(statistics.geometric_mean(base for _, base in pairs))
    return float(f"{base * ratio:.12g}"), base


def _t_interval(values: Sequence[float]) -> Interval:
    if len(values) < 2:
        return None, None
    half = _T_95[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return _rounded(mean - half), _rounded(mean + half)


def _verdict(low: float | None, high: float | None, none: float, margin: float) -> Verdict:
    if low is None or high is None:
        return "inconclusive"
    if none - margin <= low and high <= none + margin:
        return "equivalent"
    return _direction(low, high, none) or "inconclusive"


def _direction(low: float | None, high: float | None, none: float) -> Direction | None:
    if low is None or high is None:
        return None
    return "higher" if low > none else "lower" if high < none else None


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _claims() -> list[ClaimResult]:
    return [
        ClaimResult(
            claim="small-messages",
            text="Router-to-router tunnelling costs at most 10 % of the throughput at every message size.",
            source="section 5.1, figure 4",
            verdict="reproduced",
            reason="the ratio is at least 0.98 at 4 of 4 message sizes",
            evidence=["tcp-stream goodput router-to-router: 0.986 (0.985 to 0.987) at message 1 KiB"],
        ),
        ClaimResult(
            claim="connect",
            text="A host-to-host tunnel doubles the connection time.",
            source="table 3, p. 6",
            verdict="not reproduced",
            reason="the ratio is 1.07 (1.06 to 1.08)",
        ),
        ClaimResult(
            claim="order",
            text="Host-to-host is faster than router-to-router & IPv6 for <64 B messages.",
            source="section 5.2",
            verdict="opposite",
            reason="it is slower at every size",
        ),
        ClaimResult(
            claim="windows",
            text="Windows 2000 is slower than Solaris 8.",
            source="section 6",
            verdict="not testable here",
            reason="it compares two operating systems",
        ),
    ]


def _published() -> list[PublishedComparison]:
    rows = [
        ("table 2, p. 5", "IPv4, TCP, 64 B", 61.2e6, "bit/s", 93.3e6, 93.2e6, 93.4e6),
        ("table 2, p. 5", "IPv6, TCP, 64 B", 58.9e6, "bit/s", 92.0e6, 91.9e6, 92.1e6),
        ("table 2, p. 5", "router-to-router, TCP, 64 B", 49.5e6, "bit/s", 90.7e6, 90.6e6, 90.8e6),
        ("table 2, p. 5", "host-to-host, TCP, 64 B", 31.0e6, "bit/s", 90.7e6, 90.5e6, 90.9e6),
        ("table 3, p. 6", "IPv4, TCP connection", 410e3, "ns", 83.2e3, 82.9e3, 83.6e3),
        ("table 3, p. 6", "IPv6, TCP connection", 540e3, "ns", 84.9e3, 84.6e3, 85.3e3),
        ("table 3, p. 6", "host-to-host, TCP connection", 1_200e3, "ns", None, None, None),
    ]
    return [
        PublishedComparison(
            source=source, what=what, published=published, unit=unit, ours=ours, ours_low=low, ours_high=high
        )
        for source, what, published, unit, ours, low, high in rows
    ]
