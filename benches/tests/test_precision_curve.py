"""Verdicts of windows: which are right, which are false alarms, and how wide their intervals are."""

from __future__ import annotations

import random
from dataclasses import replace
from inspect import signature
from pathlib import Path

import pytest
from precision import careful, ours
from precision.curve import Answer, Truth, known_ratio, mean_and_t, points
from precision.differences import DELAY, HEADER, HOP, PLAIN, RATE, Differences
from synthetic import SECOND_NS, environment
from synthetic_trials import trial_of

from sixbench.model.experiment import Blocks, PlannedTrial
from sixbench.model.observer import Observer
from sixbench.model.trial import TrialRecord
from sixbench.store import Manifest, Run

pytestmark = pytest.mark.computes

SPAN_NS = SECOND_NS // 2


def imagined(differences: Differences, changes: dict[str, float], noise: float, blocks: int = 20) -> Run:
    """A run of trials of half a second: these changes, by path, with noise of its own for each trial."""
    dice = random.Random(1)
    experiment = replace(differences.experiment(), blocks=Blocks(minimum=blocks, maximum=blocks))
    [combination] = experiment.combinations
    column = "goodput_bps" if combination.workload.kind == "tcp-stream" else "rtt_p50_ns"
    trials: list[TrialRecord] = []
    for block in range(1, blocks + 1):
        for path in experiment.paths:
            value = 1e6 * changes.get(path.name, 1.0)
            trials.append(
                trial_of(
                    "c0001",
                    path.name,
                    block,
                    {column: value * (1 + dice.gauss(0, noise))},
                    sequence=len(trials) + 1,
                    mechanism=path.mechanism,
                    workload=combination.workload.kind,
                    params=combination.workload.params,
                    levels=combination.levels,
                    started_realtime_ns=len(trials) * SPAN_NS,
                    elapsed_ns=SPAN_NS,
                    theory={column: value},
                )
            )
    manifest = Manifest(
        run="r", experiment=experiment, environment=environment(), state="interrupted", started_realtime_ns=0
    )
    return Run(directory=Path("none"), manifest=manifest, trials=trials)


RATES = {"rate-0": 1.0, "rate-1": 0.99, "rate-3": 0.97, "rate-10": 0.9}


def test_differences_far_beyond_the_noise_are_found_in_every_window() -> None:
    summary = ours.summary(RATE, imagined(RATE, RATES, noise=1e-4))
    for name in ("1 % of rate", "3 % of rate", "10 % of rate"):
        for point in summary["differences"][name]["points"]:
            assert point["excluding"] == point["declared"] == point["windows"]
            assert point["half_width"] < 0.001


def test_a_pair_takes_what_its_own_two_trials_take_and_a_block_is_not_charged_to_it() -> None:
    summary = ours.summary(RATE, imagined(RATE, RATES, noise=1e-4))
    assert summary["trial_s"] == 0.5
    difference = summary["differences"]["1 % of rate"]
    assert difference["pair_s"] == pytest.approx(1.0)
    assert [(point["seconds"], point["pairs"], point["windows"], point["apart"]) for point in difference["points"]] == [
        (6.0, 6, 15, 3),
        (15.0, 15, 6, 1),
    ]


def test_more_noise_than_difference_is_undecided_and_longer_windows_are_narrower() -> None:
    [six, fifteen] = ours.summary(RATE, imagined(RATE, RATES, noise=0.1))["differences"]["1 % of rate"]["points"]
    assert six["right"] < six["windows"] / 2
    assert fifteen["half_width"] < six["half_width"]


def test_the_truth_of_a_delay_is_its_share_of_the_plain_round_trip() -> None:
    differences = ours.summary(DELAY, imagined(DELAY, {"delay-50": 1.05}, noise=1e-4))["differences"]
    assert differences["0 us of delay"]["truth"] == 1
    assert differences["50 us of delay"]["truth"] == pytest.approx(1.05, rel=1e-4)


def test_the_truth_of_a_header_is_theory_and_that_of_a_hop_is_a_direction() -> None:
    header = ours.summary(HEADER, imagined(HEADER, {"header": 0.986}, noise=1e-4))["differences"]
    assert header["one more header (6in4)"]["truth"] == pytest.approx(0.986)
    hop = ours.summary(HOP, imagined(HOP, {"hop": 1.2}, noise=1e-3))["differences"]["one more router"]
    assert (hop["truth"], hop["direction"]) == (None, "higher")
    assert all(point["right"] == point["windows"] for point in hop["points"])


def test_a_hop_that_seems_to_save_time_contradicts_what_is_known() -> None:
    hop = ours.summary(HOP, imagined(HOP, {"hop": 0.8}, noise=1e-3))["differences"]["one more router"]
    assert all(point["right"] == 0 and point["contradicting"] == point["windows"] for point in hop["points"])


