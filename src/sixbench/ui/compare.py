"""Compared runs: the values of all, and each against a reference, by `sixbench compare`'s own code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..analysis.run_comparison import compare_runs
from ..model.errors import UsageError
from ..model.metric import METRICS
from ..model.quoting import shown
from ..model.workloads import WORKLOADS
from ..report.listed_runs import state_of
from ..report.palette import colours_of_paths, shade_name
from ..report.run_comparison import HEADS, conclusion, lacking_lines, tables
from ..store import Run
from .runs import Runs, combination

MOST_RUNS = 6
BEFORE_THE_END = ("running", "interrupted")
"""States of runs before their planned end, which have no verdicts."""


def compared(runs: Runs, names: Sequence[str], reference: str = "") -> dict[str, Any]:
    """The page's data on compared runs, from the oldest to the newest.

    Args:
        reference: the run that the others are compared with; empty: the oldest.

    Raises `UsageError` unless these are two to six different runs and the reference is among them, and `StoreError`.
    """
    if not 2 <= len(names) <= MOST_RUNS or len(set(names)) < len(names):
        raise UsageError(f"name two to {MOST_RUNS} different runs")
    if reference and reference not in names:
        raise UsageError(f"the reference {shown(reference)} is not among the compared runs")
    by_name = {name: runs.read(name) for name in names}
    read = dict(sorted(by_name.items(), key=lambda item: (item[1].manifest.started_realtime_ns, item[0])))
    reference = reference or next(iter(read))
    return {
        "runs": [runs.description(name) for name in read],
        "reference": reference,
        "heads": list(HEADS),
        "against": [_against(reference, read[reference], name, read[name]) for name in read if name != reference],
        "places": _places(read),
    }


def _against(old_name: str, old: Run, new_name: str, new: Run) -> dict[str, Any]:
    """A run against the reference, or why there is no verdict."""
    answer: dict[str, Any] = {"run": new_name, "reference": old_name}
    unfinished = [name for name, run in ((old_name, old), (new_name, new)) if state_of(run) in BEFORE_THE_END]
    if unfinished:
        return answer | {"refused": f"{' and '.join(unfinished)}: not at the planned end, so there is no verdict yet"}
    try:
        comparison = compare_runs(old, new)
    except UsageError as error:
        return answer | {"refused": str(error)}
    shown_tables, left_out = tables(comparison)
    return answer | {
        "confidence": comparison.confidence,
        "settings": [{"name": setting.name, "old": setting.old, "new": setting.new} for setting in comparison.settings],
        "tables": [
            {"heading": table.heading, "rows": [list(row) for row in table.rows], "tones": table.tones}
            for table in shown_tables
        ],
        "left_out": left_out,
        "lacking": [line.strip() for line in lacking_lines(comparison.lacking) if line.strip()],
        "conclusion": conclusion(comparison).strip(),
    }


def _places(read: dict[str, Run]) -> list[dict[str, Any]]:
    """The values of all trials, also of invalid ones: a place for each workload with its levels, a row for each run and
    path. A path has its colour in the oldest run that contains it."""
    colours: dict[str, str] = {}
    for run in read.values():
        colours = colours_of_paths(run.manifest.experiment) | colours
    places: dict[str, dict[str, Any]] = {}
    for name, run in read.items():
        experiment = run.manifest.experiment
        described = {item.name: combination(experiment, index) for index, item in enumerate(experiment.combinations)}
        for trial in run.trials:
            about = described[trial.combination]
            place = places.setdefault(
                about["title"],
                {"title": about["title"], "metric": about["metric"], "unit": about["unit"], "rows": {}, "values": []},
            )
            row = f"{trial.path}, {name}"
            place["rows"].setdefault(row, trial.path)
            value = trial.metrics.get(METRICS[WORKLOADS[trial.workload].primary].column)
            if value is not None:
                place["values"].append({"row": row, "value": value, "status": trial.status, "block": trial.block})
    for place in places.values():
        paths = dict(sorted(place["rows"].items(), key=lambda row: row[1]))
        place["rows"] = list(paths)
        place["colours"] = [shade_name(colours[path]) for path in paths.values()]
    return list(places.values())
