"""Advice on what would decide an answer, followed in simulated runs over links that lose packets at random."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import synthetic
from numpy.typing import NDArray

from sixbench.analysis import analyse
from sixbench.model.evidence.losses import Losses, LostPlace
from sixbench.model.experiment import Blocks
from sixbench.model.finding import Finding
from sixbench.report import marks
from sixbench.stats import Pairs, compare_all
from sixbench.store import Run

pytestmark = pytest.mark.computes

TRIAL_S = 0.3
BETWEEN_LOSSES_S = 0.01
CHANGE = 0.85
"""The true goodput of the path over that of its baseline."""

LOST = LostPlace(where="on a", what="configured", datagrams=0, other_packets=5, side="emulated")
DROPPED = replace(LOST, side="egress")


def logs(generator: np.random.Generator, runs: int, blocks: int, trial_s: float) -> NDArray[np.float64]:
    """Logarithms of the goodput of trials, each the mean of the rates between two losses."""
    between = max(1, round(trial_s / BETWEEN_LOSSES_S))
    rates = generator.exponential(1e7, (runs, blocks, between))
    logarithms: NDArray[np.float64] = np.log(rates.mean(axis=2))
    return logarithms


def run_of(blocks: int, trial_s: float, place: LostPlace) -> Run:
    small_run = synthetic.small(blocks=blocks)
    generator = np.random.default_rng(2)
    trials = []
    for trial in small_run.trials:
        if trial.combination == "c0001":
            value = float(np.exp(logs(generator, 1, 1, trial_s)[0, 0])) * (CHANGE if trial.path == "ipv6" else 1.0)
            evidence = replace(trial.evidence, losses=Losses(located=(place,)))
            params = trial.params | {"duration_ns": int(trial_s * 1e9)}
            known = replace(trial, metrics={"goodput_bps": value}, status="ok", reasons=[])
            trials.append(replace(known, evidence=evidence, params=params))
    experiment = replace(small_run.manifest.experiment, blocks=Blocks(minimum=blocks, maximum=blocks))
    return synthetic.replace_run(replace(small_run, trials=trials), experiment=experiment).in_memory()


def hint(run: Run) -> tuple[Finding, str]:
    [finding] = [
        each_finding
        for each_finding in analyse(run).findings
        if each_finding.metric == "goodput" and each_finding.path == "ipv6"
    ]
    return finding, marks.hint(finding, run.trials).replace("\u00a0", " ")


def decided(blocks: int, trial_s: float) -> float:
    """The share of such runs that find the difference."""
    runs = 300
    generator = np.random.default_rng(5)
    path, base = (np.exp(logs(generator, runs, blocks, trial_s)) for _ in range(2))
    pairs = [
        Pairs(path=(CHANGE * these).tolist(), baseline=other.tolist()) for these, other in zip(path, base, strict=True)
    ]
    compared = compare_all(pairs, confidence=0.95, margin=0.01, estimator="biweight")
    return sum(comparison.direction == "lower" for comparison in compared) / runs


def test_both_pieces_of_advice_on_random_loss_decide_what_was_undecided() -> None:
    result, text = hint(run_of(6, TRIAL_S, LOST))
    assert result.mark in ("undecided", "too variable")
    advice = re.match(r"about (\d+) blocks or trials of ([\d.]+) s would tell ([\d.]+) %", text)
    assert advice, text
    blocks, trial_s = int(advice[1]), float(advice[2])
    assert decided(6, TRIAL_S) < 0.3
    assert decided(blocks, TRIAL_S) > 0.9
    assert decided(6, trial_s) > 0.9


def test_longer_trials_are_no_advice_where_links_lose_nothing_at_random() -> None:
    _, text = hint(run_of(6, TRIAL_S, DROPPED))
    assert "trials of" not in text
    assert "blocks would tell" in text


def test_longer_trials_are_no_advice_on_a_busy_machine() -> None:
    run = run_of(6, TRIAL_S, LOST)
    trials = [replace(trial, metrics=trial.metrics | {"cpu_other_cores": 1.9}) for trial in run.trials]
    _, text = hint(replace(run, trials=trials))
    assert "trials of" not in text


def test_trials_longer_than_a_minute_are_no_advice() -> None:
    _, text = hint(run_of(4, 40.0, LOST))
    assert "trials of" not in text
