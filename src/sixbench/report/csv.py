"""One row a finding, for spreadsheets and data frames: RFC 4180, UTF-8, a heading, lines ended by CR LF.

The columns are those of the JSON report's findings, after `experiment` and `run`; levels have a column each, named
`level_` and the level's own column (`level_message_bytes`). Missing values are empty. Truth values are `true` and
`false`. A text that a spreadsheet would take for a formula has an apostrophe before it.

A run on several kernels has a last column, `reference_kernel`. Rows in which it is filled come after the findings and
compare a path on a kernel (`level_kernel`) with the same path on the reference.

A run whose statistics pool a factor has last columns from `pooled_over` on, the column of the factor. A finding that
belongs to a group has its `outcome` and its `weight`. Rows at the end have the mean of each group, with `n` the number
of its findings, and how much these differ: `tau` (of log ratios, or of differences), `i_squared`, `q`, `alike_p_value`,
and the interval of the change at one more level (`predicted_low`, `predicted_high`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..model.comparison_group import ComparisonGroup, PooledEffect
from ..model.finding import FINDING_KEYS, Analysis, ComparedTable, KernelContrast
from ..model.kernels import COLUMN
from ..model.parameter import Scalar
from ..store import Run
from . import group_words, words

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of a text that a spreadsheet may compute (OWASP, "CSV Injection")."""


_MEMBER = ("pooled_over", "outcome", "weight")
_MEAN = ("tau", "i_squared", "q", "alike_p_value", "predicted_low", "predicted_high")
"""The columns of groups: those of their findings, and those of their means."""


def render(run: Run, analysis: Analysis) -> str:
    """The table as text. A heading only where there are no findings."""
    level_columns = list(dict.fromkeys(column for finding in analysis.findings for column in finding.levels))
    keys = [key for key in FINDING_KEYS if key != "levels"]
    levels_head = [f"level_{column}" for column in level_columns]
    of_groups = (*_MEMBER, *_MEAN) if analysis.groups else ()
    last = [*["reference_kernel"] * bool(analysis.kernels), *of_groups]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["experiment", "run", *keys[:3], *levels_head, *keys[3:], *last])
    names = [_cell(run.manifest.experiment.name), _cell(run.manifest.run)]

    def write(values: Callable[[str], Any], levels: Mapping[str, Scalar], others: Mapping[str, Any]) -> None:
        """A row: the values by key, the levels, and what the last columns have."""
        cells = [_cell(values(key)) for key in keys]
        at = [_cell(levels.get(column)) for column in level_columns]
        writer.writerow([*names, *cells[:3], *at, *cells[3:], *(_cell(others.get(name)) for name in last)])

    members = _members(analysis)
    for finding in analysis.findings:
        place = (finding.combination, finding.path, finding.metric)
        write(partial(getattr, finding), finding.levels, members.get(place, {}))
    for contrast in analysis.kernels:
        at = contrast.levels | {COLUMN: contrast.kernel}
        write(partial(_of_contrast, contrast), at, {"reference_kernel": contrast.reference})
    for group in analysis.groups:
        if group.pooled is not None:
            write(_of_group(group, group.pooled).get, group.levels, _of_mean(group, group.pooled))
    return text.getvalue()


def _members(analysis: Analysis) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The columns of the findings of groups, by combination, path and metric."""
    return {
        (member.combination, group.path, group.metric): dict(
            zip(_MEMBER, (group.factor, member.outcome, member.weight), strict=True)
        )
        for group in analysis.groups
        for member in group.members
    }


def _of_group(group: ComparisonGroup, pooled: PooledEffect) -> dict[str, Any]:
    """The values of a group's mean by the names that a finding has for them."""
    return {
        "workload": group.workload,
        "metric": group.metric,
        "unit": group.unit,
        "path": group.path,
        "baseline": group.baseline,
        "n": pooled.groups,
        "verdict": group_words.mean_word(group),
        "ratio": pooled.ratio,
        "ci_low": pooled.ci_low,
        "ci_high": pooled.ci_high,
        "difference": pooled.difference,
        "is_aa": False,
        "headline": True,
    }


def _of_mean(group: ComparisonGroup, pooled: PooledEffect) -> dict[str, Any]:
    """The last columns of a group's mean."""
    ends = (pooled.predicted_low, pooled.predicted_high)
    values = (pooled.tau, pooled.i_squared, pooled.q, pooled.p_value, *ends)
    return {"pooled_over": group.factor, **dict(zip(_MEAN, values, strict=True))}


def _of_contrast(contrast: KernelContrast, key: str) -> Any:
    """A value of a contrast by the name that a finding has for it; None where a contrast has no such value."""
    names = {"baseline": "path", "baseline_value": "reference_value"}
    return getattr(contrast, names.get(key, key), None)


def render_paper_table(table: ComparedTable) -> str:
    """A paper's table in its own columns: a row of the paper's numbers, and below it one of ours in the same units,
    which are not rounded."""
    text = io.StringIO()
    writer = csv.writer(text)
    headings = [
        f"{compared_column.heading} [{compared_column.unit}]" if compared_column.unit else compared_column.heading
        for compared_column in table.columns
    ]
    writer.writerow(["of", *map(_cell, headings)])
    for theirs, ours in zip(table.rows, table.ours, strict=True):
        writer.writerow(["paper", *("" if cell is None else f"{cell:.10g}" for cell in theirs)])
        writer.writerow(["ours", *map(_cell, ours)])
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if words.finite(value) is None else repr(value)
    if isinstance(value, int):
        return str(value)
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
