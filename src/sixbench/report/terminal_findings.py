"""The findings of a workload on a terminal: a line for each metric, and rows under columns that all of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..model.aligned import Align
from ..model.finding import Finding
from . import finding_columns, rows, words
from .finding_columns import BASELINE, INTERVAL, PATH, VERDICT, FindingColumn, FindingTable
from .terminal_lines import paragraph

VERDICT_STYLES: dict[rows.Tone, str] = {
    "better": "green",
    "worse": "red",
    "changed": "magenta",
    "small": "blue",
    "same": "cyan",
    "mixed": "yellow",
    "open": "dim",
}
_INDENT = 2
_MOST_OF_VERDICT, _LEAST_OF_VERDICT = 20, 12
"""Characters of a verdict on one line: on a narrow terminal, and where the other columns need the room."""
_LEFT_OUT = (finding_columns.INVALID, finding_columns.PAIRS, finding_columns.NOISE, finding_columns.THEORY)
"""Columns that are left out, in this order, where there is no room for them: no number is broken into two lines."""
Texts = Mapping[FindingColumn, str]
_UNITS = {"pp": "percentage points"}


def findings_of_workload(console: Console, findings: list[Finding], confidence: float) -> None:
    """The findings of one workload: a line a metric, and its rows under columns that are the same for all metrics."""
    of_levels = finding_columns.level_columns(findings)
    columns = [*of_levels.values(), *finding_columns.TABLE]
    results = [FindingTable.of(group, columns) for group in rows.grouped(findings)]
    paths = list(dict.fromkeys(finding.path for finding in findings))
    against = list(dict.fromkeys(finding.baseline for finding in findings))
    at = words.levels(rows.constant(findings))
    title = f"{words.workload_title(findings[0].workload)}: {paths[0] if len(paths) == 1 else 'paths'}"
    paragraph(console, f"{title} against {words.listing(against)}{f', {at}' if at else ''}", "bold")

    layout = _Layout(
        names={column: _heading(column, against, confidence) for column in columns},
        used=finding_columns.filled_columns(results),
        labels=[*of_levels.values(), PATH],
        label=_main_factor(findings, of_levels),
        one_path=len(paths) == 1,
        rows=[row for result in results for row in result.texts()],
        width=console.width,
    )
    header = True
    for result in results:
        if header:
            console.print(layout.table([], [], header=True))
            header = False
        paragraph(console, _metric_line(result), "italic")
        styles = [VERDICT_STYLES[row.tone] for row in result.group.rows]
        texts = result.texts()
        for heading, indices in layout.sections(texts).items():
            if heading:
                paragraph(console, heading, "", indent="  ")
            console.print(layout.table([texts[i] for i in indices], [styles[i] for i in indices], header=False))


def _heading(column: FindingColumn, against: Sequence[str], confidence: float) -> str:
    if column is INTERVAL:
        return f"{100 * confidence:g} % CI"
    if column is BASELINE and len(against) == 1 and len(against[0]) < len(column.name):
        return against[0]
    return column.name


def _metric_line(result: FindingTable) -> str:
    metric = result.group.metric
    unit = f" ({result.unit})" if result.unit else ""
    change = f", change in {_UNITS.get(result.change_unit, result.change_unit)}" if result.change_unit else ""
    direction = words.better(metric)
    return f"{words.metric_label(metric)}{unit}{change}{f'; {direction}' if direction else ''}"


def _main_factor(findings: list[Finding], of_levels: Mapping[str, FindingColumn]) -> FindingColumn | None:
    """The column with most levels; None where none varies."""
    counts = {column: len({item.levels.get(level) for item in findings}) for level, column in of_levels.items()}
    return max(counts, key=lambda column: counts[column], default=None)


class _Layout:
    """Columns of the same widths in several tables.

    Where the columns of all levels and of the path fit, each has one. Else only the main factor has, and the others
    stand in headings over the rows that have them in common. Columns without any content are left out, and where it
    has to be, those that `_LEFT_OUT` names.
    """

    def __init__(
        self,
        *,
        names: Mapping[FindingColumn, str],
        used: Sequence[FindingColumn],
        labels: Sequence[FindingColumn],
        label: FindingColumn | None,
        one_path: bool,
        rows: Sequence[Texts],
        width: int,
    ) -> None:
        self.names = {column: words.one_line(name) for column, name in names.items()}
        self.labels = labels
        self.kept = [column for column in used if not (one_path and column is PATH)]
        self.heading: list[FindingColumn] = []
        self.widths = {column: max(len(names[column]), *(len(row[column]) for row in rows)) for column in self.kept}
        if VERDICT in self.widths:
            self.widths[VERDICT] = min(self.widths[VERDICT], max(_MOST_OF_VERDICT, width // 4))
        if not self._fits(width):
            self.heading = [column for column in self.kept if column in labels and column is not label]
            self.kept = [column for column in self.kept if column not in self.heading]
        for left_out in _LEFT_OUT:
            if self._fits(width):
                break
            self._narrow_verdict(width)
            if not self._fits(width):
                self.kept = [column for column in self.kept if column is not left_out]

    @property
    def _indent(self) -> int:
        return _INDENT + 2 if self.heading else _INDENT

    def _fits(self, width: int) -> bool:
        return self._missing(width) <= 0

    def _missing(self, width: int) -> int:
        """Number of characters by which the columns are wider than that."""
        return self._indent + sum(self.widths[column] + 1 for column in self.kept) - 1 - width

    def _narrow_verdict(self, width: int) -> None:
        """Takes what is missing from the verdict, whose words may stand in several lines."""
        if VERDICT in self.widths:
            least = min(self.widths[VERDICT], _LEAST_OF_VERDICT)
            self.widths[VERDICT] = max(least, self.widths[VERDICT] - self._missing(width))

    def sections(self, rows: Sequence[Texts]) -> dict[str, list[int]]:
        """Indices of rows by the heading that they come under."""
        results: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            given = [column for column in reversed(self.heading) if row[column] != words.MISSING]
            sentences = [row[column] if column is PATH else f"{self.names[column]} {row[column]}" for column in given]
            results.setdefault(", ".join(sentences), []).append(index)
        return results

    def table(self, rows: Sequence[Texts], styles: Sequence[str], *, header: bool) -> Table:
        """A table of these columns; `styles` are of the verdicts."""
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=header, header_style="dim")
        table.add_column("", width=self._indent - 1)
        for column in self.kept:
            justify: Align = "left" if column in self.labels else column.align
            table.add_column(self.names[column], justify=justify, width=self.widths[column], overflow="fold")
        for row, style in zip(rows, styles, strict=True):
            cells = [
                Text(words.one_line(row[column]), style=style if column is VERDICT else "") for column in self.kept
            ]
            table.add_row("", *cells)
        return table
