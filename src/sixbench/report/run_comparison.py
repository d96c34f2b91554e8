"""A run against another one: as text, and as JSON.

::

    schema          `sixbench.run-comparison/2`; fields are only ever added under the same number
    experiment, old, new, clock, confidence, limit
    settings        what differs beside the results: name, old, new
    metrics         one object a metric, workload, path and levels: the fields of `model.run_comparison.ComparedMetric`
    lacking         what only one run has: workload, levels, path, absent, is_planned
    fails           whether a metric is over the limit, or what worked does so no longer
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Literal

from ..model.aligned import Align, aligned
from ..model.change_words import PrintedChange, printed_change
from ..model.finding import is_too_variable
from ..model.json_object import JsonObject
from ..model.metric import METRICS
from ..model.run_comparison import RUN_COMPARISON_SCHEMA, ComparedMetric, Lacking, RunComparison, TrialSample
from . import marks, words
from .agreeing import agreeing_digits

MOST_ROWS = 40
"""Comparisons that fit on a screen. Of more, only those that found a change are shown."""
MOST_SETTINGS = 6
"""Lines of settings that differ: another kernel has a hundred other settings."""
MAIN_SETTINGS = (
    "state",
    "quick",
    "clock",
    "kernel",
    "machine",
    "cpu",
    "cores",
    "memory_bytes",
    "distribution",
    "versions.sixbench",
    "versions.agent",
    "experiment.",
    "processors.",
    "guests.",
    "workers.",
)
"""The settings that readers look for first, and groups of these, in order."""
HEADS = ("metric", "path", "old", "new", "change", "interval", "")
_ALIGN: tuple[Align, ...] = ("left", "left", "right", "right", "right", "right", "left")


def document(comparison: RunComparison) -> JsonObject:
    """The object."""
    return {"schema": RUN_COMPARISON_SCHEMA, **asdict(comparison), "fails": comparison.fails}


def render(comparison: RunComparison, *, everything: bool = False) -> str:
    """The text.

    Args:
        everything: all metrics rather than the headline ones and those that the limit is for.
    """
    parts = [
        words.one_line(f"{comparison.experiment}: {comparison.new} (new) against {comparison.old} (old)") + "\n",
        f"Both runs used {comparison.clock}. Intervals are {100 * comparison.confidence:g} % intervals by Welch's t. "
        "Better and worse are adjusted by Holm within each metric.\n",
        conclusion(comparison),
    ]
    shown, left_out = tables(comparison, everything=everything)
    for table in shown:
        parts.append(f"\n{table.heading}\n" + aligned([HEADS, *table.rows], _ALIGN))
    if left_out:
        parts.append(f"\n{words.count(left_out, 'more comparison')} without a certain change. Show them with --all.\n")
    parts += lacking_lines(comparison.lacking)
    parts.append(_settings(comparison, everything=everything))
    return "".join(parts)


@dataclass(frozen=True, kw_only=True)
class RunComparisonTable:
    """The comparisons of a workload at its levels: a row of `HEADS` each, and the meaning of its last cell."""

    heading: str
    rows: list[tuple[str, ...]]
    tones: list[Literal["better", "worse", "changed", "quiet"]]


def tables(comparison: RunComparison, *, everything: bool = False) -> tuple[list[RunComparisonTable], int]:
    """The comparisons that are shown, and how many headline metrics are left out."""
    shown, left_out = _chosen(comparison, everything=everything)
    groups = [(heading, list(compared_metrics)) for heading, compared_metrics in groupby(shown, _heading)]
    return [
        RunComparisonTable(heading=heading, rows=[*map(_row, compared_metrics)], tones=[*map(_tone, compared_metrics)])
        for heading, compared_metrics in groups
    ], left_out


def _tone(compared: ComparedMetric) -> Literal["better", "worse", "changed", "quiet"]:
    match compared.change:
        case "better" | "worse":
            return compared.change
        case "higher" | "lower":
            return "changed"
    return "quiet"


def _chosen(comparison: RunComparison, *, everything: bool) -> tuple[list[ComparedMetric], int]:
    """The comparisons to show, those that changed first, and the number of headline metrics that this leaves out."""
    compared_metrics = comparison.metrics
    if not everything:
        compared_metrics = [
            compared for compared in compared_metrics if compared.headline or compared.is_over is not None
        ]
    chosen = compared_metrics
    if not everything and len(compared_metrics) > MOST_ROWS:
        chosen = [compared for compared in compared_metrics if _is_certain(compared)]
    certain = [compared for compared in chosen if _is_certain(compared)]
    headings = list(dict.fromkeys(_heading(compared) for compared in [*certain, *chosen]))
    metrics = list(METRICS)

    def place(compared: ComparedMetric) -> tuple[int, bool, int]:
        return headings.index(_heading(compared)), not _is_certain(compared), metrics.index(compared.metric)

    ordered = sorted(chosen, key=place)
    return ordered, len(compared_metrics) - len(chosen)


def _is_certain(compared: ComparedMetric) -> bool:
    """True if it changed for certain."""
    return compared.change != "inconclusive" or bool(compared.is_over)


def _settings(comparison: RunComparison, *, everything: bool) -> str:
    if not comparison.settings:
        return "\nMachine, versions and experiment are the same.\n"
    ordered = sorted(comparison.settings, key=lambda setting: _rank(setting.name))
    shown = ordered if everything else ordered[:MOST_SETTINGS]
    rows = [("differs", "old", "new")]
    rows += [
        tuple(words.one_line(text or words.MISSING) for text in (setting.name, setting.old, setting.new))  # type: ignore[misc]
        for setting in shown
    ]
    left = len(comparison.settings) - len(shown)
    more = f"  and {words.count(left, 'more setting')}. Show them with --all.\n" if left else ""
    return "\n" + aligned(rows, ["left"] * 3) + more


def _rank(name: str) -> int:
    """The place of a setting among those that differ."""
    ranks = (
        at for at, main in enumerate(MAIN_SETTINGS) if name == main or (main.endswith(".") and name.startswith(main))
    )
    return next(ranks, len(MAIN_SETTINGS))


def _heading(compared: ComparedMetric) -> str:
    levels = words.levels(compared.levels)
    return words.one_line(", ".join(part for part in (words.workload_title(compared.workload), levels) if part))


def _row(compared: ComparedMetric) -> tuple[str, ...]:
    change = _change(compared)
    scales = (_scale(compared.new, compared.unit)[0], _scale(compared.old, compared.unit)[0])
    digits = 4 if change is None else agreeing_digits(change, compared.new.value, compared.old.value, scales, 4)
    return (
        words.metric_label(compared.metric),
        words.one_line(compared.path),
        _sample(compared.old, compared.unit, digits),
        _sample(compared.new, compared.unit, digits),
        words.MISSING if change is None else change.text,
        _interval(compared, change),
        _verdict_of(compared),
    )


def _verdict_of(compared: ComparedMetric) -> str:
    """Such as `worse, over the limit`, `equivalent`, or `undecided (about 40 blocks in each run)`; empty without an
    interval."""
    if compared.change != "inconclusive":
        return f"{compared.change}, over the limit" if compared.is_over else compared.change
    if compared.p_value is None or compared.is_equivalent:
        return "equivalent" if compared.is_equivalent else ""
    needed = marks.about_blocks(compared.blocks_needed)
    return f"undecided ({needed} in each run)" if needed else "undecided"


def _scale(sample: TrialSample, unit: str) -> tuple[float, str]:
    return words.common_scale([sample.value, sample.half_width], unit)


def _sample(sample: TrialSample, unit: str, digits: int) -> str:
    """`94.15 ± 0.02 Mbit/s (n = 5)`."""
    divisor, name = _scale(sample, unit)
    value = words.number(sample.value / divisor, digits)
    spread = "" if sample.half_width is None else f" ± {words.number(sample.half_width / divisor, 2)}"
    return f"{value}{spread} {name} (n = {sample.n})"


def _change(compared: ComparedMetric) -> PrintedChange | None:
    """The change and its interval, in percent, percentage points, or the metric's unit."""
    known = [end for end in (compared.ci_low, compared.ci_high) if end is not None]
    change = printed_change(compared.ratio, compared.difference, known, compared.unit)
    if change is None:
        return None
    # One digit more than in findings, because changes measured by a virtual clock are small, and certain.
    return replace(change, decimals=1 + words.percent_decimals(change.change, *change.ends))


