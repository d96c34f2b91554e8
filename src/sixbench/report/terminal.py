"""The report as plain text: headline findings, what does not count, claims."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..model.experiment import Statistics
from ..model.finding import Analysis, ClaimResult, ComparedTable, Finding, PublishedComparison
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from ..store import Run
from . import answers, bars, calibrated, group_tables, rows, run_description, tables, validity, words
from .evidence import BriefTable
from .sections import SECTIONS, ReportData
from .terminal_findings import VERDICT_STYLES, findings_of_workload
from .terminal_lines import console_of, folded, paragraph, trimmed, two_columns

MOST_ROWS = 60
"""Findings that fit on a screen or two. Of more, those of primary metrics come first."""

MOST_OF_GROUP = 30
"""Comparisons of a group that a screen has room for. Of more, those that are decided come first."""

MOST_ANSWERS = 12
"""Rows that a screen has room for."""

_MOST_OF_NAME = 24
"""Characters of a name that stands in one piece in a table."""

_LEAST_OF_TEXT = 10
"""Characters of a column of words at least."""

_BAR = 24
"""Characters of an interval's bar."""

_BEHIND_COLON = ", "
"""Between a mark and what it says, behind a title and its colon: `undecided, about 40 blocks would tell 5 %`."""

_COSTS = {"cpu_per_packet", "cpu_per_byte", "cycles_per_packet", "instructions_per_packet", "instructions_per_byte"}
_CLAIM_STYLES = {
    "reproduced": "green",
    "too small to matter": "blue",
    "not reproduced": "red",
    "opposite": "red",
    "undecided": "yellow",
    "not testable here": "dim",
}


def render(
    run: Run,
    analysis: Analysis,
    *,
    width: int = 80,
    colour: bool = False,
    everything: bool = False,
    report_path: str | None = None,
    ascii_only: bool = False,
) -> str:
    """The report as text.

    Args:
        run: as it was read.
        analysis: of that run.
        width: columns of the terminal; below 60 lines are folded as if it had 60.
        colour: whether to write ANSI colours, for a terminal.
        everything: all findings rather than the headline ones.
        report_path: where the full report is, named in the last line.
        ascii_only: for terminals that have no other characters.
    """
    text = io.StringIO()
    console = console_of(text, width, colour)
    glyphs = bars.ASCII if ascii_only else bars.BLOCKS
    _write(_Page(console=console, data=ReportData.of(run, analysis), everything=everything, glyphs=glyphs))
    if report_path is not None:
        console.print()
        console.print(f"Report: {words.one_line(report_path)}", soft_wrap=True)
    return words.in_ascii(trimmed(text)) if ascii_only else trimmed(text)


def comparison(
    analysis: Analysis,
    statistics: Statistics,
    trials: Sequence[TrialRecord] = (),
    *,
    width: int = 80,
    colour: bool = False,
) -> str:
    """The answers and the headline findings alone, as `render` has them."""
    text = io.StringIO()
    console = console_of(text, width, colour)
    sentences = answers.answer_rows(analysis, statistics, trials, _BEHIND_COLON)
    _answers(console, sentences, statistics, bars.BLOCKS)
    for of_workload in rows.by_workload(rows.headline(analysis)).values():
        console.print()
        findings_of_workload(console, of_workload, statistics.confidence)
    return trimmed(text)


@dataclass(frozen=True, kw_only=True)
class _Page:
    """Place and format of a report."""

    console: Console
    data: ReportData
    everything: bool
    glyphs: bars.Glyphs

    @property
    def rest(self) -> str:
        """The command that shows what has no room."""
        return f"sixbench report {self.data.run.directory} --format html"


def _write(page: _Page) -> None:
    manifest, trials = page.data.run.manifest, page.data.trials
    experiment = manifest.experiment
    paragraph(page.console, experiment.title or experiment.name, "bold")
    paragraph(page.console, f"{experiment.name}, run {manifest.run} ({manifest.state}): {trials.summary}", "")
    for warning in page.data.warnings:
        paragraph(page.console, f"! {warning}", "yellow")
    for section in SECTIONS:
        if section.name in _WRITERS:
            _WRITERS[section.name](page)
        elif section.brief is not None:
            _brief_section(page.console, section.brief(page.data), section.trials)
        else:
            for table in section.filled(page.data):
                _plain_table(page.console, table, section.trials)


def _first_answers(page: _Page) -> None:
    statistics = page.data.run.manifest.experiment.statistics
    sentences = answers.answer_rows(page.data.analysis, statistics, page.data.run.trials, _BEHIND_COLON)
    if sentences:
        page.console.print()
        _answers(page.console, sentences[:MOST_ANSWERS], statistics, page.glyphs)
        if answers.lacks_aa(page.data.analysis):
            paragraph(page.console, answers.NO_AA, "dim")
    if len(sentences) > MOST_ANSWERS:
        more = words.count(len(sentences) - MOST_ANSWERS, "more answer")
        paragraph(page.console, f"{more}: {page.rest}", "dim")