def test_invalid_trials_are_in_no_window() -> None:
    run = imagined(RATE, RATES, noise=1e-4)
    trials = [
        replace(trial, status="invalid", metrics={"goodput_bps": 1.0}) if trial.block % 2 else trial
        for trial in run.trials
    ]
    summary = ours.summary(RATE, replace(run, trials=trials))
    assert (summary["trials"], summary["valid"]) == (100, 50)
    assert summary["differences"]["10 % of rate"]["ratio"] == pytest.approx(0.9, rel=1e-3)


def test_false_alarms_come_at_the_rate_that_was_agreed() -> None:
    dice = random.Random(7)

    def answer(_: range) -> Answer | None:
        plain, changed = ([dice.gauss(100, 1) for _ in range(6)] for _ in range(2))
        return mean_and_t(plain, changed)

    [point] = points(2005, 1.0, known_ratio(1.0), answer, seconds=(6.0,))
    assert point["windows"] == 2000
    assert 0.035 < point["excluding"] / point["windows"] < 0.065
    assert point["right"] == point["windows"] - point["excluding"]


@pytest.mark.parametrize(
    ("truth", "low", "high", "right"),
    [
        (known_ratio(1.0), 0.99, 1.01, True),
        (known_ratio(1.0), 1.001, 1.01, False),
        (known_ratio(0.97), 0.96, 0.98, True),
        (known_ratio(0.97), 0.96, 1.01, False),
        (known_ratio(0.97), 0.98, 0.99, False),
        (Truth(ratio=None, direction="higher"), 1.01, 1.5, True),
        (Truth(ratio=None, direction="higher"), 0.5, 0.9, False),
        (Truth(ratio=None, direction="higher"), 0.9, 1.5, False),
    ],
)
def test_right_contains_the_truth_and_excludes_none_where_there_is_a_difference(
    truth: Truth, low: float, high: float, right: bool
) -> None:
    assert Answer(ratio=1, low=low, high=high, is_declared=False).is_right(truth) is right


def test_windows_without_an_interval_are_not_right_and_have_no_width() -> None:
    [point] = points(8, 1.0, known_ratio(1.0), lambda _: None, seconds=(6.0,))
    assert (point["windows"], point["right"], point["half_width"]) == (3, 0, None)


def test_lengths_for_which_too_little_was_measured_are_left_out() -> None:
    assert points(5, 1.0, known_ratio(1.0), lambda _: None, seconds=(6.0, 60.0)) == []


def test_the_careful_user_takes_the_mean_of_the_differences_and_its_t_interval() -> None:
    # Differences of 1, 2 and 3 on a mean of 100: 2 plus and minus 4.303 x 1 / sqrt(3).
    interval = mean_and_t([99, 100, 101], [100, 102, 104])
    assert interval is not None
    assert interval.ratio == pytest.approx(1.02)
    assert (interval.low, interval.high) == (pytest.approx(1 - 0.00484, abs=1e-5), pytest.approx(1.04484, abs=1e-5))
    assert not interval.is_declared
    assert mean_and_t([100], [101]) is None


def test_measurements_that_failed_are_counted_and_take_their_pair_with_them() -> None:
    rounds = [{PLAIN: 16000.0 + index, "same": 16000.0, "hop": 17000.0 + 2 * index} for index in range(8)]
    del rounds[3]["hop"]
    measured = careful.Measurement(tool="sockperf 3.7", command="sockperf", rounds=rounds, took_s=24)
    summary = careful.summary(HOP, measured, {})
    assert (summary["rounds"], summary["failed"]) == (8, 1)
    assert summary["differences"]["one more router"]["pair_s"] == 2
    [point] = [point for point in summary["differences"]["one more router"]["points"] if point["seconds"] == 6]
    assert (point["pairs"], point["windows"], point["right"]) == (3, 5, 5)


def test_a_careful_user_reads_sockperfs_median_as_half_a_round_trip() -> None:
    median_round_trip = careful._median_round_trip("sockperf: ---> percentile 50.000 =    6.800\n", "")
    assert median_round_trip == {"value": 13600}


def test_the_time_ends_a_measurement_between_two_blocks() -> None:
    experiment = HOP.experiment()
    [combination] = experiment.combinations
    until = ours._Until(seconds=0)

    def begins(block: int, path: str) -> None:
        until.trial_begins(experiment, combination, PlannedTrial(block=block, combination="c0001", path=path))

    for block in range(1, ours.LEAST_BLOCKS + 1):
        begins(block, PLAIN)
        begins(block, "hop")
    with pytest.raises(ours._Enough):
        begins(ours.LEAST_BLOCKS + 1, PLAIN)


@pytest.mark.parametrize("name", ["progress", "trial_begins", "trial_ended"])
def test_the_measurement_can_be_told_all_that_a_run_tells(name: str) -> None:
    parameters = signature(getattr(Observer, name)).parameters
    signature(getattr(ours._Until, name)).bind(*parameters)
