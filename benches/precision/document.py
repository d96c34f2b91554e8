"""The figures of docs/measurements/precision.md, from the JSON files of `make bench-precision`.

    PYTHONPATH=benches python -m precision.document before OUT...   takes over these folders' results
    PYTHONPATH=benches python -m precision.document after OUT...    the same
    PYTHONPATH=benches python -m precision.document                 writes the figures again

docs/measurements/precision.json keeps the results. A result replaces what is there of the same part or shipped
experiment.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pages import head, measured_at, put, row

MEASUREMENTS = Path(__file__).parents[2] / "docs/measurements"
DATA = MEASUREMENTS / "precision.json"
PAGE = MEASUREMENTS / "precision.md"
BEGIN = "<!-- figures: made by python -m precision.document -->\n"

WHEN = ("before", "after")
SHIPPED = "shipped"
_TITLES = {
    "rate": "Less rate",
    "delay": "More delay",
    "header": "One more header",
    "hop": "One more hop",
}
_RUN = ("date", "took_s", "commit", "kernel", "machine", "processors", "memory_gib", "python")
_MARKS = ("decided", "equivalent", "within A/A", "undecided", "too variable", "not compared")
Results = dict[str, Any]


def main() -> None:
    data = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    if len(sys.argv) > 1 and sys.argv[1] not in WHEN:
        raise SystemExit(f"usage: python -m precision.document [{'|'.join(WHEN)} OUT...]")
    for folder in map(Path, sys.argv[2:]):
        for file in sorted(folder.glob("*.json")):
            take(data, sys.argv[1], json.loads(file.read_text(encoding="utf-8")))
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    put(PAGE, BEGIN, figures(data))


def take(data: Results, when: str, result: Results) -> None:
    """Adds a part's result."""
    kept = data.setdefault(when, {})
    run = {key: result[key] for key in _RUN}
    values = {key: value for key, value in result.items() if key not in (*_RUN, "part")}
    if result["part"] != SHIPPED:
        kept[result["part"]] = {**values, "run": run}
        return
    for name, experiment in values["experiments"].items():
        kept.setdefault(SHIPPED, {})[name] = {**experiment, "run": run}


def figures(data: Results) -> str:
    """The tables, as Markdown.

    Args:
        data: results by part, by when they were measured: `before` and `after`, or any other words.
    """
    lines = [""]
    for part, title in _TITLES.items():
        lines += _differences(part, title, data)
    lines += _false_alarms(data)
    lines += _answers(data)
    lines += _widths(data)
    return "\n".join([*lines, ""])


def _differences(part: str, title: str, data: Results) -> Iterator[str]:
    there = {when: results[part] for when, results in data.items() if part in results}
    if not there:
        return
    yield f"### {title}"
    yield ""
    for when, result in there.items():
        yield f"- {when.capitalize()} ({measured_at(result)}): {_counts(result)}"
    yield ""
    columns = [_time(seconds) for seconds in _lengths(data)]
    yield head("difference", "true change", "by", *columns)
    for name in _names(there.values()):
        for when, result, who, matches in _rows(there, name):
            points = {point["seconds"]: point for point in matches["points"]}
            cells = [_cell(points.get(seconds)) for seconds in _lengths(data)]
            by = "sixbench" if who == "ours" else result["careful"]["tool"].split()[0]
            yield row(name, _truth(matches), f"{by}, {when}", *cells)
    yield ""


def _counts(result: Results) -> str:
    ours, careful = result["ours"], result["careful"]
    invalid = ", ".join(f"{count} {kind}" for kind, count in sorted(ours["reasons"].items()))
    failed = f", {careful['failed']} of their measurements failed" if careful["failed"] else ""
    return (
        f"{ours['blocks']} blocks of `{result['workload']}`, {ours['trials']} trials of {result['duration_ms']:g} ms "
        f"after {result['warmup_ms']:g} ms, {ours['valid']} of them valid{f' ({invalid})' if invalid else ''}. "
        f"A trial takes {ours['trial_s']:.2f} s in all. "
        f"Beside it {careful['rounds']} rounds of {careful['tool']}{failed}."
    )


def _rows(there: dict[str, Results], name: str) -> Iterator[tuple[str, Results, str, Results]]:
    for who in ("ours", "careful"):
        for when, result in there.items():
            if name in result[who]["differences"]:
                yield when, result, who, result[who]["differences"][name]


def _names(results: Iterable[Results]) -> list[str]:
    return list(dict.fromkeys(name for result in results for name in result["ours"]["differences"]))


