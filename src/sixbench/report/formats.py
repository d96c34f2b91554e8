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
    """

    name: str
    suffix: str
    module: str
    doc: str

    def render(self, run: Run, analysis: Analysis) -> str:
        """The report as text. Pure: the same run and analysis give the same text."""
        render: Callable[[Run, Analysis], str] = import_module(f".{self.module}", __package__).render
        return render(run, analysis)


_ALL = (
    Format(name="terminal", suffix=".txt", module="terminal", doc="headline findings as plain text"),
    Format(name="json", suffix=".json", module="json", doc="everything, for programs"),
    Format(name="csv", suffix=".csv", module="csv", doc="one row a finding, for spreadsheets and pandas"),
    Format(name="md", suffix=".md", module="markdown", doc="tables for GitHub"),
    Format(name="latex", suffix=".tex", module="latex", doc="booktabs tables for papers"),
    Format(name="html", suffix=".html", module="html", doc="one page with figures, which needs no network"),
)

FORMATS: dict[str, Format] = {form.name: form for form in _ALL}


def write_figures(run: Run, analysis: Analysis, directory: Path) -> list[Path]:
    """Writes every figure as SVG, PDF and PNG. Returns the files. Raises `WriteError` where they cannot be written."""
    from .figures import write_figures as write

    return write(run, analysis, directory)
