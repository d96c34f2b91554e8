"""A run to servers of others on the page: the servers by their change, and the blocks of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..analysis import analyse
from ..model.comparison_group import ComparisonGroup
from ..model.errors import UsageError
from ..model.finding import Analysis, Finding
from ..model.metric import METRICS
from ..model.parameter import Scalar
from ..model.quoting import shown
from ..model.server import SERVER_COLUMN
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from ..report import group_words, rows, words
from ..report.listed_runs import state_of
from ..report.palette import colours_of_paths, shade_name
from ..report.server_faults import faults_of_servers
from ..report.servers import vantage_table
from ..store import Run
from .compare import BEFORE_THE_END
from .runs import combination

NOT_COMPARED = "not compared"


def by_change(run: Run) -> dict[str, Any]:
    """All servers in each comparison, the slowest over the compared path first. Raises `UsageError` where the run has
    no servers, or has not reached its planned end, before which it has no verdicts."""
    _require_servers(run)
    if state_of(run) in BEFORE_THE_END:
        raise UsageError("the run is not at its planned end, so there are no verdicts on its servers yet")
    vantage = vantage_table(run)
    return {
        "sentence": "" if vantage is None else vantage.title,
        "comparisons": _comparisons(run, analyse(run)),
        "faults": [
            {"server": label, "vantage": name, "text": text}
            for (name, label), texts in faults_of_servers(run).items()
            for text in texts
        ],
    }


def one_server(run: Run, label: str) -> dict[str, Any]:
    """The changes of a server, and its blocks. Raises as `by_change`, and where the run has no such server."""
    about = by_change(run)
    if all(label != server.label for server in run.manifest.experiment.servers):
        raise UsageError(f"the run has no server {shown(label)}")
    changes = [
        {"title": comparison["title"], "margin": comparison["margin"], **row}
        for comparison in about["comparisons"]
        for row in comparison["rows"]
        if row["server"] == label
    ]
    faults = [fault for fault in about["faults"] if fault["server"] == label]
    return {"server": label, "changes": changes, "faults": faults, "places": _places(run, label)}


def _require_servers(run: Run) -> None:
    if not run.manifest.experiment.servers:
        raise UsageError("the run goes to no servers of others")


def _comparisons(run: Run, analysis: Analysis) -> list[dict[str, Any]]:
    """A comparison for each workload, path and combination of the levels that do not name the server."""
    experiment = run.manifest.experiment
    by_place: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in rows.primary(rows.headline(analysis)):
        if SERVER_COLUMN in finding.levels:
            key = (finding.workload, finding.path, *_others(finding.levels).items())
            by_place.setdefault(key, []).append(finding)
    groups = {
        (group.workload, group.path, *group.levels.items()): group
        for group in analysis.groups
        if group.factor == SERVER_COLUMN and group.metric == WORKLOADS[group.workload].primary
    }
    return [
        {
            "title": _title(findings[0]),
            "better": words.better(findings[0].metric),
            "margin": 100 * experiment.statistics.margin_of(findings[0].workload),
            "rows": [_row(finding) for finding in _from_the_worst(findings)] + _not_compared(run, findings),
        }
        | _mean(groups.get(key), experiment.statistics.confidence)
        for key, findings in by_place.items()
    ]


def _others(levels: dict[str, Scalar]) -> dict[str, Scalar]:
    return {column: level for column, level in levels.items() if column != SERVER_COLUMN}


def _title(finding: Finding) -> str:
    at = words.levels(_others(finding.levels))
    what = f"{words.workload_title(finding.workload)}: {words.metric_label(finding.metric)}"
    return f"{what}, {words.protocol(finding.path)} against {words.protocol(finding.baseline)}{f', {at}' if at else ''}"


def _from_the_worst(findings: Sequence[Finding]) -> list[Finding]:
    is_higher_better = words.better(findings[0].metric).startswith("higher")
    return sorted(findings, key=lambda finding: finding.ratio or 1.0, reverse=not is_higher_better)


def _row(finding: Finding) -> dict[str, Any]:
    described = rows.row(finding)
    return {
        "server": str(finding.levels[SERVER_COLUMN]),
        "change": _percent(finding.ratio),
        "low": _percent(finding.ci_low) if finding.ratio is not None else None,
        "high": _percent(finding.ci_high) if finding.ratio is not None else None,
        "text": described.change_with_interval,
        "word": described.word,
        "tone": described.tone,
        "n": finding.n,
    }


def _percent(ratio: float | None) -> float | None:
    known = words.finite(ratio)
    return None if known is None else words.as_percent(known)


def _not_compared(run: Run, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Rows for the servers of which there is no change: a row that is missing would say that all is well."""
    compared = {finding.levels[SERVER_COLUMN] for finding in findings}
    labels = [server.label for server in run.manifest.experiment.servers if server.label not in compared]
    empty = {"change": None, "low": None, "high": None, "text": "", "word": NOT_COMPARED, "tone": "open", "n": 0}
    return [{"server": label, **empty} for label in labels]


def _mean(group: ComparisonGroup | None, confidence: float) -> dict[str, Any]:
    """The mean over servers with its interval, and all that is said of the group."""
    if group is None:
        return {"mean": None, "sentence": ""}
    change = group_words.mean_change(group)
    sentence = group_words.sentences(group, confidence)
    if change is None or group.pooled is None or group.pooled.ratio is None or len(change.ends) < 2:
        return {"mean": None, "sentence": sentence}
    low, high = change.ends
    mean = {"change": change.change, "low": low, "high": high, "text": change.with_interval, "n": group.pooled.groups}
    return {"mean": mean, "sentence": sentence}


def _places(run: Run, label: str) -> list[dict[str, Any]]:
    """The values of the server's trials, also of invalid ones, a place for each combination, and its blocks."""
    experiment = run.manifest.experiment
    colours = colours_of_paths(experiment)
    by_combination: dict[str, list[TrialRecord]] = {}
    for trial in run.trials:
        by_combination.setdefault(trial.combination, []).append(trial)
    places = []
    for number, chosen in enumerate(experiment.combinations):
        if chosen.levels.get(SERVER_COLUMN) != label:
            continue
        about = combination(experiment, number)
        column = METRICS[WORKLOADS[chosen.workload.kind].primary].column
        values = [
            {
                "key": trial.key,
                "row": trial.path,
                "value": words.finite(trial.metrics.get(column)),
                "status": trial.status,
                "block": trial.block,
            }
            for trial in by_combination.get(chosen.name, [])
        ]
        title = (words.workload_title(chosen.workload.kind), words.levels(_others(chosen.levels)))
        place = {"title": ", ".join(filter(None, title)), "metric": about["metric"], "unit": about["unit"]}
        shades = [shade_name(colours[path]) for path in about["paths"]]
        places.append(place | {"rows": about["paths"], "colours": shades, "values": values})
    return places
