"""Remarks on the machine's noise."""

from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic

from sixbench.analysis.noise import awake_remarks, load_remarks, noise_remarks, slowdown_remarks, steal_remarks
from sixbench.model.finding import Finding
from sixbench.model.trial import TrialRecord

pytestmark = pytest.mark.computes


def trials(*stolen_cores: float, column: str = "cpu_steal_cores") -> list[TrialRecord]:
    actual_trial = next(trial for trial in synthetic.small().trials if trial.status == "ok")
    return [replace(actual_trial, metrics={column: cores}) for cores in stolen_cores]


def test_a_hypervisor_that_took_much_is_told() -> None:
    [sentence] = steal_remarks([*trials(0.0, 0.4), *trials(1.0, column="cpu_busy_cores")])
    assert "took away 0.20 cores on average over 2 trials (at most 0.4)" in sentence


def test_one_tick_in_many_short_trials_is_no_remark() -> None:
    assert steal_remarks(trials(0.1, *[0.0] * 9)) == []
    assert steal_remarks([]) == []


def test_trials_that_do_not_count_say_nothing() -> None:
    assert steal_remarks([replace(trial, status="failed") for trial in trials(1.0)]) == []


def test_cores_that_were_often_slower_are_told() -> None:
    [sentence] = slowdown_remarks(trials(0.02, 0.31, 0.09, column="core_slowdown_ratio"))
    assert "by more than 10 % in 1 of 3 trials (at most by 31 %)" in sentence


def test_cores_that_were_slower_in_one_trial_of_many_are_no_remark() -> None:
    assert slowdown_remarks(trials(0.5, *[0.01] * 19, column="core_slowdown_ratio")) == []
    assert slowdown_remarks(trials(0.5)) == []
    assert slowdown_remarks([]) == []


def test_other_programs_are_told() -> None:
    [sentence] = load_remarks(trials(0.1, 1.3, column="cpu_other_cores"))
    assert "during 1 of 2 trials (at most 1.3)" in sentence


def test_trials_in_which_processors_could_sleep_are_counted() -> None:
    kept = [True] * 6 + [False] * 10 + [None] * 3
    changed = [replace(item, kept_awake=each) for item, each in zip(trials(*[0.0] * len(kept)), kept, strict=True)]
    [sentence] = awake_remarks(changed)
    assert sentence.startswith("Processors could sleep in 10 of 16 trials")
    assert awake_remarks(changed[:6]) == awake_remarks(changed[16:]) == awake_remarks([]) == []


def test_only_headline_metrics_within_the_noise_are_a_remark() -> None:
    within = Finding(
        workload="tcp-rr",
        metric="rtt_p50",
        unit="ns",
        levels={},
        combination="c0001",
        path="ipv6",
        baseline="ipv4",
        n=10,
        verdict="higher",
        direction="higher",
        ratio=1.02,
        ci_low=1.01,
        ci_high=1.03,
        noise_low=0.95,
        noise_high=1.05,
        headline=True,
    )
    experiment = synthetic.small().manifest.experiment
    [sentence] = noise_remarks([within], experiment)
    assert "1 difference is no larger than" in sentence
    assert noise_remarks([replace(within, headline=False)], experiment) == []
