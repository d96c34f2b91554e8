"""A part of an analysis: chosen workloads and metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..model.comparison_group import ComparisonGroup
from ..model.errors import UsageError
from ..model.finding import Analysis, Estimate, Finding
from ..model.quoting import shown


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Workloads and metrics by name. Empty: all of them."""

    workloads: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.workloads or self.metrics)

    def of(self, analysis: Analysis) -> Analysis:
        """The estimates and findings that are chosen; claims and published tables are left out. The findings of a named
        metric count as headline findings, so that every format has them.

        Raises `UsageError` naming what the run has, where it has no such workload or metric.
        """
        rows: list[Estimate | Finding] = [*analysis.estimates, *analysis.findings]
        _require("--workload", self.workloads, [row.workload for row in rows])
        chosen = [row for row in rows if not self.workloads or row.workload in self.workloads]
        _require("--metric", self.metrics, [row.metric for row in chosen])
        return replace(
            analysis,
            estimates=[row for row in analysis.estimates if self._has(row)],
            findings=[
                replace(row, headline=row.headline or bool(self.metrics)) for row in analysis.findings if self._has(row)
            ],
            groups=[group for group in analysis.groups if self._has(group)],
            claims=[],
            published=[],
            tables=[],
        )

    def _has(self, row: Estimate | Finding | ComparisonGroup) -> bool:
        of_workload = not self.workloads or row.workload in self.workloads
        return of_workload and (not self.metrics or row.metric in self.metrics)


def _require(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    there = list(dict.fromkeys(known))
    for name in names:
        if name not in there:
            raise UsageError(
                f"{option} {shown(name)}: this run has no such result; it has {', '.join(there) or 'none'}"
            )
