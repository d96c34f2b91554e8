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
"""States of runs that have not reached their planned end. They have no verdicts."""


def compared(runs: Runs, names: Sequence[str], reference: str = "") -> dict[str, Any]:
    """The page's data on compared runs, from the oldest to the newest.

    Args:
        reference: the run that the others are compared with; empty: the oldest.

    Raises `UsageError` where these are no two to six runs or the reference is none of them, and `StoreError`.
    """
    if not 2 <= len(names) <= MOST_RUNS or len(set(names)) < len(names):
        raise UsageError(f"name two to {MOST_RUNS} different runs")
    if reference and reference not in names:
        raise UsageError(f"{shown(reference)} is none of the runs that are compared")
    found = {name: runs.read(name) for name in names}
    read = dict(sorted(found.items(), key=lambda one: (one[1].manifest.started_realtime_ns, one[0])))
    reference = reference or next(iter(read))
    return {
        "runs": [runs.one(name) for name in read],
        "reference": reference,
        "heads": list(HEADS),
        "against": [_against(reference, read[reference], name, read[name]) for name in read if name != reference],
        "places": _places(read),
    }


def _against(old_name: str, old: Run, new_name: str, new: Run) -> dict[str, Any]:
    """A run against the reference, or why there is no verdict."""
    told: dict[str, Any] = {"run": new_name, "reference": old_name}
    unfinished = [name for name, run in ((old_name, old), (new_name, new)) if state_of(run) in BEFORE_THE_END]
    if unfinished:
        return told | {"refused": f"{' and '.join(unfinished)}: not at the planned end, so there is no verdict yet"}
    try:
        comparison = compare_runs(old, new)
    except UsageError as error:
        return told | {"refused": str(error)}
    found, left_out = tables(comparison)
    return told | {
        "confidence": comparison.confidence,
        "settings": [{"name": one.name, "old": one.old, "new": one.new} for one in comparison.settings],
        "tables": [{"heading": heading, "rows": [list(row) for row in rows]} for heading, rows in found],
        "left_out": left_out,
        "lacking": [line.strip() for line in lacking_lines(comparison.lacking) if line.strip()],
        "conclusion": conclusion(comparison).strip(),
    }


def _places(read: dict[str, Run]) -> list[dict[str, Any]]:
    """The values of all trials, invalid ones too: one place a workload with its levels, one row a run and path. A
    path has the colour of the oldest run that has it."""
    colours: dict[str, str] = {}
    for run in read.values():
        colours = colours_of_paths(run.manifest.experiment) | colours
    places: dict[str, dict[str, Any]] = {}
    for name, run in read.items():
        experiment = run.manifest.experiment
        described = {one.name: combination(experiment, index) for index, one in enumerate(experiment.combinations)}
        for trial in run.trials:
            about = described[trial.combination]
            place = places.setdefault(
                about["title"],
                {"title": about["title"], "metric": about["metric"], "unit": about["unit"], "rows": [], "values": []},
            )
            row = f"{trial.path}, {name}"
            if row not in place["rows"]:
                place["rows"].append(row)
            value = trial.metrics.get(METRICS[WORKLOADS[trial.workload].primary].column)
            if value is not None:
                place["values"].append({"row": row, "value": value, "status": trial.status, "block": trial.block})
    for place in places.values():
        place["rows"].sort(key=lambda row: row.partition(", ")[0])
        place["colours"] = [shade_name(colours[row.partition(", ")[0]]) for row in place["rows"]]
    return list(places.values())
