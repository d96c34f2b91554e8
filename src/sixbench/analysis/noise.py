"""The noise floor: what the baseline differs from itself, where the experiment carries an A/A path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model.experiment import Experiment
from ..model.finding import Finding


def with_noise(findings: Sequence[Finding], experiment: Experiment) -> list[Finding]:
    """The findings with the A/A comparison's interval of the same combination and metric beside them, itself included.

    The interval is of what the finding's is: of the ratio, or where one of the two has no ratio (a value was zero),
    it is left out. Several A/A paths of the baseline: the first one's."""
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


def noise_remarks(findings: Sequence[Finding]) -> list[str]:
    """What the noise floor says against the findings, as sentences; none where it says nothing."""
    remarks = []
    different = [finding for finding in findings if finding.is_aa and finding.verdict in ("higher", "lower")]
    if different:
        compared = sum(finding.is_aa and finding.n > 1 for finding in findings)
        remarks.append(
            f"The baseline differs from itself in {len(different)} of {compared} A/A comparisons ({_names(different)}): "
            "something other than the paths made a difference, and findings of that size may be noise."
        )
    within = [
        finding
        for finding in findings
        if not finding.is_aa and finding.verdict in ("higher", "lower") and _is_within_noise(finding)
    ]
    if within:
        remarks.append(
            f"{len(within)} differences are no larger than what the baseline may differ from itself ({_names(within)}): "
            "their A/A intervals hold them. More blocks would narrow these."
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
