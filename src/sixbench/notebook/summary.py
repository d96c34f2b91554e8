"""A notebook's view of a run: its answers, as a small HTML table without scripts or style sheets."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..model.finding import Analysis
from ..report import answers, run_description, validity, words
from ..store import Run

MOST = 20
"""Answers that are shown; `findings` has the others."""

_BAR_WIDTH = 24


def summary(run: Run, analysis: Analysis) -> str:
    """The HTML. Everything that comes from an experiment is escaped."""
    manifest = run.manifest
    trials = validity.trials(run)
    sentences = answers.answer_rows(analysis, manifest.experiment.statistics, run.trials)
    title = manifest.experiment.title or manifest.experiment.name
    parts = [
        f"<p><strong>{_text(title)}</strong><br>run {_text(manifest.run)}, {_text(manifest.state)}: "
        f"{_text(trials.summary)}</p>",
        *(f"<p>{_text(warning)}</p>" for warning in run_description.warnings(run, trials)),
        *(f"<p>Not used: {_text(problem)}</p>" for problem in run.problems),
    ]
    if not sentences:
        return "".join([*parts, "<p>Nothing was compared.</p>"])
    rows = [
        [
            *(_text(column.text(answer)) for column in answers.COLUMNS),
            f"<code>{_text(answers.drawn(answer, _BAR_WIDTH))}</code>",
            f"<strong>{_text(answer.mark)}</strong>{_text(f': {answer.hint}' if answer.hint else '')}",
        ]
        for answer in sentences[:MOST]
    ]
    heads = [*(column.name for column in answers.COLUMNS), "", "answer"]
    parts.append(f"<table><thead>{_row('th', heads)}</thead><tbody>{''.join(_row('td', r) for r in rows)}</tbody>")
    parts.append("</table>")
    if len(sentences) > MOST:
        parts.append(f"<p>{words.count(len(sentences) - MOST, 'more answer')}: see <code>findings</code>.</p>")
    if answers.lacks_aa(analysis):
        parts.append(f"<p>{_text(answers.NO_AA)}</p>")
    confidence = f"{100 * manifest.experiment.statistics.confidence:g} %"
    parts.append(f"<p>In brackets: {_text(confidence)} confidence intervals, paired by block.</p>")
    return "".join(parts)


def _row(kind: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f'<{kind} style="text-align:left">{cell}</{kind}>' for cell in cells) + "</tr>"


def _text(text: str) -> str:
    return escape(words.keep_together(words.one_line(text)))
