r"""The report as LaTeX tables in the booktabs style, to `\input` into a paper.

They compile with pdfLaTeX, XeLaTeX and LuaLaTeX, from TeX Live 2020 on. Characters of scripts that Latin fonts lack
are written as their code point, since pdfLaTeX would stop at them.
"""

from __future__ import annotations

import re
import unicodedata

from ..model.finding import Analysis
from ..store import Run
from . import emulated, facts, matrices, path_tables, tables, validity
from .path_facts import path_facts

LONG = 40
"""Rows that fit on a page at this size; longer tables are split over pages."""

_WIDE = 9
"""Columns that fit on a page in a footnote's size."""

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",
    "]": "{]}",
    "−": r"$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "µ": r"\textmu{}",
    "μ": r"\textmu{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "•": r"\textbullet{}",
    "°": r"\textdegree{}",
    "\u00a0": "~",
}
_LATIN = 0x17F
"""Last letter of Latin Extended-A: what T1 fonts have."""

_PROSE = {"claim", "reason", "note", "what", "source", "dropped by reason", "to the slow path by reason"}
"""Columns whose cells may be sentences."""


def render(run: Run, analysis: Analysis) -> str:
    """Tables one after another, without a document around them."""
    manifest, experiment = run.manifest, run.manifest.experiment
    trials = validity.trials(run)
    head = [
        f"% {_comment(experiment.title or experiment.name)}",
        f"% experiment {_comment(experiment.name)}, run {_comment(manifest.run)} ({manifest.state}): {trials.summary}",
        "% In the preamble:",
        r"%   \usepackage[T1]{fontenc}",
        r"%   \usepackage{textcomp, array, booktabs, longtable}",
        *(f"% Note: {_comment(warning)}" for warning in facts.warnings(run, trials)),
    ]
    paths = path_facts(run)
    made = [
        *matrices.matrices(analysis, experiment.statistics.confidence),
        *tables.all_tables(analysis, trials, experiment.statistics.confidence),
        path_tables.paths_table(paths, addresses=False),
        path_tables.tunnels_table(paths),
        path_tables.losses_table(paths),
        emulated.emulation_table(run),
        path_tables.programs_table(analysis),
    ]
    parts = [_table(table, index) for index, table in enumerate((t for t in made if t is not None), start=1)]
    return "\n\n".join(["\n".join(head), *parts]) + "\n"


def escape(text: str) -> str:
    """Text without any meaning as LaTeX, on one line."""
    return "".join(_character(character) for character in " ".join(unicodedata.normalize("NFC", text).split(" ")))


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isspace() or unicodedata.category(character).startswith("C"):
        return " "
    if ord(character) > _LATIN or 0x7F <= ord(character) <= 0xBF:
        return rf"\texttt{{U+{ord(character):04X}}}"
    return character


def _comment(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _table(table: tables.Table, index: int) -> str:
    return _long(table, index) if len(table.rows) > LONG else _floating(table, index)


def _floating(table: tables.Table, index: int) -> str:
    return "\n".join(
        [
            r"\begin{table}",
            rf"  \centering{_size(table)}\setlength{{\tabcolsep}}{{4pt}}",
            rf"  \caption{{{escape(table.title)}}}\label{{tab:sixbench-{index}}}",
            rf"  \begin{{tabular}}{{{_columns(table)}}}",
            r"    \toprule",
            f"    {_row([column.name for column in table.columns])}",
            r"    \midrule",
            *(f"    {_row(row)}" for row in table.rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _long(table: tables.Table, index: int) -> str:
    heading = _row([column.name for column in table.columns])
    return "\n".join(
        [
            rf"{{{_size(table)}\setlength{{\tabcolsep}}{{4pt}}",
            rf"\begin{{longtable}}{{{_columns(table)}}}",
            rf"  \caption{{{escape(table.title)}}}\label{{tab:sixbench-{index}}}\\",
            rf"  \toprule {heading} \midrule \endfirsthead",
            rf"  \toprule {heading} \midrule \endhead",
            r"  \bottomrule \endfoot",
            *(f"  {_row(row)}" for row in table.rows),
            r"\end{longtable}}",
        ]
    )


def _size(table: tables.Table) -> str:
    return r"\scriptsize" if len(table.columns) > _WIDE else r"\footnotesize"


def _columns(table: tables.Table) -> str:
    """Column types; columns of sentences share what is left of the line."""
    prose = [column.name for column in table.columns if column.name in _PROSE]
    width = f"{max(0.12, (0.97 - 0.14 * (len(table.columns) - len(prose))) / max(1, len(prose))):.2f}"
    return "@{}" + "".join(_column(column, width) for column in table.columns) + "@{}"


def _column(column: tables.Column, width: str) -> str:
    if column.name in _PROSE:
        return rf">{{\raggedright\arraybackslash}}p{{{width}\linewidth}}"
    return "r" if column.align == "right" else "l"


def _row(cells: list[str]) -> str:
    return " & ".join(escape(cell) for cell in cells) + r" \\"
