"""Findings of a monitor: as text, as JSON, and as its page.

::

    schema          `sixbench.monitor-state/1`; fields are only ever added under the same number
    directory, settings, problems
    occurrences     one object each: the fields of `model.monitoring.Occurrence` but its values
    new_conditions  by the number of an occurrence, what differs from the occurrence before it
    series          one object each: the fields of `model.monitoring.Followed`, `changed` (what the last look found),
                    and `found` (the numbers of the occurrences at which a change was found first)
    changed         how many series the last look found changed
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from ..model.aligned import aligned, left_first
from ..model.json_object import JsonObject
from ..model.monitoring import FalseAlarms, Followed, Monitor, Occurrence, OccurrenceState, Removed
from ..model.units import format_size
from . import validity, words
from .series_words import about, path_text, title_of, value_text
from .tables import ColumnOf, Table, table_in, words_column

if TYPE_CHECKING:
    from ..store import Run

STATE_SCHEMA = "sixbench.monitor-state/1"

MOST_ROWS = 40
MOST_OCCURRENCES = 100
"""Number of rows of the page's table: the latest. The directory has the record of each."""
MOST_FIGURES = 40
_PARTS = {"captures": "the captures", "run": "the run", "table": "its rows of the data set"}


def document(
    directory: str, monitor: Monitor, followed: Sequence[Followed], new_conditions: dict[int, list[str]]
) -> JsonObject:
    """The object."""
    return {
        "schema": STATE_SCHEMA,
        "directory": directory,
        "settings": asdict(monitor.settings),
        "problems": list(monitor.problems),
        "occurrences": [
            {name: value for name, value in asdict(occurrence).items() if name != "values"}
            for occurrence in monitor.occurrences
        ],
        "new_conditions": {str(number): names for number, names in new_conditions.items()},
        "series": [
            {
                **asdict(item),
                "changed": None if item.changed is None else asdict(item.changed),
                "found": [point.number for point in item.change_points],
            }
            for item in followed
        ],
        "changed": sum(item.changed is not None for item in followed),
    }


def render(directory: str, monitor: Monitor, followed: Sequence[Followed]) -> str:
    """The text: what is repeated, how it went, and what has changed now."""
    parts = [
        words.one_line(f"{directory} repeats: sixbench {shlex.join(monitor.settings.command)}") + "\n",
        f"{_how_it_went(monitor)}\n",
        f"{false_alarms(monitor.settings.false_alarms, len(followed))}\n",
    ]
    last = monitor.occurrences[-1] if monitor.occurrences else None
    if last is not None and last.reason is not None:
        parts.append(words.one_line(f"The last occurrence ({last.number}) is {last.state}: {last.reason}") + "\n")
    changed = [item for item in followed if item.changed is not None]
    shown = (changed + [item for item in followed if item.changed is None])[:MOST_ROWS]
    for heading, group in groupby(sorted(shown, key=about), key=about):
        parts.append(f"\n{words.one_line(heading)}\n" + _lines(list(group)))
    if len(followed) > len(shown):
        parts.append(f"\nand {len(followed) - len(shown)} more series: --json has them\n")
    parts.append(f"\n{conclusion(monitor, followed)}\n")
    return "".join(parts)


def conclusion(monitor: Monitor, followed: Sequence[Followed]) -> str:
    """Number of series that have changed, by the last look."""
    changed = [item for item in followed if item.changed is not None]
    judged = [item for item in followed if item.band is not None and not item.points[-1].is_baseline]
    if not followed:
        return "No occurrence has measured anything yet."
    if not judged:
        have = max(len(item.points) for item in followed)
        return (
            f"The baseline has {have} of {monitor.settings.baseline} occurrences; the search for changes begins when "
            "it is complete."
        )
    early = len(followed) - len(judged)
    rest = f" {words.count(early, 'of them has', 'of them have')} no complete baseline yet." if early else ""
    if not changed:
        return f"No change found in {words.count(len(followed), 'series', 'series')}.{rest}"
    names = dict.fromkeys(f"{words.metric_label(item.series.metric)} ({path_text(item)})" for item in changed)
    return words.one_line(f"Changed: {len(changed)} of {len(followed)} series: {words.listing(names)}.{rest}")


def why_not_complete(run: Run, state: OccurrenceState) -> str:
    """The reason for which an occurrence is not complete: that of most of its trials that failed, or where no trial is
    valid, that of most of them."""
    trials = validity.trials(run)
    if not trials.total:
        return "no trial was measured"
    lacking = [reason for reason in trials.reasons if state == "failed" or reason.status == "failed"]
    if not lacking:
        return "some trials could not be measured"
    count = trials.failed if state == "partly" else trials.invalid + trials.failed
    first, *others = sorted(lacking, key=lambda reason: -reason.count)
    failed = "failed" if not trials.invalid or state == "partly" else "failed or were invalid"
    more = f"; {words.count(len(others), 'other reason', 'other reasons')} for others" if others else ""
    return f"{count} of {words.count(trials.total, 'trial')} {failed}: {first.text}{more}"


def false_alarms(rate: FalseAlarms, series: int) -> str:
    """Rate of looks that find a change where there is none."""
    most = (
        f"{100 * rate.per_look:g} % of the looks" if rate.per_look is not None else f"{rate.per_year or 0.0:.4g} a year"
    )
    return f"False alarms: at most {most}, in all {f'{series} ' if series else ''}series together."


