"""The findings of a workload on a terminal: a line for each metric, and rows under columns that all of them share."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..model.finding import Finding
from . import rows, tables, words
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
_LEFT_OUT = ("invalid", "n", "A/A", "theory")
"""Columns that are left out, in this order, where there is no room for them: no number is broken into two lines."""
_UNITS = {"pp": "percentage points"}


def findings_of_workload(console: Console, findings: list[Finding], confidence: float) -> None:
    """The findings of one workload: a line a metric, and its rows under columns that are the same for all metrics."""
    level_columns = rows.varying(findings)
    results = [tables.cells(group, level_columns) for group in rows.grouped(findings)]
    paths = list(dict.fromkeys(finding.path for finding in findings))
    against = list(dict.fromkeys(finding.baseline for finding in findings))
    at = words.levels(rows.constant(findings))
    title = f"{words.workload_title(findings[0].workload)}: {paths[0] if len(paths) == 1 else 'paths'}"
    paragraph(console, f"{title} against {words.listing(against)}{f', {at}' if at else ''}", "bold")

    names = [*(words.factor(column) for column in level_columns), "path", *tables.HEADINGS]
    names[names.index("interval")] = f"{100 * confidence:g} % CI"
    if len(against) == 1:
        names[names.index("baseline")] = against[0] if len(against[0]) < len("baseline") else "baseline"
    layout = _Layout(
        names=names,
        labels=len(level_columns) + 1,
        label=_main_factor(findings, level_columns),
        one_path=len(paths) == 1,
        rows=[row for cells in results for row in cells.rows],
        width=console.width,
    )
    header = True
    for cells in results:
        if header:
            console.print(layout.table([], [], header=True))
            header = False
        paragraph(console, _metric_line(cells), "italic")
        styles = [VERDICT_STYLES[row.tone] for row in cells.group.rows]
        for heading, indices in layout.sections(cells.rows).items():
            if heading:
                paragraph(console, heading, "", indent="  ")
            console.print(layout.table([cells.rows[i] for i in indices], [styles[i] for i in indices], header=False))


def _metric_line(cells: tables.Cells) -> str:
    metric = cells.group.metric
    unit = f" ({cells.unit})" if cells.unit else ""
    change = f", change in {_UNITS.get(cells.change_unit, cells.change_unit)}" if cells.change_unit else ""
    direction = words.better(metric)
    return f"{words.metric_label(metric)}{unit}{change}{f'; {direction}' if direction else ''}"


def _main_factor(findings: list[Finding], level_columns: list[str]) -> int | None:
    """The column with most levels; None where none varies."""
    counts = [len({finding.levels.get(column) for finding in findings}) for column in level_columns]
    return counts.index(max(counts)) if counts else None


class _Layout:
    """Columns of the same widths in several tables.

    Where the columns of all levels and of the path fit, each has one. Else only the main factor has, and the others
    stand in headings over the rows that have them in common. Columns without any content are left out, and where it
    has to be, those that `_LEFT_OUT` names.
    """

    def __init__(
        self, *, names: list[str], labels: int, label: int | None, one_path: bool, rows: list[list[str]], width: int
    ) -> None:
        self.names = [words.one_line(name) for name in names]
        self.labels = labels
        self.verdict = labels + tables.HEADINGS.index("verdict")
        used = [i for i in range(len(names)) if any(row[i] not in ("", words.MISSING) for row in rows)]
        self.kept = [i for i in used if not (one_path and i == labels - 1)]
        self.heading: list[int] = []
        self.widths = {i: max(len(names[i]), *(len(row[i]) for row in rows)) for i in self.kept}
        if self.verdict in self.widths:
            self.widths[self.verdict] = min(self.widths[self.verdict], max(_MOST_OF_VERDICT, width // 4))
        if not self._fits(width):
            self.heading = [i for i in self.kept if i < labels and i != label]
            self.kept = [i for i in self.kept if i not in self.heading]
        for name in _LEFT_OUT:
            if self._fits(width):
                break
            self._narrow_verdict(width)
            if not self._fits(width):
                self.kept = [i for i in self.kept if i != labels + tables.HEADINGS.index(name)]

    @property
    def _indent(self) -> int:
        return _INDENT + 2 if self.heading else _INDENT

    def _fits(self, width: int) -> bool:
        return self._missing(width) <= 0

    def _missing(self, width: int) -> int:
        """Number of characters by which the columns are wider than that."""
        return self._indent + sum(self.widths[i] + 1 for i in self.kept) - 1 - width

    def _narrow_verdict(self, width: int) -> None:
        """Takes what is missing from the verdict, whose words may stand in several lines."""
        if self.verdict in self.widths:
            least = min(self.widths[self.verdict], _LEAST_OF_VERDICT)
            self.widths[self.verdict] = max(least, self.widths[self.verdict] - self._missing(width))

    def sections(self, rows: list[list[str]]) -> dict[str, list[int]]:
        """Indices of rows by the heading that they come under."""
        results: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            given = [i for i in reversed(self.heading) if row[i] != words.MISSING]
            sentences = [row[i] if i == self.labels - 1 else f"{self.names[i]} {row[i]}" for i in given]
            results.setdefault(", ".join(sentences), []).append(index)
        return results

    def table(self, rows: list[list[str]], styles: list[str], *, header: bool) -> Table:
        """A table of these columns; `styles` are of the verdicts."""
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=header, header_style="dim")
        table.add_column("", width=self._indent - 1)
        for index in self.kept:
            numeric = index >= self.labels and index != self.verdict
            justify: Literal["right", "left"] = "right" if numeric else "left"
            table.add_column(self.names[index], justify=justify, width=self.widths[index], overflow="fold")
        for row, style in zip(rows, styles, strict=True):
            cells = [words.one_line(row[i]) for i in self.kept]
            styles_here = [style if i == self.verdict else "" for i in self.kept]
            table.add_row("", *(Text(cell, style=own) for cell, own in zip(cells, styles_here, strict=True)))
        return table
