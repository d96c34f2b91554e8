"""Noise: how much the baseline differs from itself, if there is an A/A path, and what else the machine did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..model.bypass import NEAR_SHARE
from ..model.experiment import Experiment
from ..model.finding import Finding
from ..model.metric import COLUMNS
from ..model.names import metric_in_sentence, subject, workload_in_sentence
from ..model.quoting import listed
from ..model.repeats import repeated
from ..model.trial import TrialRecord


def with_noise(findings: Sequence[Finding], experiment: Experiment) -> list[Finding]:
    """The findings with the A/A comparison's interval of the same combination and metric beside them, itself included.

    It is left out where one of the two is an interval of a ratio and the other of a difference (a value was zero).
    If the baseline has several A/A paths, the first one is taken.
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
    """Sentences on findings that the noise floor casts doubt on; empty if there are none. Those within it are counted
    only of headline metrics, which the report shows.

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
            f"A path measured twice differs from itself in {len(different)} of {len(compared)} A/A comparisons "
            f"({_names(different)}). Something other than the paths causes differences on this machine. Findings of "
            "that size may come from it."
        )
    within = [finding for finding in findings if finding.headline and finding.mark == "within A/A"]
    if within:
        differences = "1 difference is" if len(within) == 1 else f"{len(within)} differences are"
        remarks.append(
            f"{differences} no larger than the baseline's possible difference from itself ({_names(within)}). More "
            "blocks would narrow the A/A intervals."
        )
    return remarks


def outlying_remarks(findings: Sequence[Finding]) -> list[str]:
    """A sentence on comparisons of headline metrics in which some blocks have almost no weight; empty if none do."""
    compared = [finding for finding in findings if finding.headline and finding.n and not finding.is_aa]
    outlying = [finding for finding in compared if finding.outlying]
    if not outlying:
        return []
    blocks = sum(finding.outlying for finding in outlying)
    have = "1 outlying block has" if blocks == 1 else f"{blocks} outlying blocks have"
    where = "a comparison" if len(outlying) == 1 else f"{len(outlying)} comparisons"
    return [
        f"{have} almost no weight in {where} of headline metrics ({_names(outlying)}). Their trials are valid, and are "
        "in the counts and the figures. Rows name such blocks where they lie beyond the margin."
    ]


BUSY_ELSEWHERE_CORES = 0.5
"""Other programs that use more than this during a trial make timers and senders late: a remark says so."""

_OTHER = "cpu_other_cores"


def load_remarks(trials: Sequence[TrialRecord]) -> list[str]:
    """Sentences on the CPU time that other programs took during trials; empty if it was little."""
    values = [trial.metrics[_OTHER] for trial in trials if trial.status == "ok" and _OTHER in trial.metrics]
    busy = [cores for cores in values if cores > BUSY_ELSEWHERE_CORES]
    if not busy:
        return []
    return [
        f"Other programs on this machine used more than {BUSY_ELSEWHERE_CORES:g} cores during {len(busy)} of "
        f"{len(values)} trials (at most {max(busy):.1f}). This may make rates lower, times longer and intervals wider. "
        "Repeat the run on a quiet machine."
    ]


MUCH_STEAL_CORES = 0.02
"""A hypervisor that takes more than this in the mean of the trials makes intervals wide: a remark says so. One trial
says little, as the kernel tells what was taken in ticks of 10 ms."""

_STEAL = "cpu_steal_cores"


def steal_remarks(trials: Sequence[TrialRecord]) -> list[str]:
    """A sentence on the CPU time that the hypervisor took during trials; empty if it was little."""
    values = [trial.metrics[_STEAL] for trial in trials if trial.status == "ok" and _STEAL in trial.metrics]
    mean_cores = sum(values) / len(values) if values else 0.0
    if mean_cores <= MUCH_STEAL_CORES:
        return []
    return [
        f"This machine is virtual, and its host took away {mean_cores:.2f} cores on average over {len(values)} trials "
        f"(at most {max(values):.1f}). CPU times include some of that, and intervals are wider. Repeat the run when "
        "the "
        "host is less busy."
    ]


MUCH_SLOWDOWN = 0.1
"""A core that is slower by more than this share makes times long and intervals wide."""
MANY_SLOW_TRIALS = 0.05
"""A remark says so where it was in more than this share of the trials."""

SLOWDOWN = "core_slowdown_ratio"


def slowdown_remarks(trials: Sequence[TrialRecord]) -> list[str]:
    """A sentence on cores that were slower in some trials than in others; empty if they rarely were."""
    values = [trial.metrics[SLOWDOWN] for trial in trials if trial.status == "ok" and SLOWDOWN in trial.metrics]
    slow = [share for share in values if share > MUCH_SLOWDOWN]
    if len(slow) <= MANY_SLOW_TRIALS * len(values):
        return []
    return [
        f"The cores were slower than at their fastest by more than {100 * MUCH_SLOWDOWN:g} % in {len(slow)} of "
        f"{len(values)} trials (at most by {100 * max(slow):.0f} %). A loop that is timed before and after each trial "
        "measures this. Something else used these cores, such as another virtual machine, or their frequency changed. "
        "This makes times longer and intervals wider. Repeat the run on a machine that shares its cores with nothing "
        "else."
    ]


def awake_remarks(trials: Sequence[TrialRecord]) -> list[str]:
    """A sentence on trials during which processors that were to be kept awake could sleep; empty if there were none."""
    to_be = [trial for trial in trials if trial.kept_awake is not None]
    asleep = sum(not trial.kept_awake for trial in to_be)
    if not asleep:
        return []
    return [
        f"Processors could sleep in {asleep} of {len(to_be)} trials, because the threads that keep them awake ended or "
        "could not be started. A sleeping processor takes time to wake, which may make times longer and intervals "
        "wider. The notes of these trials give the cause."
    ]


def repeat_remarks(trials: Sequence[TrialRecord], most: int) -> list[str]:
    """A sentence on trials that were repeated because the machine was disturbed, and what came of it; empty if there
    were none.

    Args:
        most: how often a trial might be repeated.
    """
    result = repeated(trials)
    if not result.trials:
        return []
    kinds = Counter(
        kind for trial in trials if trial.is_disturbed for kind in {reason.kind.value for reason in trial.reasons}
    )
    why = listed(f"{kind} in {number}" for kind, number in kinds.most_common())
    were = "1 trial was" if result.trials == 1 else f"{result.trials} trials were"
    text = "1 repeat" if result.repeats == 1 else f"{result.repeats} repeats"
    return [
        f"{were} repeated within the block because the machine was disturbed ({why}), by a rule that was fixed before "
        f"the run and does not depend on metrics: at most {most} times each. {text} gave {result.valid} valid "
        f"{'trial' if result.valid == 1 else 'trials'}. The repeated trials are invalid, and are listed."
    ]


def neighbour_remarks(trials: Sequence[TrialRecord]) -> list[str]:
    """A sentence on other runs of sixbench that measured on the machine during trials; empty if there were none."""
    beside = [trial for trial in trials if trial.other_runs]
    if not beside:
        return []
    names = sorted({name for trial in beside for name in trial.other_runs or ()})
    return [
        f"Another run of sixbench ({listed(names)}) measured on this machine during {len(beside)} of {len(trials)} "
        "trials. The runs disturbed each other. Repeat this one with --wait."
    ]


def watch_remarks(trials: Sequence[TrialRecord]) -> list[str]:
    """A sentence on pages of `sixbench ui` that looked at the run; empty if there were none."""
    watched = sum(trial.watched is True for trial in trials)
    if not watched:
        return []
    return [
        f"A page of sixbench ui looked at this run during {watched} of {len(trials)} trials, and used a processor "
        "meanwhile. For numbers to publish, repeat the run with no page open."
    ]


def tester_remarks(trials: Sequence[TrialRecord]) -> list[str]:
    """A sentence for each workload whose results depend on the tester as much as on the paths."""
    valid = [trial for trial in trials if trial.status == "ok" and trial.bypass]
    remarks = []
    for workload in dict.fromkeys(trial.workload for trial in valid):
        records = [trial for trial in valid if trial.workload == workload]
        limited = [trial for trial in records if trial.limited_by == "tester"]
        if limited:
            columns = dict.fromkeys(column for trial in limited for column in trial.bypass)
            metrics = [metric_in_sentence(COLUMNS[column].name) if column in COLUMNS else column for column in columns]
            remarks.append(
                f"The tester was the limit in {len(limited)} of {len(records)} trials of "
                f"{workload_in_sentence(workload)} "
                f"(over {listed(dict.fromkeys(trial.path for trial in limited))}): the {listed(metrics)} is within "
                f"{100 * NEAR_SHARE:g} % of its value with no path in between."
            )
    return remarks


def _names(findings: Sequence[Finding], most: int = 5) -> str:
    """The first few of these, by metric, workload, path and levels."""
    named = [subject(finding.workload, finding.metric, finding.path, finding.levels) for finding in findings[:most]]
    return "; ".join(named) + (f"; and {len(findings) - most} more" if len(findings) > most else "")
