"""Trust in a run: its trials by status and reason, and the noise floor of the A/A comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..model.change_words import change_of
from ..model.finding import Analysis, Finding
from ..model.reason import Reason as OfTrial
from ..model.reason import ReasonKind
from ..model.repeats import repeated
from ..model.trial import Status
from ..store import Run
from . import marks, rows, words

_NUMBER = re.compile(r"(?<![\w.:-])-?\d+(?:\.\d+)?(?![\d.:]*[.:]\d)")
"""A number that stands by itself: none that is part of a name or an address."""

_NONE = OfTrial(kind=ReasonKind.UNTYPED, text="no reason was recorded")


@dataclass(frozen=True, kw_only=True)
class CountedReason:
    """The reason why trials are not `ok`: reasons of a kind that differ in their numbers only count as one, and the
    first of them is `text`. `count` is of trials."""

    status: Status
    kind: ReasonKind
    text: str
    count: int
    paths: list[str]
    workloads: list[str]
    keys: list[str]


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Trials by status.

    Attributes:
        planned: the least number that the experiment asks for.
        unusable: those that are missing, damaged, copied or changed, which are none of the others.
        repeats: how many of `total` are repeats of a trial that the machine disturbed.
        repeats_valid: how many of these are valid.
    """

    planned: int
    total: int
    ok: int
    invalid: int
    failed: int
    reasons: list[CountedReason]
    unusable: int = 0
    repeats: int = 0
    repeats_valid: int = 0

    @property
    def summary(self) -> str:
        """Such as `252 trials: 248 ok, 3 invalid, 1 failed`, and `(2 of them repeats)` behind their number."""
        left_out = f"; {self.unusable} more cannot be used: damaged, missing or changed" if self.unusable else ""
        if not self.total:
            return f"no trials{left_out}"
        numbers = (("ok", self.ok), ("invalid", self.invalid), ("failed", self.failed))
        by_status = ", ".join(f"{number} {status}" for status, number in numbers if number)
        again = f" ({words.count(self.repeats, 'of them a repeat', 'of them repeats')})" if self.repeats else ""
        return f"{words.count(self.total, 'trial')}{again}: {by_status}{left_out}"


@dataclass(frozen=True, kw_only=True)
class NoiseFloor:
    """Result of the A/A comparison of one metric: `largest` is its widest deviation over all levels, as `±0.05 %`."""

    workload: str
    metric: str
    path: str
    baseline: str
    comparisons: int
    different: int
    largest: str


def trials(run: Run) -> Trials:
    """Counts the trials of a run."""
    experiment, again = run.manifest.experiment, repeated(run.trials)
    counts: dict[Status, int] = {"ok": 0, "invalid": 0, "failed": 0}
    reasons: dict[tuple[Status, ReasonKind, str], CountedReason] = {}
    for trial in run.trials:
        counts[trial.status] += 1
        if trial.status == "ok":
            continue
        for reason in trial.reasons or [_NONE]:
            alike = (trial.status, reason.kind, _NUMBER.sub("#", reason.text))
            known = reasons.get(alike)
            keys = _with(known.keys if known else [], trial.key)
            reasons[alike] = CountedReason(
                status=trial.status,
                kind=reason.kind,
                text=known.text if known else reason.text,
                count=len(keys),
                paths=_with(known.paths if known else [], trial.path),
                workloads=_with(known.workloads if known else [], trial.workload),
                keys=keys,
            )
    return Trials(
        planned=experiment.blocks.minimum * len(experiment.path_combinations),
        total=len(run.trials),
        ok=counts["ok"],
        invalid=counts["invalid"],
        failed=counts["failed"],
        unusable=len(run.problems),
        repeats=again.repeats,
        repeats_valid=again.valid,
        reasons=sorted(reasons.values(), key=lambda reason: (reason.status, -reason.count)),
    )


def noise_floor(analysis: Analysis) -> list[NoiseFloor]:
    """The A/A comparisons of headline metrics; empty where the experiment carries none."""
    same = [finding for finding in analysis.findings if finding.is_aa]
    shown = [finding for finding in same if finding.headline] or same
    floors = []
    for workload, of_workload in rows.by_workload(shown).items():
        for metric, findings in rows.by_metric(of_workload).items():
            known = [finding for finding in findings if finding.ci_low is not None]
            if not known:
                continue
            widest = max(known, key=_deviation)
            floors.append(
                NoiseFloor(
                    workload=workload,
                    metric=metric,
                    path=widest.path,
                    baseline=widest.baseline,
                    comparisons=len(known),
                    different=sum(finding.verdict in ("higher", "lower") for finding in known),
                    largest=marks.TOO_VARIABLE
                    if any(finding.mark == "too variable" for finding in known)
                    else _widest(widest),
                )
            )
    return floors


def _widest(finding: Finding) -> str:
    change = change_of(finding)
    interval = None if change is None else change.printed_interval
    return words.MISSING if interval is None else interval.widest


def _deviation(finding: Finding) -> float:
    none = 0.0 if finding.ratio is None else 1.0
    return max(abs((words.finite(end) or none) - none) for end in (finding.ci_low, finding.ci_high))


def _with(items: list[str], item: str) -> list[str]:
    return items if item in items else [*items, item]