def page_of(
    directory: str, monitor: Monitor, followed: Sequence[Followed], new_conditions: dict[int, list[str]]
) -> str:
    """The page."""
    from . import page
    from .figures import followed as figure

    settings = monitor.settings
    changed = [item for item in followed if item.changed is not None]
    ordered = sorted(followed, key=lambda item: item.changed is None)
    groups = [[item for item in followed if _metric(item) == key] for key in dict.fromkeys(map(_metric, ordered))]
    left = groups[MOST_FIGURES:]
    first = page.PageSection(
        title="Changes",
        sentences=[
            conclusion(monitor, followed),
            false_alarms(settings.false_alarms, len(followed)),
            "A sudden change is one value alone too far from the baseline. A lasting change is the last 4, 8, 16 or 32 "
            "values together.",
            *([f"{words.count(len(left), 'more metric')} without a figure; the JSON has them."] if left else []),
        ],
        warnings=[*monitor.problems],
        tables=[
            table_in("By the last look", [words_column("workload", about), *_COLUMNS], changed),
        ]
        if changed
        else [],
    )
    sections = [first]
    for group in groups[:MOST_FIGURES]:
        sections.append(page.PageSection(title=title_of(group[0]), drawing=figure.drawing(group)))
    sections.append(
        page.PageSection(
            title="Occurrences",
            sentences=[_how_it_went(monitor)],
            tables=[_occurrences(monitor.occurrences[-MOST_OCCURRENCES:], new_conditions)]
            if monitor.occurrences
            else [],
        )
    )
    return page.render(
        f"Monitor of {settings.command[-1] if len(settings.command) < 2 else settings.command[1]}",
        words.one_line(f"sixbench {shlex.join(settings.command)}, repeated."),
        [
            ("Directory", directory),
            ("Occurrences", str(len(monitor.occurrences))),
            ("Baseline", f"the first {settings.baseline}"),
            ("Bound on the disk", format_size(settings.keep_bytes)),
            ("Began", _date(settings.created_realtime_ns)),
        ],
        sections,
    )


def _metric(item: Followed) -> tuple[str, str]:
    return about(item), item.series.metric


def _occurrences(occurrences: Sequence[Occurrence], new_conditions: dict[int, list[str]]) -> Table:
    columns: list[ColumnOf[Occurrence]] = [
        words_column("occurrence", lambda item: str(item.number)),
        words_column("began", lambda item: _date(item.started_realtime_ns)),
        words_column(
            "took", lambda item: words.quantity(max(0, item.ended_realtime_ns - item.started_realtime_ns), "ns")
        ),
        words_column("state", lambda item: item.state),
        words_column("valid trials", lambda item: str(item.trials)),
        words_column("remarks", lambda item: _remarks(item, new_conditions.get(item.number, []))),
    ]
    title = "The latest occurrences" if occurrences[0].number > 1 else "All occurrences"
    return table_in(title, columns, reversed(occurrences))


def _remarks(occurrence: Occurrence, conditions: Sequence[str]) -> str:
    removed = [removed_text(part) for part in occurrence.removed]
    names = [
        *([occurrence.reason] if occurrence.reason else []),
        *([f"other than before: {words.listing(conditions)}"] if conditions else []),
        *removed,
    ]
    return words.one_line("; ".join(names))


def removed_text(removed: Removed) -> str:
    """Removed parts: `the run was removed (4.2 MiB, 2026-11-27 10:00 UTC)`."""
    size = words.quantity(removed.removed_bytes, "B")
    were = "were" if removed.part in ("captures", "table") else "was"
    return f"{_PARTS[removed.part]} {were} removed to keep the bound ({size}, {_date(removed.at_realtime_ns)})"


def _how_it_went(monitor: Monitor) -> str:
    states = [occurrence.state for occurrence in monitor.occurrences]
    if not states:
        return "There was no occurrence yet."
    others = [f"{states.count(state)} {state}" for state in ("partly", "failed", "interrupted") if state in states]
    ends = [_date(monitor.occurrences[place].started_realtime_ns) for place in (0, -1)]
    when = f"from {ends[0]} to {ends[1]}"
    more = f"; of these {words.listing(others)}" if others else ""
    baseline = f"the first {monitor.settings.baseline} are the baseline"
    damaged = f"; {words.count(len(monitor.problems), 'record')} damaged and left out" if monitor.problems else ""
    return f"{words.count(len(states), 'occurrence')} {when}{more}{damaged}; {baseline}."


def _lines(followed: Sequence[Followed]) -> str:
    """The series as lines of a terminal, where all but the names are to the right."""
    table = table_in("", _COLUMNS, followed)
    heads = [column.name for column in table.columns]
    return aligned([heads, *table.rows], left_first(2, len(heads)))


def _first_found(item: Followed) -> str:
    if item.changed is None or not item.change_points:
        return ""
    return f"{item.change_points[-1].number}, {_date(item.change_points[-1].started_realtime_ns)}"


def _column(name: str, text: Callable[[Followed], str]) -> ColumnOf[Followed]:
    return words_column(name, lambda item: words.one_line(text(item)))


_COLUMNS = (
    _column("metric", lambda item: words.metric_label(item.series.metric)),
    _column("path", path_text),
    _column("baseline", lambda item: words.MISSING if item.band is None else value_text(item, item.band.centre)),
    _column("last", lambda item: value_text(item, item.points[-1].value)),
    _column("looked at", lambda item: str(sum(not point.is_baseline for point in item.points))),
    _column("change", lambda item: "" if item.changed is None else f"{item.changed.direction}, {item.changed.kind}"),
    _column("first found", _first_found),
)


def _date(realtime_ns: int) -> str:
    return datetime.fromtimestamp(realtime_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M UTC")
