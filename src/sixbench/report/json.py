"""The report for programs: one JSON object.

::

    schema          `sixbench.findings/1`; fields are only ever added under the same number
    experiment      its name
    run             name of the run
    title, state, paper, quick, baseline, confidence, margin, seed, started_realtime_ns
    findings        one object a comparison; see `FINDING_KEYS`
    estimates       one object a path's own value: workload, metric, unit, levels, combination, path, n, value, ci_low,
                    ci_high, theory
    claims          claim, text, source, verdict, reason, evidence
    published       source, what, published, unit, ours, ours_low, ours_high, note
    paper_tables    name, title, note, columns (heading, unit, role, is_compared), rows, ours: tables of the paper in
                    its own columns and units, each row a list of numbers
    trials          planned, total, ok, invalid, failed, reasons (status, reason, count, paths, workloads, keys)
    remarks         sentences

Every key is always there. What is not known is null, never 0 and never absent: a `ratio` of null means that path and
baseline are compared by `difference`, and then `ci_low` and `ci_high` are of the difference; both null where nothing
was compared. Values are in the base unit that `unit` names (bit/s, ns, 1/s, cores, and 1 for shares). `levels` are by
column, with the unit in its name.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from ..model.finding import FINDINGS_SCHEMA, Analysis, Finding
from ..store import Run
from . import validity, words

FINDING_KEYS = tuple(field.name for field in fields(Finding))


def render(run: Run, analysis: Analysis) -> str:
    """The object, indented, with a line end."""
    return json.dumps(document(run, analysis), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def document(run: Run, analysis: Analysis) -> dict[str, Any]:
    """The object itself."""
    manifest, experiment = run.manifest, run.manifest.experiment
    return {
        "schema": FINDINGS_SCHEMA,
        "experiment": experiment.name,
        "run": manifest.run,
        "title": experiment.title,
        "state": manifest.state,
        "paper": manifest.paper,
        "quick": manifest.quick,
        "baseline": experiment.baseline,
        "confidence": experiment.statistics.confidence,
        "margin": experiment.statistics.margin,
        "seed": experiment.seed,
        "started_realtime_ns": manifest.started_realtime_ns,
        "findings": [_plain(asdict(finding)) for finding in analysis.findings],
        "estimates": [_plain(asdict(estimate)) for estimate in analysis.estimates],
        "claims": [_plain(asdict(claim)) for claim in analysis.claims],
        "published": [_plain(asdict(item)) for item in analysis.published],
        "paper_tables": [_plain_table(asdict(table)) for table in analysis.tables],
        "trials": _trials(validity.trials(run)),
        "remarks": list(analysis.remarks),
    }


def _trials(trials: validity.Trials) -> dict[str, Any]:
    counts = asdict(trials)
    counts["reasons"] = [
        {"reason" if key == "text" else key: value for key, value in reason.items()} for reason in counts["reasons"]
    ]
    return counts


def _plain_table(data: dict[str, Any]) -> dict[str, Any]:
    for key in ("rows", "ours"):
        data[key] = [[words.finite(cell) for cell in row] for row in data[key]]
    return data


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """Without NaN and infinity, which are not JSON and no values."""
    return {key: words.finite(value) if isinstance(value, float) else value for key, value in data.items()}
