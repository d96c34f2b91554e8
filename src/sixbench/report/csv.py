"""One row a finding, for spreadsheets and data frames: RFC 4180, UTF-8, a heading, lines ended by CR LF.

The columns are those of the JSON report's findings, after `experiment` and `run`; levels have a column each, named
`level_` and the level's own column (`level_message_bytes`). Missing values are empty. Truth values are `true` and
`false`. A text that a spreadsheet would take for a formula has an apostrophe before it.

A run on several kernels has a last column, `reference_kernel`. Rows in which it is filled come after the findings and
compare a path on a kernel (`level_kernel`) with the same path on the reference.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from ..model.finding import FINDING_KEYS, Analysis, ComparedTable, KernelContrast
from ..model.kernels import COLUMN
from ..store import Run
from . import words

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of a text that a spreadsheet may compute (OWASP, "CSV Injection")."""


def render(run: Run, analysis: Analysis) -> str:
    """The table as text. A heading only where there are no findings."""
    level_columns = list(dict.fromkeys(column for finding in analysis.findings for column in finding.levels))
    keys = [key for key in FINDING_KEYS if key != "levels"]
    levels_head = [f"level_{column}" for column in level_columns]
    reference = ["reference_kernel"] * bool(analysis.kernels)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["experiment", "run", *keys[:3], *levels_head, *keys[3:], *reference])
    names = [_cell(run.manifest.experiment.name), _cell(run.manifest.run)]
    for finding in analysis.findings:
        values = [_cell(getattr(finding, key)) for key in keys]
        levels = [_cell(finding.levels.get(column)) for column in level_columns]
        writer.writerow([*names, *values[:3], *levels, *values[3:], *[""] * bool(analysis.kernels)])
    for contrast in analysis.kernels:
        values = [_cell(_of_contrast(contrast, key)) for key in keys]
        levels = [_cell((contrast.levels | {COLUMN: contrast.kernel}).get(column)) for column in level_columns]
        writer.writerow([*names, *values[:3], *levels, *values[3:], _cell(contrast.reference)])
    return text.getvalue()


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
