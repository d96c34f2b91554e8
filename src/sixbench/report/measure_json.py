"""A measurement between two machines as JSON.

::

    schema          "sixbench.measurement/1"
    sixbench        version
    state           "complete", "partial" (a trial failed) or "interrupted"
    started_realtime_ns, ended_realtime_ns
    host, port      of the other machine, as it was named
    remote          what its agent says of itself: version, kernel, name
    paths           one object a family: path ("ipv4", "ipv6"), family, client, server (addresses of the sockets)
    workload, params    name, and parameters by column with their units
    blocks, confidence, margin
    trials          in the order of execution, each as in `trial.json`, and its `series` by source
    estimates, findings     as in the findings of a run (docs/design.md); findings only where families are compared
    proved          false: between two machines no packet is captured, so nothing proves which way they took
    environment     of this machine

What was not measured is absent from a trial, and null elsewhere; never 0 and never NaN.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from .. import __version__
from ..model.finding import Analysis, Estimate, Finding
from ..model.json_object import JsonObject
from ..model.record_json import record_to_json
from ..store import Run
from . import words

MEASUREMENT_SCHEMA = "sixbench.measurement/1"

_REMOTE = ("name", "version", "kernel", "machine")


def render(
    run: Run,
    analysis: Analysis,
    *,
    port: int,
    remote: Mapping[str, Any],
    addresses: Mapping[str, tuple[str, str]],
    series: Mapping[str, Mapping[str, Any]],
) -> str:
    """The document, with a line end.

    Args:
        remote: the answer of the other agent to `hello`.
        addresses: client's and server's, by path.
        series: of each trial, by its key.
    """
    manifest, experiment = run.manifest, run.manifest.experiment
    [combination] = experiment.combinations
    document = {
        "schema": MEASUREMENT_SCHEMA,
        "sixbench": __version__,
        "state": manifest.state,
        "started_realtime_ns": manifest.started_realtime_ns,
        "ended_realtime_ns": manifest.ended_realtime_ns,
        "host": experiment.between[1],
        "port": port,
        "remote": {name: remote.get(name) for name in _REMOTE},
        "paths": [
            {"path": path.name, "family": path.family}
            | dict(zip(("client", "server"), addresses[path.name], strict=True))
            for path in experiment.paths
        ],
        "workload": combination.workload.kind,
        "params": combination.workload.params,
        "blocks": experiment.blocks.maximum,
        "confidence": experiment.statistics.confidence,
        "margin": experiment.statistics.margin,
        "trials": [record_to_json(trial) | {"series": series.get(trial.key, {})} for trial in run.trials],
        "estimates": [_plain(estimate) for estimate in analysis.estimates],
        "findings": [_plain(finding) for finding in analysis.findings],
        "proved": False,
        "environment": asdict(manifest.environment),
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(item: Estimate | Finding) -> JsonObject:
    return {key: words.finite(value) if isinstance(value, float) else value for key, value in asdict(item).items()}
