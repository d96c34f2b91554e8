"""The formats there are. A new one is a file with a `render(run, analysis)` and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ..model.finding import Analysis
from ..store import Run


@dataclass(frozen=True, kw_only=True)
class Format:
    """A form that a report can have.

    Attributes:
        name: as the command line takes it.
        suffix: of files, with the dot.
        module: in this package, which has `render`. It is imported at the first use.
        doc: what it is for, in a few words.
        aliases: other names that the command line takes.
    """

    name: str
    suffix: str
    module: str
    doc: str
    aliases: tuple[str, ...] = ()

    def render(self, run: Run, analysis: Analysis) -> str:
        """The report as text. Pure: the same run and analysis give the same text."""
        render: Callable[[Run, Analysis], str] = import_module(f".{self.module}", __package__).render
        return render(run, analysis)


_ALL = (
    Format(
        name="terminal",
        suffix=".txt",
        module="terminal",
        doc="headline findings as plain text",
        aliases=("txt", "text"),
    ),
    Format(name="json", suffix=".json", module="json", doc="everything, for programs"),
    Format(name="csv", suffix=".csv", module="csv", doc="one row a finding, for spreadsheets and pandas"),
    Format(name="md", suffix=".md", module="markdown", doc="tables for GitHub", aliases=("markdown",)),
    Format(name="latex", suffix=".tex", module="latex", doc="tables and figures for papers", aliases=("tex",)),
    Format(
        name="html",
        suffix=".html",
        module="html",
        doc="one page with figures, which needs no network",
        aliases=("htm",),
    ),
)

FORMATS: dict[str, Format] = {form.name: form for form in _ALL}


def find_format(name: str) -> Format | None:
    """The format of that name or alias, in any case of letters; None where there is none."""
    asked = name.lower()
    return next((form for form in FORMATS.values() if asked in (form.name, *form.aliases)), None)


def write_figures(run: Run, analysis: Analysis, directory: Path, width_in: float | None = None) -> list[Path]:
    """Writes every figure as SVG, PDF and PNG. Returns the files.

    Args:
        width_in: of figures that go into a paper, in inches: their text has 8 points at this width, and they have no
            titles, since captions say it. None: figures with titles, as wide as a page.

    Raises:
        WriteError: the files cannot be written.
    """
    from .figures import write_figures as write

    return write(run, analysis, directory, width_in)


def latex_for_paper(
    run: Run, analysis: Analysis, *, figures: str | None, width_in: float | None, only_results: bool = False
) -> str:
    """The report as LaTeX for a paper whose columns have that width, in inches.

    Args:
        figures: where the files of `write_figures` are, as seen from the paper; None: include none.
        only_results: the tables and figures of workloads alone, without those of the network and of evidence.
    """
    from .figures.style import WIDTH_IN
    from .latex import Included, render

    included = None if figures is None else Included(folder=figures, width_in=width_in or WIDTH_IN)
    return render(run, analysis, included, width_in, only_results=only_results)
