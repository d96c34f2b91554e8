"""Runs of `http` that keep the times of a page's objects."""

from __future__ import annotations

from typing import Any

from stored import bare_record

from sixbench.model.experiment import Experiment
from sixbench.model.trial import TrialRecord

TEXT = """
topology: {nodes: {h1: host, r1: router, h2: host}, links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]}
between: [h1, h2]
paths: {nat64: {nat64: [r1]}, ipv4: native4, ipv6: native6}
workloads: [{http: {version: [1.1, 2], objects: 3, count: 1}}]
"""
MS = 10**6


def page_times(begin_ms: int) -> dict[str, list[int]]:
    """The times of a page whose first object begins then."""
    begun_ns = [begin_ms * MS, 30 * MS, 30 * MS]
    return {
        "begun_ns": begun_ns,
        "first_byte_ns": [time_ns + 10 * MS for time_ns in begun_ns],
        "ended_ns": [time_ns + 15 * MS for time_ns in begun_ns],
    }


def page_trials(experiment: Experiment, **changes: Any) -> list[TrialRecord]:
    """Three trials of each path and version, whose pages begin later in each block."""
    return [
        bare_record(
            "http",
            key=f"b00{block}-{combination.name}-{path.name}",
            block=block,
            combination=combination.name,
            path=path.name,
            mechanism=path.mechanism,
            params=dict(combination.workload.params),
            levels=dict(combination.levels),
            metrics={"page_p50_ns": 50.0 * MS + block},
            **{"client": {"last_page": page_times(block)}, **changes},
        )
        for block in (3, 1, 2)
        for combination in experiment.combinations
        for path in experiment.paths
    ]
