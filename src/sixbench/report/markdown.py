"""The report as GitHub Flavored Markdown: sentences and tables, to paste into an issue, a pull request or a wiki."""

from __future__ import annotations

import re

from ..model.finding import Analysis
from ..store import Run
from . import answers, bars, emulated, facts, matrices, path_tables, tables, validity, words
from .path_facts import path_facts

_BAR = 16
"""Characters of an interval's bar."""

_DRAWN = "drawn"
"""A column of bars."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def render(run: Run, analysis: Analysis) -> str:
    """The document."""
    experiment = run.manifest.experiment
    statistics = experiment.statistics
    trials = validity.trials(run)
    parts = [f"# {escape(experiment.title or experiment.name)}"]
    if experiment.description:
        parts.append(escape(experiment.description))
    parts.append(f"Run {_code(run.manifest.run)} of {_code(experiment.name)} ({run.manifest.state}): {trials.summary}.")
    parts += [f"> **Note:** {escape(warning)}" for warning in facts.warnings(run, trials)]
    said = answers.answers(analysis, statistics, run.trials)
    if said:
        parts += ["## Answers", _table(_answers_table(said, statistics.confidence))]
        single = [answer.bars[0] for answer in said if len(answer.bars) == 1]
        parts += [answers.NO_AA] if answers.lacks_aa(analysis) else []
        parts += [f"{escape(bars.legend(single, bars.BLOCKS, statistics.confidence))}."] if single else []
    paths = path_facts(run)
    about = [
        path_tables.paths_table(paths),
        path_tables.tunnels_table(paths),
        path_tables.losses_table(paths),
        emulated.emulation_table(run),
        path_tables.programs_table(analysis),
    ]
    made = [
        *matrices.matrices(analysis, statistics.confidence),
        *tables.all_tables(analysis, trials, statistics.confidence),
    ]
    for table in [*made, *(table for table in about if table is not None)]:
        parts += [f"## {escape(table.title)}", _table(table)]
    if analysis.remarks:
        parts += ["## Remarks", "\n".join(f"- {escape(remark)}" for remark in analysis.remarks)]
    parts += ["## Environment", _table(_facts_table(facts.environment_facts(run)))]
    parts += ["## Method", escape(facts.method(run)), f"Made by {_code(facts.command(run))}."]
    return "\n\n".join(parts) + "\n"


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


def _answers_table(said: list[answers.Answer], confidence: float) -> tables.Table:
    """A row an answer; the bars are code, so that their characters are equally wide."""
    columns = [
        tables.Column(name="what"),
        tables.Column(name="values"),
        tables.Column(name=f"change [{100 * confidence:g} % interval]", align="right"),
        tables.Column(name="theory", align="right"),
        tables.Column(name="A/A", align="right"),
        tables.Column(name=_DRAWN),
        tables.Column(name="answer"),
    ]
    made = [
        [
            answer.title,
            answer.values,
            answer.change or words.MISSING,
            answer.theory,
            answer.noise,
            bars.text(answer.bars[0], _BAR, bars.BLOCKS).replace(" ", "·") if len(answer.bars) == 1 else "",
            answer.verdict,
        ]
        for answer in said
    ]
    return tables.without_empty(tables.Table(title="Answers", columns=columns, rows=made))


def _facts_table(pairs: list[tuple[str, str]]) -> tables.Table:
    return tables.Table(
        title="Environment",
        columns=[tables.Column(name="what"), tables.Column(name="value")],
        rows=[[name, value or words.MISSING] for name, value in pairs],
    )
