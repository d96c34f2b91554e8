"""The experiment that is made from the registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import yaml

from ..mechanisms import MECHANISMS
from ..model.experiment import Blocks, Combination, Experiment
from ..model.topology import Topology
from ..plan.experiment_file import read_experiment
from ..plan.yaml_source import parse_yaml
from .metric import CalibratedMetric, Level

NAME = "calibrate"
FACTOR = "calibrated"
"""The level of a combination that says which metric of the registry it belongs to."""

NATIVE = {"ipv4": "native4", "ipv6": "native6"}
PATHS: dict[str, Any] = {**NATIVE, "6in4": {"6in4": ["h1", "h2"]}}

BLOCKS = 34
QUICK_BLOCKS = 5


def design(metrics: Iterable[CalibratedMetric], *, quick: bool, blocks: int | None, seed: int) -> Experiment:
    """One experiment with a combination for each truth of each metric.

    Args:
        blocks: trials of each truth over each path; None: `BLOCKS`, or `QUICK_BLOCKS`.
    """
    topologies: list[Topology] = []
    combinations: list[Combination] = []
    texts: list[str] = []
    whole: Experiment | None = None
    for metric in metrics:
        for level in metric.levels_of(quick):
            text, whole = _experiment(metric, level, level.tunnel_link or level.link, PATHS)
            texts.append(text)
            by_path: dict[str, int] = {}
            if level.tunnel_link is not None:
                text, native = _experiment(metric, level, level.link, NATIVE)
                texts.append(text)
                by_path = dict.fromkeys(NATIVE, len(topologies) + len(whole.topologies))
                whole = replace(whole, topologies=(*whole.topologies, *native.topologies))
            combinations.append(
                Combination(
                    name=f"c{len(combinations) + 1:04d}",
                    workload=whole.combinations[0].workload,
                    levels={FACTOR: metric.name, metric.column: level.truth},
                    topology=len(topologies),
                    topology_by_path=by_path,
                )
            )
            topologies.extend(whole.topologies)
    if whole is None:
        raise ValueError("an experiment needs a metric with a level")
    number = blocks or (QUICK_BLOCKS if quick else BLOCKS)
    return replace(
        whole,
        name=NAME,
        title="Calibration: links whose truth is known",
        description="Each link has a known rate, delay, loss or MTU. The values measured over it are compared with "
        "that.",
        file=NAME,
        text="---\n".join(texts),
        topologies=tuple(topologies),
        combinations=tuple(combinations),
        blocks=Blocks(minimum=number, maximum=number),
        seed=seed,
    )


def is_calibration(experiment: Experiment) -> bool:
    """True if `design` made it."""
    return all(FACTOR in combination.levels for combination in experiment.combinations)


def _experiment(
    metric: CalibratedMetric, level: Level, link: Mapping[str, Any], paths: Mapping[str, Any]
) -> tuple[str, Experiment]:
    """As a text, and read from it."""
    text = yaml.safe_dump(_document(metric, level, link, paths), sort_keys=False, default_flow_style=None)
    return text, read_experiment(parse_yaml(text, f"the truth {level.truth:g} of {metric.name}"), MECHANISMS)


def _document(
    metric: CalibratedMetric, level: Level, link: Mapping[str, Any], paths: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "experiment": metric.name,
        "topology": {
            "nodes": {"h1": "host", "r1": "router", "h2": "host"},
            "links": [
                {"endpoints": ["h1", "r1"], **level.first_link},
                {"endpoints": ["r1", "h2"], **link},
            ],
        },
        "paths": dict(paths),
        "workloads": [{name: dict(params)} for name, params in level.workload.items()],
    }
