"""Kernel against kernel: a table of the headline metrics, each path against itself on the first kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.change_words import printed_change
from ..model.finding import KernelContrast
from ..model.metric import METRICS
from . import marks, rows, words
from .agreeing import agreeing_digits
from .tables import Table, left, right


def contrast_tables(contrasts: Sequence[KernelContrast], confidence: float) -> list[Table]:
    """A table for each headline metric of a workload, with a row for each path, kernel and combination of levels; none
    for a run on one kernel."""
    groups: dict[tuple[str, str], list[KernelContrast]] = {}
    for contrast in contrasts:
        if contrast.headline:
            groups.setdefault((contrast.workload, contrast.metric), []).append(contrast)
    return [_table(group, confidence) for group in groups.values()]


def _table(contrasts: Sequence[KernelContrast], confidence: float) -> Table:
    """The table of one metric, in one unit."""
    first, levels = contrasts[0], rows.varying(contrasts)
    values = [value for contrast in contrasts for value in (contrast.value, contrast.reference_value)]
    scale = words.common_scale(values, first.unit)
    columns = [
        *right(*(words.factor(column) for column in levels)),
        *left("path", "kernel"),
        *right("value", first.reference, "change", f"{words.percent(confidence)} CI"),
        *left("verdict"),
        *right("n"),
    ]
    table_rows = [
        [
            *(words.level(column, contrast.levels.get(column)) for column in levels),
            contrast.path,
            contrast.kernel,
            *_numbers(contrast, scale[0]),
            _verdict(contrast),
            str(contrast.n),
        ]
        for contrast in contrasts
    ]
    detail = f"{words.metric_label(first.metric)}, kernels against {first.reference}, {scale[1]}"
    return Table.of(words.workload_title(first.workload), detail, columns, table_rows)


def _numbers(contrast: KernelContrast, divisor: float) -> list[str]:
    """Both values, the change and its interval. The values give the change that is printed."""
    ends = (contrast.ci_low, contrast.ci_high)
    change = printed_change(contrast.ratio, contrast.difference, ends, contrast.unit)
    value, reference = words.finite(contrast.value), words.finite(contrast.reference_value)
    if value is None or reference is None or change is None:
        return [words.MISSING] * 4
    digits = agreeing_digits(change, value, reference, (divisor, divisor), 4)
    return [*(words.number(item / divisor, digits) for item in (value, reference)), change.text, change.interval]


def _verdict(contrast: KernelContrast) -> str:
    """`better` or `worse` where the metric has a better direction; `slightly lower` where a difference is real and
    within the margin; and what blocks that lie apart say."""
    better = METRICS[contrast.metric].better if contrast.metric in METRICS else "neither"
    if contrast.verdict == "inconclusive":
        return marks.in_most(marks.undecided(contrast), contrast)
    if contrast.verdict == "equivalent":
        small = f"slightly {contrast.direction}" if contrast.direction else "equal" if contrast.apart else "equivalent"
        return marks.in_most(small, contrast)
    if better == "neither":
        return marks.in_most(contrast.verdict, contrast)
    return marks.in_most("better" if contrast.verdict == better else "worse", contrast)