def _remarks(page: _Page, remarks: Sequence[str]) -> None:
    for remark in remarks:
        paragraph(page.console, f"Note: {remark}", "")


def _first_findings(page: _Page) -> None:
    shown, left_out = _chosen(page.data.analysis, everything=page.everything)
    for of_workload in rows.by_workload(shown).values():
        page.console.print()
        findings_of_workload(page.console, of_workload, page.data.confidence)
    if left_out:
        page.console.print()
        paragraph(page.console, f"{words.count(left_out, 'more headline finding')}: {page.rest}", "dim")
    cost = run_description.packet_cost(page.data.run)
    if cost and any(finding.metric in _COSTS for finding in shown):
        paragraph(page.console, f"Note: {cost}", "")


def _calibration(page: _Page) -> None:
    trusted = calibrated.sentence(page.data.run, page.data.analysis)
    if trusted is not None:
        page.console.print()
        paragraph(page.console, f"Note: {trusted}", "dim")


def _answers(
    console: Console, sentences: Sequence[answers.AnswerRow], statistics: Statistics, glyphs: bars.Glyphs
) -> None:
    """A row each: what is compared and its mark, then the numbers, with the bar at the end of their last line."""
    for answer in sentences:
        style = "" if answer.tone == "open" else VERDICT_STYLES[answer.tone]
        paragraph(console, f"• {answer.title}: {answer.verdict}", style)
        lines = folded(answer.numbers, console.width, "  ")
        if len(answer.bars) == 1:
            drawn = bars.text(answer.bars[0], _BAR, glyphs).rstrip()
            start = console.width - _BAR
            if len(lines[-1]) >= start:
                lines.append("")
            lines[-1] = f"{lines[-1]:<{start}}{drawn}"
        console.print(Text("\n".join(lines)), soft_wrap=True)
    single = [answer.bars[0] for answer in sentences if len(answer.bars) == 1]
    if single:
        paragraph(console, f"{bars.legend(single, glyphs, statistics.confidence)}.", "dim")


def _chosen(analysis: Analysis, *, everything: bool) -> tuple[list[Finding], int]:
    """The findings to show, and how many headline findings that leaves out."""
    if everything:
        return analysis.findings, 0
    headline = rows.beside_groups(analysis)
    if len(headline) <= MOST_ROWS:
        return headline, 0
    by_workload = rows.by_workload(rows.primary(headline) or headline).values()
    quota = max(1, MOST_ROWS // len(by_workload))
    shown = [finding for of_workload in by_workload for finding in of_workload[:quota]]
    return shown, len(headline) - len(shown)


def _brief_section(console: Console, brief: BriefTable | tables.Table | None, of: str) -> None:
    if isinstance(brief, tables.Table):
        _plain_table(console, brief, of)
    elif brief is not None:
        _brief_table(console, brief)


def _brief_table(console: Console, summary: BriefTable) -> None:
    """A table whose cells take one line each, but for those of one column, with its remarks below it."""
    console.print()
    paragraph(console, f"{summary.table.title}: {summary.about}", "bold")
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for column in summary.table.columns:
        table.add_column(column.name, justify=column.align, no_wrap=column.name != summary.folded, overflow="fold")
    for row in summary.table.rows:
        table.add_row(*(Text(words.one_line(cell)) for cell in row))
    console.print(table)
    for remark in summary.remarks:
        paragraph(console, remark, "yellow", indent="  ")
    if summary.note:
        paragraph(console, summary.note, "dim")


def _plain_table(console: Console, result: tables.Table, of: str) -> None:
    """A table as it is, with its remarks below it where it is too wide; `of`: which trials it is about."""
    console.print()
    paragraph(console, f"{result.title}: {of}" if of else result.title, "bold")
    if result.note:
        paragraph(console, result.note, "")
    result, notes = tables.with_notes(result, console.width)
    between, names = _room(result, console.width)
    table = Table(box=None, padding=(0, between, 0, 0), pad_edge=False, header_style="dim")
    for index, column in enumerate(result.columns):
        is_whole = column.align == "right" or index in names
        table.add_column(column.name, justify=column.align, no_wrap=is_whole, overflow="fold")
    for row in result.rows:
        table.add_row(*(Text(words.one_line(cell)) for cell in row))
    if result.rows:
        console.print(table)
    for note in notes:
        paragraph(console, note, "dim", indent="  ")


def _room(table: tables.Table, width: int) -> tuple[int, set[int]]:
    """Number of spaces between columns, and the columns of names stand in one piece: all, if these and the numbers
    leave room for the other columns."""
    widths, names = [], set()
    for index, column in enumerate(table.columns):
        cells = [column.name, *(words.one_line(row[index]) for row in table.rows)]
        is_name = column.align == "left" and all(" " not in cell and len(cell) <= _MOST_OF_NAME for cell in cells)
        names |= {index} if is_name else set()
        widths.append(max(map(len, cells)) if is_name or column.align == "right" else _LEAST_OF_TEXT)
    for between in (2, 1):
        if sum(widths) + between * (len(widths) - 1) <= width:
            return between, names
    return 1, set()


def _claims(console: Console, claims: list[ClaimResult]) -> None:
    """The paper's claims: the verdict, and beside it what was claimed, where, and why the verdict."""
    if not claims:
        return
    counts = Counter[str](claim.verdict for claim in claims)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _CLAIM_STYLES if counts[verdict])
    console.print()
    paragraph(console, f"Claims of the paper: {total}", "bold")
    table = two_columns(max(len(claim.verdict) for claim in claims))
    for claim in claims:
        verdict = Text(claim.verdict, style=_CLAIM_STYLES[claim.verdict])
        table.add_row(verdict, Text(words.one_line(f"{claim.text} ({claim.source})")))
        table.add_row("", Text(words.one_line(claim.reason), style="dim"))
    console.print(table)


