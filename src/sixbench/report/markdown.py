"""The report as GitHub Flavored Markdown: sentences and tables, to paste into an issue, a pull request or a wiki."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..model.finding import Analysis
from ..store import Run
from . import answers, bars, run_description, tables
from .sections import SECTIONS, ReportData

_BAR = 16
"""Characters of an interval's bar."""

_DRAWN = "drawn"
"""A column of bars."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def render(run: Run, analysis: Analysis) -> str:
    """The document."""
    data = ReportData.of(run, analysis)
    experiment = run.manifest.experiment
    parts = [f"# {escape(experiment.title or experiment.name)}"]
    if experiment.description:
        parts.append(escape(experiment.description))
    state = f"({run.manifest.state}): {data.trials.summary}"
    parts.append(f"Run {_code(run.manifest.run)} of {_code(experiment.name)} {state}.")
    parts += [f"> **Note:** {escape(warning)}" for warning in data.warnings]
    for section in SECTIONS:
        if section.name in _WRITERS:
            parts += _WRITERS[section.name](data)
        else:
            parts += [render_table(table).rstrip("\n") for table in section.filled(data)]
    return "\n\n".join(parts) + "\n"


def render_table(table: tables.Table) -> str:
    """One table below its title."""
    note = f"{escape(table.note)}\n\n" if table.note else ""
    return f"## {escape(table.title)}\n\n{note}{_table(table)}\n"


def _answers(data: ReportData) -> list[str]:
    sentences = answers.answer_rows(data.analysis, data.run.manifest.experiment.statistics, data.run.trials)
    if not sentences:
        return []
    single = [answer.bars[0] for answer in sentences if len(answer.bars) == 1]
    parts = ["## Answers", _table(_answers_table(sentences, data.confidence))]
    parts += [answers.NO_AA] if answers.lacks_aa(data.analysis) else []
    return parts + ([f"{escape(bars.legend(single, bars.BLOCKS, data.confidence))}."] if single else [])


def _list(title: str, sentences: Sequence[str]) -> list[str]:
    return [f"## {title}", "\n".join(f"- {escape(sentence)}" for sentence in sentences)] if sentences else []


def _method(data: ReportData) -> list[str]:
    return ["## Method", escape(run_description.method(data.run, data.analysis.findings))]


def _reproduce(data: ReportData) -> list[str]:
    return [f"Made by {_code(run_description.command(data.run))}."]


_WRITERS: dict[str, Callable[[ReportData], list[str]]] = {
    "answers": _answers,
    "remarks": lambda data: _list("Remarks", data.analysis.remarks),
    "notes": lambda data: _list("Notes", data.analysis.notes),
    "method": _method,
    "reproduce": _reproduce,
}
"""The sections that are not tables here."""


def escape(text: str) -> str:
    """Text without any meaning as Markdown or HTML, on one line. Hyphens, dots and such mean something at the start
    of a line only."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Code on one line, fenced by more backticks than it holds in a row (GFM section 6.3)."""
    text = " ".join(text.split())
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _table(table: tables.Table) -> str:
    heading = [escape(column.name) for column in table.columns]
    rule = ["---:" if column.align == "right" else "---" for column in table.columns]
    body = [
        [
            _code(cell) if cell and column.name == _DRAWN else escape(cell)
            for cell, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heading, rule, *body))


def _answers_table(sentences: list[answers.AnswerRow], confidence: float) -> tables.Table:
    """A row an answer; the bars are code, so that their characters are equally wide."""
    columns = [
        tables.Column(
            name=f"change [{100 * confidence:g} % interval]" if column is answers.CHANGE else column.name,
            align=column.align,
        )
        for column in answers.COLUMNS
    ]
    columns += tables.left(_DRAWN, "answer")
    names = [
        [*(column.text(answer) for column in answers.COLUMNS), answers.drawn(answer, _BAR), answer.verdict]
        for answer in sentences
    ]
    return tables.without_empty(tables.Table(title="Answers", columns=columns, rows=names))
