"""When a combination has been measured often enough."""

from __future__ import annotations

import pytest
from synthetic_trials import combination_of, experiment_of, trials_of

from sixbench.analysis.stopping import rules_met
from sixbench.model.experiment import Blocks, Experiment
from sixbench.model.path import Path
from sixbench.model.trial import TrialRecord

pytestmark = pytest.mark.computes

COMBINATION = combination_of("c1")
STEADY = [100.0, 100.1, 99.9, 100.2, 99.8]
SHAKY = [100.0, 130.0, 80.0, 110.0, 95.0]


def _experiment(*, paths: int = 2, minimum: int = 3, maximum: int = 10, **rules: float) -> Experiment:
    present = [Path(name=name, mechanism="native4", family=4) for name in ("base", "one", "two")[:paths]]
    return experiment_of(present, [COMBINATION], Blocks(minimum=minimum, maximum=maximum, **rules))


def _trials(combination: str = "c1", **values: list[float | None]) -> list[TrialRecord]:
    return trials_of(combination, values)


def _stops(experiment: Experiment, **values: list[float | None]) -> bool:
    return bool(rules_met(experiment, COMBINATION, _trials(**values)))


def test_nothing_stops_before_the_minimum() -> None:
    assert not _stops(_experiment(minimum=5, precision=0.5), base=[100.0] * 4, one=[100.0] * 4)
    assert not rules_met(_experiment(precision=0.5), COMBINATION, [])


def test_everything_stops_at_the_maximum() -> None:
    assert _stops(_experiment(maximum=5, precision=0.0001), base=[*STEADY], one=[*SHAKY])


def test_without_a_rule_only_the_maximum_stops() -> None:
    assert not _stops(_experiment(maximum=6), base=[100.0] * 5, one=[100.0] * 5)
    assert _stops(_experiment(maximum=6), base=[100.0] * 6, one=[100.0] * 6)


def test_precision_of_the_ratio_stops() -> None:
    experiment = _experiment(precision=0.02)
    assert _stops(experiment, base=[*STEADY], one=[*STEADY[::-1]])
    assert not _stops(experiment, base=[*STEADY], one=[*SHAKY])


def test_what_blocks_do_to_both_paths_does_not_hinder_precision() -> None:
    assert _stops(_experiment(precision=0.001), base=[*SHAKY], one=[value * 1.2 for value in SHAKY])


def test_every_path_has_to_be_precise() -> None:
    experiment = _experiment(paths=3, precision=0.02)
    assert not _stops(experiment, base=[*STEADY], one=[*STEADY], two=[*SHAKY])


def test_a_difference_that_is_certain_but_imprecise_does_not_stop() -> None:
    assert not _stops(_experiment(precision=0.01), base=[*STEADY], one=[value * 10 for value in SHAKY])


def test_deviation_of_every_path_stops() -> None:
    experiment = _experiment(deviation=0.01)
    assert _stops(experiment, base=[*STEADY], one=[value * 3 for value in STEADY])
    assert not _stops(experiment, base=[*SHAKY], one=[value * 3 for value in SHAKY])


def test_both_rules_have_to_hold() -> None:
    experiment = _experiment(precision=0.02, deviation=0.01)
    assert _stops(experiment, base=[*STEADY], one=[*STEADY])
    assert not _stops(experiment, base=[*SHAKY], one=[*SHAKY])


def test_failed_trials_make_a_block_executed_but_not_precise() -> None:
    experiment = _experiment(minimum=3, maximum=5, precision=0.02)
    assert not _stops(experiment, base=[100.0] * 3, one=[100.0, None, None])
    assert _stops(experiment, base=[100.0] * 5, one=[100.0, None, None, None, None])


def test_a_path_that_never_works_does_not_hold_up_the_others() -> None:
    experiment = _experiment(paths=3, precision=0.02)
    assert _stops(experiment, base=[*STEADY], one=[*STEADY], two=[None] * 5)
    assert not _stops(experiment, base=[*STEADY], one=[*SHAKY], two=[None] * 5)
    assert _stops(experiment, base=[None] * 5, one=[None] * 5, two=[None] * 5)


@pytest.mark.parametrize("values", [{"base": STEADY}, {"base": [None] * 5, "one": STEADY}])
def test_with_nothing_to_compare_the_mean_has_to_be_precise(values: dict[str, list[float | None]]) -> None:
    assert _stops(_experiment(precision=0.02), **values)
    shaky = {path: [*SHAKY] if of_path is STEADY else of_path for path, of_path in values.items()}
    assert not _stops(_experiment(precision=0.02), **shaky)


def test_zeros_are_precise_only_if_there_is_nothing_else() -> None:
    experiment = _experiment(precision=0.02)
    assert _stops(experiment, base=[0.0] * 5, one=[0.0] * 5)
    assert not _stops(experiment, base=[0.0] * 5, one=[*SHAKY])


def test_trials_of_other_combinations_do_not_count() -> None:
    trials = _trials("c1", base=[100.0] * 2, one=[100.0] * 2) + _trials("c2", base=[100.0] * 9, one=[100.0] * 9)
    assert not rules_met(_experiment(precision=0.02), COMBINATION, trials)
