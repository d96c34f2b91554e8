"""The report as one page that needs nothing else: figures, tables and text in a single file, which opens without a
network.

What the page says is put together here, as text; how it looks is in `templates`. Everything that comes from an
experiment is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..model.change_words import noise_of
from ..model.finding import Analysis, Finding
from ..model.workloads import WORKLOADS
from ..store import Run
from . import answers, marks, matrices, path_tables, rows, run_description, tables, validity, words
from .evidence import LinkEvidence, PacketSum, PathSums
from .figures import Drawing, drawings, for_page
from .figures.style import path_styles
from .finding_columns import (
    BASELINE,
    CHANGE,
    INTERVAL,
    LEVELS,
    METRIC,
    NOISE,
    PAIRS,
    PATH,
    THEORY,
    VALUE,
    VERDICT,
    WORKLOAD,
)
from .sections import PARTS, SECTIONS, ReportData, environment
from .templating import Filled, template

MOST_PAGE_BYTES = 5_000_000
"""The size of the page, which is sent by mail and opened by telephones. What has no room is in the files beside it."""

MOST_FIGURE_BYTES = 3_300_000
"""The size of all figures together. Main figures come first."""

MOST_ROWS = (3000, 1500, 750, 300, 100)
"""Numbers of rows of a list of the page: the first of these with which the page is small enough. Of more findings, only
the headline ones are shown."""

_ANSWERS_SHOWN = 12

_COLUMNS = (WORKLOAD, METRIC, LEVELS, PATH, CHANGE, INTERVAL, VERDICT, VALUE, BASELINE, PAIRS, THEORY, NOISE)
_HEADINGS = {PAIRS: "Pairs", NOISE: NOISE.name}
"""Headings of columns that are not their names with a capital."""


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """A figure in the page. `markup` is its `svg` elements, safe as they are."""

    drawing: Drawing
    markup: Any


@dataclass(frozen=True, kw_only=True)
class _Chapter:
    """The figures of one workload."""

    workload: str
    title: str
    doc: str
    main: list[_Shown]
    more: list[_Shown]


def render(run: Run, analysis: Analysis) -> str:
    """The page."""
    data = ReportData.of(run, analysis)
    shown, left_out = _figures(run, analysis)
    page = template("report.html.j2")
    text = ""
    for most in MOST_ROWS:
        text = page.render(_page(data, shown, left_out, most)) + "\n"
        if len(text.encode()) <= MOST_PAGE_BYTES:
            break
    return text


def _page(data: ReportData, shown: list[_Shown], left_out: list[str], most: int) -> Filled:
    """Content of the page. `most`: rows of each list."""
    run, analysis, trials = data.run, data.analysis, data.trials
    experiment = run.manifest.experiment
    statistics = experiment.statistics
    sentences = answers.answer_rows(analysis, statistics, run.trials)
    findings = _findings(analysis, most)
    chapters = _chapters(shown)
    notes = [*run.problems, *experiment.notes, *run.manifest.notes]
    tables_of_values = matrices.matrices(analysis, statistics.confidence)
    every_link = [
        (item.evidence, link)
        for item in data.paths
        if len(item.evidence.of(PacketSum).links) > 1
        for link in item.evidence.of(PacketSum).links
    ]
    filled = {section.name: section.filled(data) for section in SECTIONS}
    lists = {
        "answers": (len(sentences), _ANSWERS_SHOWN + most),
        "tables of values": (len(tables_of_values), most // 10),
        "reasons for trials that do not count": (len(trials.reasons), most),
        "links of paths": (len(every_link), most),
        "notes": (len(notes), most),
    } | {
        section.entries: (max(len(table.rows) for table in filled[section.name]), most)
        for section in SECTIONS
        if section.name not in _WITH_TEMPLATES and filled[section.name]
    }
    return {
        "cut": [f"{number - shown_of} {name}" for name, (number, shown_of) in lists.items() if number > shown_of],
        "title": experiment.title or experiment.name,
        "experiment": experiment,
        "run": run.manifest,
        "properties": run_description.run_properties(run),
        "warnings": data.warnings,
        "parts": _parts(data, filled, without=_without(shown, chapters), most=most),
        "notes": notes[:most],
        "answers": sentences[:_ANSWERS_SHOWN],
        "more_answers": sentences[_ANSWERS_SHOWN : _ANSWERS_SHOWN + most],
        "no_aa": answers.NO_AA if answers.lacks_aa(analysis) else "",
        "at": lambda place: f"{200 * place:.1f}",
        "has_noise_bars": any(bar.noise is not None for answer in sentences for bar in answer.bars),
        "has_theory_bars": any(len(answer.bars) == 1 and answer.bars[0].theory is not None for answer in sentences),
        "paths": path_tables.paths_table(data.paths),
        "styles": path_styles(experiment),
        "network": [figure for figure in shown if figure.drawing.section == "network"],
        "chapters": chapters,
        "published_figures": [figure for figure in shown if figure.drawing.section == "published"],
        "rfc_figures": [figure for figure in shown if figure.drawing.section == "rfc"],
        "header_figures": [figure for figure in shown if figure.drawing.section == "evidence"],
        "left_out": left_out,
        "findings": [_row(finding) for finding in findings],
        "finding_columns": [
            (column.name, _HEADINGS.get(column, column.name.capitalize()), column.align) for column in _COLUMNS
        ],
        "matrices": tables_of_values[: most // 10],
        "findings_left_out": len(analysis.findings) - len(findings),
        "filters": _filters(findings),
        "confidence": words.percent(statistics.confidence),
        "margin": words.all_margins(statistics),
        "claims": analysis.claims,
        "published": tables.published_table(analysis.published, statistics.confidence) if analysis.published else None,
        "paper_tables": [(tables.paper_table(table), table.note) for table in analysis.tables],
        "trials": trials,
        "reasons": trials.reasons[:most],
        "noise": [
            (words.workload_title(floor.workload), words.metric_label(floor.metric), floor)
            for floor in validity.noise_floor(analysis)
        ],
        "aa": [f"{path.name} repeats {path.aa_of}" for path in experiment.paths if path.aa_of is not None],
        "verdicts": marks.MEANINGS,
        "evidence": [_evidence(item.evidence) for item in data.paths],
        "every_link": [_every_link(evidence, link) for evidence, link in every_link[:most]],
        "environment": environment(data),
        "method": run_description.method(run, analysis.findings),
        "command": run_description.command(run),
        "remarks": analysis.remarks,
        "asides": analysis.notes,
    }


_WITH_TEMPLATES = frozenset(
    {
        *("answers", "remarks", "claims", "published", "published-tables", "paths", "figures", "values", "findings"),
        *("reasons", "notes", "noise", "verdicts", "headers", "environment", "method", "reproduce", "rfc-figures"),
    }
)
"""The sections that have a template of their own."""

_IF_FILLED = frozenset({"claims", "published", "published-tables", "values"})
"""Those of them that are left out without a table."""

_OF_COMPARISONS = frozenset({"answers", "findings", "noise", "verdicts"})
"""Those that say nothing of a run of tests by an RFC, which compares no paths."""


def _parts(
    data: ReportData, filled: Mapping[str, Sequence[tables.Table]], *, without: frozenset[str], most: int
) -> list[Filled]:
    """The parts of the page that have something, each with its sections. `without`: those that have no figures."""
    parts: dict[str, list[Filled]] = {}
    for section in SECTIONS:
        has_template = section.name in _WITH_TEMPLATES and section.name not in _IF_FILLED
        if section.name in _OF_COMPARISONS and data.run.manifest.procedure is not None:
            continue
        if filled[section.name] or (has_template and section.name not in without):
            shown = {
                "name": section.name,
                "template": f"sections/{section.name if section.name in _WITH_TEMPLATES else 'tables'}.html.j2",
                "tables": [replace(table, rows=table.rows[:most]) for table in filled[section.name]],
                "entries": section.entries,
                "about": section.about,
                "remark": section.remark(data),
            }
            parts.setdefault(section.part, []).append(shown)
    titles = PARTS if data.run.manifest.procedure is None else PARTS | {"answers": "Remarks"}
    return [{"place": part, "title": titles[part], "sections": sections} for part, sections in parts.items()]


def _without(shown: Sequence[_Shown], chapters: Sequence[_Chapter]) -> frozenset[str]:
    """The sections of figures that have none."""
    has_rfc = any(figure.drawing.section == "rfc" for figure in shown)
    return frozenset({*([] if chapters else ["figures"]), *([] if has_rfc else ["rfc-figures"])})


def _figures(run: Run, analysis: Analysis) -> tuple[list[_Shown], list[str]]:
    """Figures in the order of the report, and the titles of those for which there is no room: by rank."""
    from markupsafe import Markup

    results = drawings(run, analysis)
    room = MOST_FIGURE_BYTES
    showns: dict[str, _Shown] = {}
    for drawing in sorted(results, key=lambda drawing: drawing.rank):
        if room <= 0:
            break
        markup = for_page(drawing)
        room -= len(markup.encode())
        if room > 0:
            # Safe: matplotlib and `inline` escape the texts of a figure.
            showns[drawing.name] = _Shown(drawing=drawing, markup=Markup(markup))
    return (
        [showns[drawing.name] for drawing in results if drawing.name in showns],
        [drawing.title for drawing in results if drawing.name not in showns],
    )


def _chapters(shown: list[_Shown]) -> list[_Chapter]:
    by_workload: dict[str, list[_Shown]] = {}
    for figure in shown:
        if figure.drawing.section == "workload" and figure.drawing.workload is not None:
            by_workload.setdefault(figure.drawing.workload, []).append(figure)
    return [
        _Chapter(
            workload=workload,
            title=words.workload_title(workload),
            doc=WORKLOADS[workload].doc if workload in WORKLOADS else "",
            main=[figure for figure in figures if figure.drawing.rank == 0],
            more=[figure for figure in figures if figure.drawing.rank > 0],
        )
        for workload, figures in by_workload.items()
    ]


def _findings(analysis: Analysis, most: int) -> list[Finding]:
    """The findings of the table, by workload and metric, the A/A comparisons at the end."""
    chosen = analysis.findings
    if len(chosen) > most:
        chosen = rows.headline(analysis)[:most]
    ordered = [row.finding for group in rows.grouped(chosen) for row in group.rows]
    return sorted(ordered, key=lambda finding: finding.is_aa)


def _row(finding: Finding) -> Filled:
    row = rows.row(finding)
    return {
        "finding": finding,
        "text": row,
        "cells": {column.name: column.cell(row).text for column in _COLUMNS},
        "meaning": row.mark_word.meaning,
        "headline": finding.headline and not finding.is_aa,
        "sorted_by": _sorted_by(finding),
        "noise_interval": _noise_interval(finding),
    }


def _sorted_by(finding: Finding) -> dict[str, Any]:
    """The values by which rows are sorted, by the column: those of numbers, which have several units."""
    value, baseline = finding.values
    return {
        CHANGE.name: _sortable(finding),
        VALUE.name: "" if value is None else value,
        BASELINE.name: "" if baseline is None else baseline,
        PAIRS.name: finding.n,
    }


def _sortable(finding: Finding) -> str:
    """The change as a number to sort by: percent, and percentage points beside it."""
    ratio, difference = words.finite(finding.ratio), words.finite(finding.difference)
    if ratio is not None:
        return repr(words.as_percent(ratio))
    if difference is None:
        return ""
    return repr(100 * difference if finding.unit == "1" else difference)


def _noise_interval(finding: Finding) -> str:
    noise = noise_of(finding)
    if finding.ratio is None or noise is None:
        return ""
    return f"A/A interval {' to '.join(noise.texts)} {noise.unit}"


def _filters(findings: list[Finding]) -> dict[str, list[str]]:
    return {
        "workload": list(dict.fromkeys(finding.workload for finding in findings)),
        "path": list(dict.fromkeys(finding.path for finding in findings)),
        "verdict": [word.text for word in sorted(set(map(marks.MarkWord.of, findings)), key=lambda word: word.order)],
    }


def _evidence(item: PathSums) -> Filled:
    """The link that tells most of a path."""
    packets = item.of(PacketSum)
    link = packets.middle
    seen = link.seen if link else {}
    return {
        "path": item.path,
        "engines": ", ".join(item.engines) or words.MISSING,
        "trials": item.trials if item.are_valid else f"{item.trials} (none valid)",
        "link": link.link if link else words.MISSING,
        "claimed": _claimed(link),
        "seen": _packets(seen or packets.families),
        "max_ip_bytes": _largest(link),
        "stacks": list(link.stacks)[:5] if link else [],
    }


def _every_link(item: PathSums, link: LinkEvidence) -> Filled:
    return {
        "path": item.path,
        "link": link.link,
        "at": " ".join(part for part in (link.node, link.interface) if part),
        "claimed": _claimed(link),
        "seen": _packets(link.seen),
        "outer": [f"{pair.replace(' > ', ' to ')}: {words.whole(number)}" for pair, number in _most(link.outer)],
        "errors": ", ".join(f"{words.whole(number)} {error}" for error, number in link.errors.items()),
        "max_ip_bytes": _largest(link),
        "captured": words.whole(link.captured),
        "not_captured": words.whole(link.not_captured) if link.not_captured else "",
    }


def _claimed(link: LinkEvidence | None) -> str:
    return ", ".join(words.protocols(claimed) for claimed in link.claimed) if link and link.claimed else words.MISSING


def _largest(link: LinkEvidence | None) -> str:
    return words.MISSING if link is None or link.max_ip_bytes is None else f"{link.max_ip_bytes} B"


def _packets(counts: dict[str, int]) -> str:
    """Packets by their headers, the most frequent first."""
    text = ", ".join(f"{words.whole(number)} {words.protocols(name)}" for name, number in _most(counts))
    return text or words.MISSING


def _most(counts: dict[str, int], shown: int = 6) -> list[tuple[str, int]]:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ordered[:shown] if len(ordered) > shown else ordered