def _interval(compared: ComparedMetric, change: PrintedChange | None) -> str:
    if change is None or compared.ci_low is None or compared.ci_high is None:
        return words.MISSING
    values = (compared.old.value, compared.new.value)
    if compared.change == "inconclusive" and is_too_variable(compared.ci_low, compared.ci_high, compared.ratio, values):
        return marks.TOO_VARIABLE
    return f"{change.interval} {change.unit}"


def lacking_lines(lacking: list[Lacking]) -> list[str]:
    """Parts that only one of the runs has; empty where both have the same."""
    lines = []
    for absent in ("new", "old"):
        for is_planned in (True, False):
            lackings = [item for item in lacking if item.absent == absent and item.is_planned == is_planned]
            if lackings:
                why = "no valid trial there" if is_planned else "not in its experiment"
                what = "; ".join(
                    dict.fromkeys(f"{item.path}: {words.workload_title(item.workload)}" for item in lackings)
                )
                lines.append(words.one_line(f"Not in the {absent} run ({why}): {what}") + "\n")
    return ["\n", *lines] if lines else []


def conclusion(comparison: RunComparison) -> str:
    """The numbers of comparisons that changed for certain, and whether that is within the limit."""
    headline = [compared for compared in comparison.metrics if compared.headline]
    others = [compared for compared in comparison.metrics if not compared.headline]
    kinds = (
        (headline, "comparison of a headline metric", "comparisons of headline metrics"),
        (others, "other comparison", "other comparisons"),
    )
    parts = [
        f"{words.count(len(compared_metrics), *nouns)}: {_counted(compared_metrics)}"
        for compared_metrics, *nouns in kinds
        if compared_metrics
    ]
    unknown = sum(compared.p_value is None for compared in comparison.metrics)
    if unknown:
        parts.append(f"{words.count(unknown, 'comparison')} without an interval: a run has fewer than two valid trials")
    lines = [f"\n{'. '.join(parts) or 'No comparison'}.\n"]
    if comparison.limit is not None:
        lines.append(_verdict(comparison, words.percent(comparison.limit)))
    return "".join(lines)


def _counted(compared_metrics: list[ComparedMetric]) -> str:
    """Such as `2 worse and 1 better`."""
    counts = {
        change: sum(compared.change == change for compared in compared_metrics)
        for change in ("worse", "better", "higher", "lower")
    }
    changed = words.listing(f"{count} {change}" for change, count in counts.items() if count)
    return changed or "none has changed for certain"


def _verdict(comparison: RunComparison, limit: str) -> str:
    held = words.count(len(comparison.judged), "comparison")
    if not comparison.fails:
        return f"Within the limit: none of {held} is worse by more than {limit}, Holm-adjusted over all of them.\n"
    reasons = []
    if comparison.over:
        names = dict.fromkeys(
            f"{words.metric_label(compared.metric)} ({compared.path})" for compared in comparison.over
        )
        reasons.append(f"{len(comparison.over)} of {held} worse by more than {limit}: {words.listing(names)}")
    if comparison.lost:
        reasons.append(f"{words.count(len(comparison.lost), 'comparison')} without a valid trial in the new run")
    return words.one_line(f"Over the limit: {'; '.join(reasons)}.") + "\n"
