"""Parts of the LaTeX of a run, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

from ...model.finding import Analysis
from ...store import Run
from .. import matrices, path_tables, rows, words
from ..figures.drawing import Drawing, slug
from ..sections import SECTIONS, ReportData
from ..tables import Table
from .figures import Included
from .floats import Float, PaperRoom, RowBlock, table
from .text import comment
from .workload_table import workload_tables

MOST_FLOATS = 15
"""In a row. LaTeX can hold back 18 of them since 1994."""


def render(
    run: Run,
    analysis: Analysis,
    included: Included | None = None,
    column_in: float | None = None,
    *,
    only_results: bool = False,
) -> str:
    """Floats one after another, without a document around them.

    Args:
        included: the figures to include; None: none, and a comment says how to have them.
        column_in: width of a column of the paper, in inches; None: as narrow as any.
        only_results: the tables and figures of workloads alone.
    """
    return _Document(run, analysis, included, PaperRoom.of_column(column_in)).text(only_results)


def render_table(run: Run, item: Table, column_in: float | None = None) -> str:
    """One table as a float, as it stands in `render`."""
    prefix = slug(run.manifest.experiment.name)
    return table(_plain(item, prefix, _about(run)), PaperRoom.of_column(column_in)) + "\n"


class _Document:
    def __init__(self, run: Run, analysis: Analysis, included: Included | None, page: PaperRoom) -> None:
        self.run, self.analysis, self.included, self.page = run, analysis, included, page
        self.experiment = run.manifest.experiment
        self.prefix = slug(self.experiment.name)
        self.about = _about(run)
        self.data = ReportData.of(run, analysis)
        self.drawings = _drawings(run, analysis) if included else []

    def text(self, only_results: bool) -> str:
        parts = [self._head()]
        for section in SECTIONS:
            if only_results and section.name != _RESULTS:
                continue
            if section.name in _WRITERS:
                parts += _WRITERS[section.name](self)
            else:
                filled = section.filled(self.data)
                floats = _labelled_apart(filled, [self._plain(item) for item in filled])
                parts += [table(item, self.page) for item in floats]
        return "\n\n".join(_with_breaks("\n\n".join(parts).split("\n\n"))) + "\n"

    def workloads(self) -> list[str]:
        """The tables and figures of each workload."""
        findings = rows.beside_groups(self.analysis)
        parts = []
        by_workload = {float_.label: float_ for float_ in self._matrices()}
        floats = workload_tables(findings, self.experiment, self.about, self.prefix)
        by_workload |= {float_.label: float_ for float_ in floats}
        workloads = dict.fromkeys([*rows.by_workload(self.analysis.estimates), *rows.by_workload(findings)])
        for workload in workloads:
            label = f"{self.prefix}-{workload}"
            parts += [
                table(float_, self.page)
                for name, float_ in by_workload.items()
                if name == label or name.startswith(f"{label}-by-")
            ]
            parts += self.figures("workload", workload)
        return parts

    def paths(self) -> list[str]:
        """The figure of the network, and the paths without their addresses, for which a page has no room."""
        result = path_tables.paths_table(self.data.paths, addresses=False)
        return [*self.figures("network"), table(self._plain(result), self.page)]

    def _head(self) -> str:
        manifest = self.run.manifest
        lines = [
            comment(self.experiment.title or self.experiment.name),
            f"experiment {comment(self.experiment.name)}, run {comment(manifest.run)} ({manifest.state}): "
            f"{self.data.trials.summary}",
            "Write \\input of this file where its floats may begin. In the preamble:",
            r"  \usepackage{array, booktabs, graphicx}",
            *(f"Note: {comment(warning)}" for warning in self.data.warnings),
        ]
        if self.included is None:
            lines.append(
                "No figures: sixbench report DIR --format latex --out report.tex --figures figures --width 3.33in "
                "draws them for a column of that width and includes them here."
            )
        return "\n".join(f"% {line}" for line in lines)

    def figures(self, section: str, workload: str | None = None) -> list[str]:
        """The first figure of a section or workload, and the names of the others."""
        if self.included is None:
            return []
        drawings = [drawing for drawing in self.drawings if drawing.section == section and drawing.workload == workload]
        shown = [] if section == "evidence" else _first(drawings)
        names = [self.included.include(drawing, self.prefix, self.about) for drawing in shown]
        left = [drawing for drawing in drawings if drawing not in shown]
        if left:
            of = f" of {workload}" if workload else ""
            names.append(
                "\n".join([f"% Other figures{of}:", *(f"%   {self.included.path(drawing)}" for drawing in left)])
            )
        return names

    def _matrices(self) -> Iterable[Float]:
        """One float for all matrices of a workload that have the same columns."""
        tables = matrices.matrices(self.analysis, self.experiment.statistics.confidence)
        titles = {words.workload_title(name): name for name in rows.by_workload(self.analysis.estimates)}
        keyed = groupby(tables, lambda item: (item.subject, tuple(item.columns)))
        for number, ((title, columns), matrices_of_title) in enumerate(keyed, start=1):
            blocks = [RowBlock(heading=item.detail, rows=item.rows) for item in matrices_of_title]
            name = titles.get(title, slug(title))
            yield Float(
                label=f"{self.prefix}-{name}-by-{slug(columns[0].name)}-{number}",
                title=f"{title} by {columns[0].name}",
                caption=f"{title} by {columns[0].name}: {self._means()}. {self.about}",
                columns=list(columns),
                blocks=blocks,
            )

    def _means(self) -> str:
        blocks = len({trial.block for trial in self.run.trials if trial.status == "ok"})
        confidence = words.percent(self.experiment.statistics.confidence)
        half = f"half of their {confidence} confidence interval"
        return f"values of each path by itself, with {half} (n = {blocks} at most)"

    def _plain(self, item: Table) -> Float:
        return _plain(item, self.prefix, self.about)


_RESULTS = "findings"
"""The section with the results of workloads."""

_WRITERS: dict[str, Callable[[_Document], list[str]]] = {
    "paths": _Document.paths,
    "rfc-figures": lambda document: document.figures("rfc"),
    "figures": lambda document: document.figures("published"),
    "values": lambda _: [],
    _RESULTS: _Document.workloads,
    "headers": lambda document: document.figures("evidence"),
    "environment": lambda _: [],
}
"""The sections that are more or less than tables here. Values stand with the findings of their workload."""


def _plain(item: Table, prefix: str, about: str) -> Float:
    return Float(
        label=f"{prefix}-{slug(item.subject or item.title)}",
        title=item.title,
        caption=f"{item.title}. {f'{item.note} ' if item.note else ''}{about}",
        columns=item.columns,
        blocks=[RowBlock(rows=item.rows)],
    )


def _labelled_apart(tables: list[Table], floats: list[Float]) -> list[Float]:
    """The floats of these tables; those that would share a label have their whole title in it."""
    counts = Counter(item.label for item in floats)
    return [
        replace(item, label=f"{item.label}-{slug(source.detail)}") if counts[item.label] > 1 else item
        for source, item in zip(tables, floats, strict=True)
    ]


def _first(drawings: list[Drawing]) -> list[Drawing]:
    """The main figures; of a workload whose values are in its table anyway, the changes, which take half the height."""
    changes = [drawing for drawing in drawings if drawing.name.endswith(("-changes", "-changes-1"))]
    main = [drawing for drawing in drawings if drawing.rank == 0 and not (changes and "-values" in drawing.name)]
    return main or changes[:1] or drawings[:1]


def _with_breaks(parts: Iterable[str]) -> Iterable[str]:
    """The floats, with page breaks where there are so many in a row that LaTeX could not hold them back."""
    floats = 0
    for part in parts:
        yield part
        floats += r"\begin{table" in part or r"\begin{figure" in part
        if floats == MOST_FLOATS:
            yield "% So that LaTeX does not have too many unprocessed floats:\n\\clearpage"
            floats = 0


def _about(run: Run) -> str:
    """Origin of numbers, in a sentence for captions."""
    manifest = run.manifest
    version = manifest.environment.versions.get("sixbench")
    date = datetime.fromtimestamp(manifest.started_realtime_ns // 10**9, UTC).strftime("%Y-%m-%d")
    how = ", shortened by --quick" if manifest.quick else ""
    state = "" if manifest.state == "complete" else f", {manifest.state}"
    return (
        f"Run {manifest.run}{how}{state}: experiment {manifest.experiment.name}, seed {manifest.experiment.seed}, "
        f"{date}{f', sixbench {version}' if version else ''}."
    )


def _drawings(run: Run, analysis: Analysis) -> list[Drawing]:
    from ..figures import drawings

    return drawings(run, analysis)
