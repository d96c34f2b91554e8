"""Blocks that go on until answers are decided: what ends a combination, and what its findings are worth then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import synthetic
from synthetic_trials import combination_of, experiment_of, trials_of

from sixbench.analysis.findings import findings
from sixbench.analysis.looks import expected_blocks, looks_so_far, schedule
from sixbench.analysis.stopping import rules_met
from sixbench.model.experiment import Blocks, Experiment
from sixbench.model.path import Path
from sixbench.model.trial import TrialRecord
from sixbench.stats import Pairs, compare_all
from sixbench.store import Manifest, Run, RunState

pytestmark = pytest.mark.computes

COMBINATIONS = (combination_of("c1"), combination_of("c2"))


def _experiment(*, has_aa: bool = False, combinations: int = 1, minimum: int = 5, maximum: int = 60) -> Experiment:
    paths = [Path(name="base", mechanism="native4", family=4), Path(name="one", mechanism="native6", family=6)]
    again = [Path(name="base-aa", mechanism="native4", family=4, aa_of="base")] if has_aa else []
    blocks = Blocks(minimum=minimum, maximum=maximum, until="decided")
    return experiment_of([*paths, *again], COMBINATIONS[:combinations], blocks)


def _trials(combination: str = "c1", **values: list[float]) -> list[TrialRecord]:
    return trials_of(combination, {path.replace("_", "-"): of_path for path, of_path in values.items()})


def _run(experiment: Experiment, trials: list[TrialRecord], state: RunState = "complete") -> Run:
    manifest = Manifest(
        run="made-up",
        experiment=experiment,
        environment=synthetic.environment(),
        state=state,
        started_realtime_ns=synthetic.STARTED_NS,
    )
    small = synthetic.small().in_memory()
    return replace(small, manifest=manifest, trials=trials)


def _noise(n: int, ratio: float = 1.0, scatter: float = 0.03, seed: int = 1) -> dict[str, list[float]]:
    generator = np.random.default_rng(seed)
    return {
        "base": (100 * np.exp(generator.normal(0, scatter / 2, n))).tolist(),
        "one": (100 * ratio * np.exp(generator.normal(0, scatter / 2, n))).tolist(),
    }


def test_a_combination_is_looked_at_each_time_it_has_a_quarter_more_blocks() -> None:
    assert schedule(Blocks(minimum=5, maximum=60)) == (5, 6, 8, 10, 12, 15, 19, 24, 30, 38, 48, 60)
    assert schedule(Blocks(minimum=7, maximum=7)) == (7,)


@pytest.mark.parametrize(("ratio", "scatter"), [(0.9, 0.001), (1.1, 0.001), (1.0, 0.001)])
def test_a_difference_and_an_equivalence_end_a_combination(ratio: float, scatter: float) -> None:
    experiment = _experiment()
    assert rules_met(experiment, COMBINATIONS[0], _trials(**_noise(5, ratio, scatter)))


def test_what_is_open_goes_on_to_the_maximum() -> None:
    experiment = _experiment(maximum=12)
    assert not rules_met(experiment, COMBINATIONS[0], _trials(**_noise(10, 1.005)))
    assert rules_met(experiment, COMBINATIONS[0], _trials(**_noise(12, 1.005)))


def test_nothing_ends_between_two_looks() -> None:
    certain = {number: _trials(**_noise(number, 0.5, 0.001)) for number in (4, 6, 7, 8)}
    stops = {n: bool(rules_met(_experiment(), COMBINATIONS[0], trials)) for n, trials in certain.items()}
    assert stops == {4: False, 6: True, 7: False, 8: True}


def test_a_difference_that_the_baseline_has_from_itself_decides_nothing() -> None:
    values = _noise(8, 0.97, 0.001)
    again = [100 * (0.9 if block % 2 else 1.1) for block in range(8)]
    assert rules_met(_experiment(has_aa=True), COMBINATIONS[0], _trials(**values, base_aa=values["base"]))
    assert not rules_met(_experiment(has_aa=True), COMBINATIONS[0], _trials(**values, base_aa=again))


def test_the_more_comparisons_there_are_the_surer_one_has_to_be() -> None:
    values = _noise(8, 0.95, 0.025, seed=4)
    many = replace(_experiment(), combinations=COMBINATIONS[:1] * 500)
    assert rules_met(_experiment(), COMBINATIONS[0], _trials(**values))
    assert not rules_met(many, COMBINATIONS[0], _trials(**values))


def test_a_path_without_a_valid_trial_does_not_hold_up_the_others() -> None:
    experiment = _experiment(has_aa=True)
    assert rules_met(experiment, COMBINATIONS[0], _trials(**_noise(8, 0.9, 0.001)))
    assert rules_met(experiment, COMBINATIONS[0], _trials(base=[100.0] * 8))


def test_what_ended_a_combination_is_a_finding_and_its_interval_allows_for_the_looks() -> None:
    values = _noise(8, 0.95, 0.025, seed=4)
    trials = _trials(**values)
    experiment = _experiment()
    assert rules_met(experiment, COMBINATIONS[0], trials)
    [sequential] = findings(_run(experiment, trials))
    [fixed] = findings(_run(replace(experiment, blocks=Blocks(minimum=8, maximum=8)), trials))
    assert (sequential.verdict, sequential.looks, fixed.looks) == ("lower", 3, None)
    assert sequential.ratio == fixed.ratio
    assert sequential.ci_high is not None
    assert fixed.ci_high is not None
    assert sequential.ci_low is not None
    assert sequential.ci_high > fixed.ci_high
    assert sequential.p_value is not None
    assert fixed.p_value is not None
    assert sequential.p_value > 5 * fixed.p_value


def test_a_combination_that_the_time_ended_spends_what_is_left_of_the_error() -> None:
    trials = _trials(**_noise(11, 1.005))
    [over] = findings(_run(_experiment(), trials))
    [so_far] = findings(_run(_experiment(), trials, state="interrupted"))
    assert over.ci_low is not None
    assert so_far.ci_low is not None
    assert over.ci_low > so_far.ci_low
    assert looks_so_far(Blocks(minimum=5, maximum=60), 11, is_over=True).level(0.05) > 0.045


def test_the_expected_blocks_grow_with_the_scatter() -> None:
    experiment = _experiment(maximum=10_000)
    few, many = (
        expected_blocks(experiment, COMBINATIONS[0], _trials(**_noise(5, 1.03, scatter))) for scatter in (0.02, 0.08)
    )
    assert 5 <= few < many <= 10_000
    assert expected_blocks(experiment, COMBINATIONS[0], _trials(**_noise(5, 0.9, 0.001))) == 0


@pytest.mark.parametrize("wild", [False, True])
def test_equal_paths_seldom_differ_at_any_look(wild: bool) -> None:
    """The chance of a false difference at any of all looks is at most 5 %."""
    runs, generator = 1000, np.random.default_rng(3)
    logs = generator.normal(0, 0.03, (runs, 60))
    if wild:
        wild_logs = generator.choice([-1, 1], logs.shape) * np.log(generator.uniform(2, 20, logs.shape))
        logs += np.where(generator.random(logs.shape) < 0.2, wild_logs, 0.0)
    different = np.zeros(runs, dtype=bool)
    blocks = Blocks(minimum=5, maximum=60)
    for number in schedule(blocks):
        looks = looks_so_far(blocks, number)
        pairs = [Pairs(path=row, baseline=[1.0] * number) for row in np.exp(logs[:, :number]).tolist()]
        compared = compare_all(pairs, confidence=1 - looks.level(0.05), margin=0.01, estimator="biweight")
        is_false_alarm = [
            comparison.direction is not None
            and comparison.p_value is not None
            and looks.adjusted(comparison.p_value) < 0.05
            for comparison in compared
        ]
        different |= np.array(is_false_alarm)
    assert different.mean() <= 0.05 + 3.3 * (0.05 * 0.95 / runs) ** 0.5
