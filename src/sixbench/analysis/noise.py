"""Noise: what the baseline differs from itself, where there is an A/A path; and what else the machine did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model.bypass import NEAR_SHARE
from ..model.experiment import Experiment
from ..model.finding import Finding
from ..model.metric import COLUMNS
from ..model.trial import TrialRecord
from ..model.wording import listed


def with_noise(findings: Sequence[Finding], experiment: Experiment) -> list[Finding]:
    """The findings with the A/A comparison's interval of the same combination and metric beside them, itself included.

    It is left out where one of the two is an interval of a ratio and the other of a difference (a value was zero).
    Of several A/A paths of the baseline it is the first one's.
    """
    floors: dict[tuple[str, str, bool], Finding] = {}
    for finding in findings:
        if finding.is_aa and finding.baseline == experiment.baseline and finding.ci_low is not None:
            floors.setdefault((finding.combination, finding.metric, finding.ratio is None), finding)
    if not floors:
        return list(findings)
    result = []
    for finding in findings:
        floor = floors.get((finding.combination, finding.metric, finding.ratio is None))
        result.append(finding if floor is None else replace(finding, noise_low=floor.ci_low, noise_high=floor.ci_high))
    return result


def noise_remarks(findings: Sequence[Finding], experiment: Experiment) -> list[str]:
    """What the noise floor says against the findings, as sentences; none where it says nothing.

    That an A/A comparison shows a difference is held against the testbed only where it is certain among those of all
    metrics together: each metric's family has a false one with a chance of 1 - confidence, and there are many metrics.
    """
    remarks = []
    compared = [finding for finding in findings if finding.is_aa and finding.p_value is not None]
    error = (1 - experiment.statistics.confidence) / max(1, len({finding.metric for finding in compared}))
    different = [
        f for f in compared if f.verdict in ("higher", "lower") and f.p_value is not None and f.p_value < error
    ]
    if different:
        remarks.append(
            f"A path repeated differs from itself in {len(different)} of {len(compared)} A/A comparisons "
            f"({_names(different)}): something other than the paths makes differences here, and findings of that size "
            "may be its doing."
        )
    within = [
        finding
        for finding in findings
        if not finding.is_aa and finding.verdict in ("higher", "lower") and _is_within_noise(finding)
    ]
    if within:
        remarks.append(
            f"Differences no larger than what the baseline may differ from itself: {len(within)} ({_names(within)}). "
            "They lie within the A/A intervals, which more blocks would narrow."
        )
    return remarks


BUSY_ELSEWHERE_CORES = 0.5
"""More than this, used by other programs during a trial, is told: it is enough to make timers and senders late."""

_OTHER = "cpu_other_cores"


def load_remarks(trials: Sequence[TrialRecord]) -> list[str]:
    """What other programs took of the machine's CPU during trials, as sentences; none where it was little."""
    told = [trial.metrics[_OTHER] for trial in trials if trial.status == "ok" and _OTHER in trial.metrics]
    busy = [cores for cores in told if cores > BUSY_ELSEWHERE_CORES]
    if not busy:
        return []
    return [
        f"During {len(busy)} of {len(told)} trials other programs of this machine used more than "
        f"{BUSY_ELSEWHERE_CORES:g} cores (at most {max(busy):.1f}): rates may be low, times long and intervals wide "
        "for that reason. Run it on a quiet machine."
    ]


def tester_remarks(trials: Sequence[TrialRecord]) -> list[str]:
    """Which results say as much of the tester as of the paths: a sentence a workload."""
    valid = [trial for trial in trials if trial.status == "ok" and trial.bypass]
    remarks = []
    for workload in dict.fromkeys(trial.workload for trial in valid):
        own = [trial for trial in valid if trial.workload == workload]
        limited = [trial for trial in own if trial.limited_by == "tester"]
        if limited:
            columns = dict.fromkeys(column for trial in limited for column in trial.bypass)
            metrics = [COLUMNS[column].name if column in COLUMNS else column for column in columns]
            remarks.append(
                f"{len(limited)} of {len(own)} trials of {workload} are limited by the tester "
                f"(over {listed(dict.fromkeys(trial.path for trial in limited))}): their {listed(metrics)} is within "
                f"{NEAR_SHARE:.0%} of what it does with no path between."
            )
    return remarks


def _is_within_noise(finding: Finding) -> bool:
    value = finding.difference if finding.ratio is None else finding.ratio
    if value is None or finding.noise_low is None or finding.noise_high is None:
        return False
    return finding.noise_low <= value <= finding.noise_high


def _names(findings: Sequence[Finding], most: int = 5) -> str:
    names = [f"{finding.metric} of {finding.path} at {finding.combination}" for finding in findings[:most]]
    return ", ".join(names) + (f" and {len(findings) - most} more" if len(findings) > most else "")