def _published(console: Console, published: list[PublishedComparison]) -> None:
    """The paper's numbers and ours in columns, and what they describe."""
    if not published:
        return
    console.print()
    paragraph(console, tables.PUBLISHED_TITLE, "bold")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    columns = {tables.PUBLISHED: "published", tables.OURS: "ours", tables.OURS_AGAINST: "vs"}
    for column, name in columns.items():
        table.add_column(name, justify=column.align, no_wrap=True)
    table.add_column("what", overflow="fold")
    for item in published:
        what = words.one_line(f"{item.what} ({item.source})")
        table.add_row(*(column.text(item) for column in columns), Text(what))
    console.print(table)


def _in_own_columns(console: Console, compared: ComparedTable) -> None:
    """A paper's table, ours in the line below each of its own; headings are longer than what is under them."""
    result = tables.paper_table(compared, paired=True)
    console.print()
    paragraph(console, words.one_line(result.title), "bold")
    if compared.note:
        paragraph(console, compared.note, "")
    for number, column in enumerate(result.columns[1:], start=1):
        paragraph(console, f"[{number}] {column.name}", "dim", indent="  ")
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("")
    for number, column in enumerate(result.columns[1:], start=1):
        table.add_column(f"[{number}]", justify=column.align, overflow="fold")
    for row in result.rows:
        if row[0] == "paper" or any(cell not in ("", words.MISSING) for cell in row[1:]):
            table.add_row(*(Text(cell, style="" if row[0] == "paper" else "cyan") for cell in row))
    console.print(table)


def _reasons(console: Console, trials: validity.Trials) -> None:
    """The reason why trials do not count."""
    if not trials.reasons:
        return
    console.print()
    paragraph(console, "Trials that do not count", "bold")
    table = two_columns(max(len(f"{reason.count} {reason.status}") for reason in trials.reasons))
    for reason in trials.reasons:
        text = words.one_line(f"{reason.text} ({', '.join(reason.paths)}; {', '.join(reason.workloads)})")
        table.add_row(f"{reason.count} {reason.status}", Text(text))
    console.print(table)


def _paper_tables(page: _Page) -> None:
    for compared in page.data.analysis.tables:
        _in_own_columns(page.console, compared)


def _groups(page: _Page) -> None:
    """The groups of comparisons without the values of the paths, for which a screen has no room. Those of metrics that
    are not a workload's primary one have sentences alone."""
    analysis, confidence = page.data.analysis, page.data.confidence
    of_groups = group_tables.group_tables(analysis, confidence, is_narrow=True)
    for group, table in zip(analysis.groups, of_groups, strict=True):
        is_primary = group.workload in WORKLOADS and WORKLOADS[group.workload].primary == group.metric
        rows_shown = table.rows if page.everything else group_tables.first_rows(group, table, MOST_OF_GROUP)
        _plain_table(page.console, replace(table, rows=rows_shown if is_primary or page.everything else []), "")
        if is_primary and len(rows_shown) < len(table.rows):
            left_out = f"{words.count(len(table.rows) - len(rows_shown), 'more row')}: {page.rest}"
            paragraph(page.console, left_out, "dim")


def _left_out(_: _Page) -> None:
    """Content of the other formats for which a screen has no room."""


_WRITERS: dict[str, Callable[[_Page], None]] = {
    "answers": _first_answers,
    "remarks": lambda page: _remarks(page, page.data.analysis.remarks),
    "notes": lambda page: _remarks(page, page.data.analysis.notes),
    "claims": lambda page: _claims(page.console, page.data.analysis.claims),
    "published": lambda page: _published(page.console, page.data.analysis.published),
    "published-tables": _paper_tables,
    "paths": _left_out,
    "values": _left_out,
    "groups": _groups,
    "findings": _first_findings,
    "reasons": lambda page: _reasons(page.console, page.data.trials),
    "programs": _left_out,
    "environment": _calibration,
}
"""The sections that look otherwise here than tables do."""
