"""The text of a calibration for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.aligned import aligned, left_first
from .metrics import BY_NAME
from .results import OverPath
from .table import by_metric, remarks, summary_table


def render(over_paths: Sequence[OverPath]) -> str:
    """Tables, and remarks below."""
    parts = []
    for name, paths in by_metric(over_paths).items():
        table = summary_table(name, paths)
        rows = [[column.name for column in table.columns], *table.rows]
        parts.append(f"{table.title} ({BY_NAME[name].workload})\n{aligned(rows, left_first(1, len(rows[0])))}")
    parts += ["".join(f"! {remark}\n" for remark in remarks(over_paths))]
    return "\n".join(part for part in parts if part)