def _truth(result: Results) -> str:
    if result["truth"] is None:
        return result["direction"] or "not known"
    return "0" if result["truth"] == 1 else f"{100 * (result['truth'] - 1):+.2f} %"


def _cell(point: Results | None) -> str:
    if point is None:
        return "not measured"
    width = "no interval" if point["half_width"] is None else _width(point["half_width"])
    return f"{width}, {point['right']} of {point['windows']}"


def _false_alarms(data: Results) -> Iterator[str]:
    """Table of the windows that declare a difference where there is none, and of those that have an interval without
    "no difference". The latter are more where sixbench calls a difference within its margin equivalent."""
    tallies: dict[str, dict[float, list[int]]] = {}
    for who in ("ours", "careful"):
        for when, results in data.items():
            name = f"{'sixbench' if who == 'ours' else 'mean and t interval'}, {when}"
            for part in _TITLES:
                result = results.get(part)
                for matches in result[who]["differences"].values() if result else ():
                    if matches["direction"] == "none":
                        _add(tallies.setdefault(name, {}), matches["points"])
    if not tallies:
        return
    yield "### False alarms"
    yield ""
    yield head("by", *(_time(seconds) for seconds in _lengths(data)))
    for name, tally in tallies.items():
        yield row(name, *(_alarms(tally.get(seconds)) for seconds in _lengths(data)))
    yield ""


def _add(tally: dict[float, list[int]], points: list[Results]) -> None:
    for point in points:
        sums = tally.setdefault(point["seconds"], [0, 0, 0, 0])
        for index, name in enumerate(("declared", "windows", "excluding", "apart")):
            sums[index] += point[name]


def _alarms(sums: list[int] | None) -> str:
    if sums is None:
        return "not measured"
    declared, windows, excluding, apart = sums
    return f"{declared} of {windows}, {excluding} excluded ({apart} apart)"


def _answers(data: Results) -> Iterator[str]:
    if not any(SHIPPED in results for results in data.values()):
        return
    yield "### Shipped experiments"
    yield ""
    yield head("experiment", "when", "minutes", "trials (valid)", "headlines", "claims", "date, commit")
    for name, there in _shipped(data):
        for when, value in there.items():
            marks: dict[str, int] = {}
            for headline in value["headlines"].values():
                for mark, count in headline["marks"].items():
                    marks[mark] = marks.get(mark, 0) + count
            yield row(
                f"`{name}`",
                when,
                f"{value['minutes']:.1f}",
                f"{value['trials']} ({value['valid']})",
                ", ".join(f"{marks[mark]} {mark}" for mark in _MARKS if mark in marks),
                ", ".join(f"{count} {verdict}" for verdict, count in (value["claims"] or {}).items()) or "none made",
                measured_at(value),
            )
    yield ""


def _widths(data: Results) -> Iterator[str]:
    there = list(_shipped(data))
    if not there:
        return
    yield "### Half widths of the shipped experiments' headlines"
    yield ""
    yield head("experiment", "headline", *data)
    for name, results in there:
        for headline in dict.fromkeys(key for result in results.values() for key in result["headlines"]):
            cells = [_widest(results.get(when, {}).get("headlines", {}).get(headline)) for when in data]
            yield row(f"`{name}`", headline.replace("_", " "), *cells)
    yield ""


def _shipped(data: Results) -> Iterator[tuple[str, dict[str, Results]]]:
    by_when = {when: results.get(SHIPPED, {}) for when, results in data.items()}
    for name in dict.fromkeys(name for results in by_when.values() for name in results):
        yield name, {when: results[name] for when, results in by_when.items() if name in results}


def _widest(headline: Results | None) -> str:
    if headline is None:
        return "not measured"
    if headline["half_width"] is None:
        return "no ratio"
    middle, widest = (_width(headline[name]) for name in ("half_width", "widest"))
    return middle if headline["findings"] == 1 else f"{middle} (widest of {headline['findings']}: {widest})"


def _lengths(data: Results) -> list[float]:
    """Lengths of the comparisons of all parts, in seconds."""
    return sorted(
        {
            point["seconds"]
            for results in data.values()
            for part in _TITLES
            for who in ("ours", "careful")
            for difference in results.get(part, {}).get(who, {}).get("differences", {}).values()
            for point in difference["points"]
        }
    )


def _time(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 60 else f"{seconds / 60:g} min"


def _width(share: float) -> str:
    """A half width in percent."""
    percent = 100 * share
    if 0 < percent < 0.01:
        return "under ±0.01 %"
    return f"±{percent:.0f} %" if percent >= 10 else f"±{percent:.1f} %" if percent >= 1 else f"±{percent:.2f} %"


if __name__ == "__main__":
    main()
