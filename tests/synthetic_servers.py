"""Runs that compare IPv6 with IPv4 towards many servers, whose true changes are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import synthetic

from sixbench.model.experiment import Statistics
from sixbench.model.parameter import Scalar

FACTOR = "server"


def towards(
    changes: Sequence[float], *, blocks: int = 10, scatter: float = 0.03, seed: int = 1, margin: float = 0.05
) -> synthetic.Synthetic:
    """A run of connections towards as many servers as there are changes, pooled over the servers.

    Args:
        changes: the true change of each server, as a share: 0.15 is 15 % slower over IPv6.
        scatter: standard deviation of the log ratios of pairs.
    """
    names: list[Scalar] = [f"server{number:02d}.example" for number in range(1, len(changes) + 1)]
    workloads: list[tuple[str, dict[str, list[Scalar]]]] = [("tcp-connect", {FACTOR: names})]
    chosen = synthetic.experiment(synthetic.NATIVE[::2], workloads, blocks=blocks, name="servers")
    statistics = Statistics(margin=margin, pool=FACTOR)
    run = synthetic.build(replace(chosen, statistics=statistics), blocks)
    generator = np.random.default_rng(seed)
    true = dict(zip(names, changes, strict=True))
    trials = []
    for trial in run.trials:
        base = 20e6 * (1 + names.index(trial.levels[FACTOR]) / 10)
        change = math.log1p(true[trial.levels[FACTOR]]) if trial.path == "ipv6" else 0.0
        value = base * math.exp(change + generator.normal(0, scatter / math.sqrt(2)))
        trials.append(replace(trial, metrics={"connect_p50_ns": value, "connect_p99_ns": 1.2 * value}, theory={}))
    return replace(synthetic.replace_run(run, run="servers"), trials=trials)
