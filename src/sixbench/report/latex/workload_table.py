"""The table of a workload: every headline metric with its changes, under a heading a metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...model.experiment import Experiment
from ...model.finding import Finding
from .. import marks, rows, words
from ..finding_columns import (
    BASELINE,
    BLOCKS,
    CHANGE,
    INTERVAL,
    INVALID,
    NOISE,
    PAIRS,
    PATH,
    PATH_AND_BASELINE,
    SIGN,
    THEORY,
    VALUE,
    FindingColumn,
    FindingTable,
    filled_columns,
    level_columns,
)
from ..tables import Column
from ..typed_cells import IntervalCell, TypedCell
from .floats import Float, RowBlock

MOST_ROWS = 120
"""Rows that a paper may have of a workload, on three floats or four; of more, only the primary metric is shown."""

_COLUMNS = (VALUE, BASELINE, CHANGE, SIGN, INTERVAL, PAIRS, NOISE, THEORY, INVALID, BLOCKS)
"""The columns after those of levels and the path: a sign beside the change stands for the verdict."""


def workload_tables(findings: Sequence[Finding], experiment: Experiment, run: str, prefix: str) -> list[Float]:
    """A table a workload.

    Args:
        findings: what is to be shown, in order.
        run: a sentence on where the numbers are from, for the captions.
        prefix: of labels.
    """
    return [
        _Maker(workload=workload, findings=shown, left_out=left_out, experiment=experiment).table(run, prefix)
        for workload, of_workload in rows.by_workload(findings).items()
        for shown, left_out in [_shown(of_workload)]
    ]


def _shown(findings: Sequence[Finding]) -> tuple[Sequence[Finding], Sequence[Finding]]:
    """Content of the table, and the rows that it leaves out."""
    primary = rows.primary(findings)
    if len(findings) <= MOST_ROWS or not primary:
        return findings, []
    return primary, [finding for finding in findings if finding.metric != primary[0].metric]


@dataclass(frozen=True, kw_only=True)
class _Maker:
    workload: str
    findings: Sequence[Finding]
    left_out: Sequence[Finding]
    experiment: Experiment

    def table(self, run: str, prefix: str) -> Float:
        path = PATH if len(self.baselines) == 1 else PATH_AND_BASELINE
        columns = [*level_columns(self.findings).values(), path, *_COLUMNS]
        results = [FindingTable.of(group, columns) for group in rows.grouped(self.findings)]
        units = {result.change_unit for result in results}
        shared_unit = units.pop() if len(units) == 1 else ""
        kept = [column for column in filled_columns(results) if not self._is_in_caption(column)]
        return Float(
            label=f"{prefix}-{self.workload}",
            title=self._title(),
            caption=f"{self._caption(shared_unit)} {run}",
            columns=[Column(name=self._column_heading(column), align=column.align) for column in kept],
            blocks=[
                RowBlock(
                    heading=self._heading(result, shared_unit),
                    rows=[[_text(row[column], result.unit_in(column)) for column in kept] for row in result.rows],
                )
                for result in results
            ],
            remark=self._remark(),
        )

    def _remark(self) -> str:
        if not self.left_out:
            return ""
        metrics = words.listing(dict.fromkeys(words.metric_label(finding.metric) for finding in self.left_out))
        return (
            f"Left out of this table, which would have {len(self.findings) + len(self.left_out)} rows with them: "
            f"{metrics}. They are in the report with --format csv."
        )

    @property
    def paths(self) -> list[str]:
        """Those that are compared."""
        return list(dict.fromkeys(finding.path for finding in self.findings))

    @property
    def baselines(self) -> list[str]:
        """Their baselines."""
        return list(dict.fromkeys(finding.baseline for finding in self.findings))

    def _column_heading(self, column: FindingColumn) -> str:
        if column is VALUE and len(self.paths) == 1:
            return self.paths[0]
        if column is BASELINE and len(self.baselines) == 1:
            return self.baselines[0]
        if column is INTERVAL:
            return f"{100 * self.experiment.statistics.confidence:g} % CI"
        return column.name

    def _is_in_caption(self, column: FindingColumn) -> bool:
        """True if all cells of a column would be the same, which the caption says once."""
        if column is PAIRS:
            return len({finding.n for finding in self.findings}) == 1
        return column is PATH and len(self.paths) == 1

    def _heading(self, result: FindingTable, shared_unit: str) -> str:
        group = result.group
        unit = f" ({result.unit})" if result.unit else ""
        change = f", change in {result.change_unit}" if not shared_unit and result.change_unit else ""
        better = words.better(group.metric)
        return f"{words.metric_label(group.metric)}{unit}{change}{f'; {better}' if better else ''}"

    def _title(self) -> str:
        against = words.listing(self.baselines)
        who = f"{self.paths[0]} against {against}" if len(self.paths) == 1 else f"paths against {against}"
        if len(self.baselines) > 1:
            who = "paths against their baselines"
        return f"{words.workload_title(self.workload)}, {who}"

    def _caption(self, shared_unit: str) -> str:
        statistics = self.experiment.statistics
        at = words.levels(rows.constant(self.findings))
        pairs = sorted({finding.n for finding in self.findings})
        n = f"n = {pairs[0]}" if len(pairs) == 1 else f"n = {pairs[0]} to {pairs[-1]}"
        unit = f" in {shared_unit}" if shared_unit else ""
        parts = [
            f"{self._title()}{f', {at}' if at else ''}.",
            f"Both values are those of the pairs of a comparison, and the change{unit} is theirs, with its "
            f"{100 * statistics.confidence:g} % confidence interval, paired by block ({n} pairs).",
            self._marks(),
        ]
        if any(finding.noise_low is not None for finding in self.findings):
            parts.append("A/A: the difference of the baseline from itself.")
        parts.append(rows.theory_words(self.findings))
        return " ".join(part for part in parts if part)

    def _marks(self) -> str:
        """Meaning of the marks beside changes, of those that there are."""
        names = {finding.mark for finding in self.findings}
        verdicts = {finding.verdict for finding in self.findings if finding.mark == "decided"}
        arrows = [arrow for verdict, arrow in marks.ARROWS.items() if verdict in verdicts]
        slight = {finding.direction for finding in self.findings if finding.mark == "small"}
        slight_arrows = [arrow for direction, arrow in marks.SLIGHT_ARROWS.items() if direction in slight]
        margins = words.margins_of(self.experiment.statistics, self.findings)
        texts = [
            *([f"{' '.join(arrows)}: different (Holm-adjusted)"] if arrows else []),
            *([f"{' '.join(slight_arrows)}: different, and by less than {margins}"] if slight_arrows else []),
            *(["‡: mixed, not all blocks say the same"] if "mixed" in names else []),
            *(["†: within A/A"] if "within A/A" in names else []),
            *([f"≈: equivalent within {margins}"] if "equivalent" in names else []),
            *(["?: too variable to tell"] if "too variable" in names else []),
        ]
        if "undecided" in names:
            texts.append("no mark: undecided" if texts else "All of these are undecided")
        return f"{'; '.join(texts)}." if texts else ""


def _text(cell: TypedCell, unit: str) -> str:
    """The text of a cell, without the unit that its column shares."""
    return cell.in_brackets if isinstance(cell, IntervalCell) else cell.within(unit)
