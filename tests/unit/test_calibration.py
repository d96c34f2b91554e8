"""Readings that become a calibration; the registry that makes an experiment; the file that is kept."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import small

from sixbench.calibration.assessment import assess
from sixbench.calibration.design import FACTOR, PATHS, design, is_calibration
from sixbench.calibration.metric import (
    CalibratedMetric,
    CountReading,
    DeviationReading,
    Level,
    MatchReading,
    ReadingSource,
    UncertaintyLimit,
)
from sixbench.calibration.metrics import METRICS
from sixbench.calibration.metrics.fragments import fragments_of
from sixbench.calibration.metrics.lists import COUNT, LATE_BY, LISTED, LISTS, lists
from sixbench.calibration.readings import Readings
from sixbench.model.calibration import Calibrated, Calibration, ComparisonErrors
from sixbench.model.errors import StoreError
from sixbench.store import calibration_to_json, keep_calibration, keep_false_alarms, machine_name, read_calibration
from sixbench.store.calibration_file import calibration_path

pytestmark = pytest.mark.computes

METRIC = CalibratedMetric(
    name="made-up",
    label="Made up",
    column="link_rate_bps",
    workload="udp-stream",
    metrics=("goodput",),
    levels=tuple(Level(truth=truth, link={}, workload={}) for truth in (10.0, 100.0, 1000.0)),
    scale="relative",
    limit=UncertaintyLimit(relative=0.01),
    read=lambda trial: None,
    note="",
)


def _readings(make, blocks=30, metric=METRIC, unusable=0):
    readings = []
    for level in metric.levels:
        actual_readings = Readings(metric=metric, level=level, path="ipv4")
        actual_readings.by_block = {block: make(level.truth, block) for block in range(1, blocks + 1)}
        actual_readings.unusable.update({"too busy": unusable} if unusable else {})
        readings.append(actual_readings)
    return readings


def is_unbiased(over):
    """True if the interval of every bias has zero in it."""
    return all(at_truth.bias is None or at_truth.bias.has_zero for at_truth in over.at)


def test_a_bias_within_the_noise_is_none_and_its_intervals_cover():
    rng = random.Random(1)
    (over,) = assess(
        _readings(lambda truth, _: DeviationReading(measured=truth * (1 + rng.gauss(0, 1e-3)), truth=truth))
    )
    assert is_unbiased(over)
    assert over.bias.has_zero
    assert 0.9 <= over.coverage.value <= 0.99
    assert (over.summary.low, over.summary.high) == (10.0, 1000.0)
    assert over.summary.uncertainty == pytest.approx(2.0e-3, rel=0.3)


def test_a_bias_is_found_and_does_not_hide_in_the_intervals_of_trials():
    rng = random.Random(2)
    (over,) = assess(
        _readings(lambda truth, _: DeviationReading(measured=truth * (1.005 + rng.gauss(0, 1e-3)), truth=truth))
    )
    assert not is_unbiased(over)
    assert over.bias.low > 0.004
    assert over.coverage.value > 0.9, "an interval is about the value less the bias"


def test_a_truth_that_is_measured_badly_ends_the_range():
    rng = random.Random(3)
    spread = {10.0: 1e-3, 100.0: 1e-3, 1000.0: 1e-1}
    (over,) = assess(
        _readings(lambda truth, _: DeviationReading(measured=truth * (1 + rng.gauss(0, spread[truth])), truth=truth))
    )
    assert [at_truth.is_trusted for at_truth in over.at] == [True, True, False]
    assert over.summary.high == 100.0


def test_a_truth_of_which_many_trials_are_not_valid_is_not_trusted():
    good = _readings(lambda truth, _: DeviationReading(measured=truth, truth=truth), unusable=10)
    (over,) = assess(good)
    assert over.summary is None
    assert over.unusable == 30


def test_counts_are_judged_by_the_binomial_interval_of_each_trial():
    rng = random.Random(4)
    metric = replace(METRIC, scale="absolute", limit=None)

    def count(_, block):
        return CountReading(number=sum(rng.random() < 0.02 for _ in range(2000)), of=2000, probability=0.02)

    (over,) = assess(_readings(count, metric=metric))
    assert is_unbiased(over)
    assert 0.88 <= over.coverage.value <= 1.0
    assert over.coverage.low <= 0.95 <= over.coverage.high


def test_one_loss_too_many_in_every_trial_is_a_bias():
    metric = replace(METRIC, scale="absolute", limit=None)
    (over,) = assess(_readings(lambda *_: CountReading(number=55, of=2000, probability=0.02), metric=metric))
    assert not is_unbiased(over)
    assert over.summary is None


def test_what_has_to_be_exact_is_not_trusted_after_one_difference():
    metric = replace(METRIC, limit=None)

    def match(truth, block):
        return MatchReading(measured=truth, difference="one off" if (truth, block) == (100.0, 7) else None)

    (over,) = assess(_readings(match, metric=metric))
    assert [at_truth.covered for at_truth in over.at] == [30, 29, 30]
    assert over.coverage.value == pytest.approx(89 / 90)
    assert [at_truth.is_trusted for at_truth in over.at] == [True, False, True]


@pytest.mark.parametrize("quick", [False, True])
def test_the_registry_makes_an_experiment(quick):
    experiment = design(METRICS, quick=quick, blocks=None, seed=1)
    assert is_calibration(experiment)
    assert {path.name for path in experiment.paths} == PATHS.keys()
    by_metric = {metric.name: metric for metric in METRICS}
    names = {name: set() for name in by_metric}
    for combination in experiment.combinations:
        metric = by_metric[combination.levels[FACTOR]]
        names[metric.name].add(combination.levels[metric.column])
        assert combination.workload.kind == metric.workload
    for metric in METRICS:
        assert names[metric.name] == {level.truth for level in metric.levels_of(quick)}
        truths = [level.truth for level in metric.levels if not level.is_reference]
        assert truths == sorted(set(truths))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_full_calibration_has_at_least_200_trials_of_each_metric_and_path(metric):
    experiment = design([metric], quick=False, blocks=None, seed=1)
    truths = sum(not level.is_reference for level in metric.levels)
    assert truths * experiment.blocks.maximum >= 200


CALIBRATION = Calibration(
    machine=machine_name(),
    kernel="6.1.0/odd name",
    realtime_ns=10**18,
    quick=False,
    ranges=(
        Calibrated(
            metric="tcp-goodput",
            label="Goodput, TCP",
            path="ipv4",
            workload="tcp-stream",
            vouches=("goodput",),
            column="link_rate_bps",
            low=1e6,
            high=1e9,
            uncertainty=2e-4,
            scale="relative",
        ),
    ),
)


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_what_is_kept_is_found_again_by_machine_and_kernel(state):
    path = keep_calibration(calibration_to_json(CALIBRATION, []), CALIBRATION.machine, CALIBRATION.kernel)
    assert path.is_relative_to(state)
    assert read_calibration(CALIBRATION.machine, CALIBRATION.kernel) == CALIBRATION
    assert read_calibration(CALIBRATION.machine, "6.2.0") is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "this version cannot read the calibration"),
        (b"{}", "its schema is not sixbench.calibration/1"),
        (b"[" * 100_000, "this version cannot read the calibration"),
        (b'{"schema": "sixbench.calibration/2"}', "its schema is not sixbench.calibration/1"),
        (b'{"schema": "sixbench.calibration/1", "machine": 1}', "this version cannot read the calibration"),
    ],
)
def test_a_file_that_is_none_is_said_to_be_in_one_sentence(state, content, words):
    path = calibration_path(CALIBRATION.machine, CALIBRATION.kernel)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=words) as raised:
        read_calibration(CALIBRATION.machine, CALIBRATION.kernel)
    assert "\n" not in str(raised.value)
    assert "sixbench calibrate" in str(raised.value)


def test_a_file_of_another_machine_is_not_taken(state):
    other = replace(CALIBRATION, machine="another")
    keep_calibration(calibration_to_json(other, []), CALIBRATION.machine, CALIBRATION.kernel)
    with pytest.raises(StoreError, match="belongs to another machine or kernel"):
        read_calibration(CALIBRATION.machine, CALIBRATION.kernel)


def test_false_alarms_are_put_into_the_calibration_that_is_there_unless_they_are_older(state):
    alarms = ComparisonErrors(realtime_ns=20, comparisons=200, false=3, changed=50, found=50, change=-0.03)
    path = keep_calibration(calibration_to_json(CALIBRATION, ["details"]), CALIBRATION.machine, CALIBRATION.kernel)
    for item in (alarms, replace(alarms, realtime_ns=10, comparisons=1)):
        assert keep_false_alarms(item, CALIBRATION.machine, CALIBRATION.kernel) == path
        assert read_calibration(CALIBRATION.machine, CALIBRATION.kernel) == replace(CALIBRATION, false_alarms=alarms)
    assert json.loads(path.read_text())["results"] == ["details"]


@pytest.mark.parametrize("content", [None, b"garbage"])
def test_false_alarms_alone_are_a_calibration_without_ranges(state, content):
    alarms = ComparisonErrors(realtime_ns=20, comparisons=200, false=3, changed=50, found=50, change=-0.03)
    if content is not None:
        path = calibration_path(CALIBRATION.machine, CALIBRATION.kernel)
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    keep_false_alarms(alarms, CALIBRATION.machine, CALIBRATION.kernel)
    kept = read_calibration(CALIBRATION.machine, CALIBRATION.kernel)
    assert kept is not None
    assert (kept.ranges, kept.false_alarms) == ((), alarms)


def test_without_a_machine_id_the_name_of_the_host_stands_for_it(monkeypatch):
    monkeypatch.setattr("sixbench.store.calibration_file._MACHINE_ID", Path("/nonexistent"))
    monkeypatch.setattr("platform.node", lambda: "one")
    host_name = machine_name()
    monkeypatch.setattr("platform.node", lambda: "two")
    assert host_name != machine_name()
    assert json.dumps(host_name) == f'"{host_name}"'


def test_lists_are_the_same_every_time_and_do_not_meet():
    for number in range(1, LISTS + 1):
        actual_lists = lists(number)
        assert actual_lists == lists(number)
        listed = [*actual_lists.dropped, *actual_lists.duplicated, *actual_lists.reordered]
        assert len(listed) == len(set(listed))
        assert {0, COUNT - 1} <= set(actual_lists.dropped), "losses at the ends are the hard ones"
        for late in actual_lists.reordered:
            assert not set(range(late + 1, late + 1 + LATE_BY)) & set(listed)


@pytest.mark.parametrize(
    ("mtu", "family", "fragments"),
    [
        (9200, 4, 1),
        (9200, 6, 1),
        (9000, 4, 1),  # 8972 + 8 + 20
        (9000, 6, 2),
        (1500, 4, 7),  # 8980 / 1480
        (1500, 6, 7),  # 8980 / 1448
        (1300, 4, 8),  # 1280 of each 1300
        (1280, 6, 8),  # 1232
    ],
)
def test_a_datagram_is_in_so_many_fragments(mtu, family, fragments):
    assert fragments_of(mtu, family) == fragments


@pytest.mark.parametrize("ranges", [[[0, 2**64 - 1]], [[5, 3]], [], [[0, 0], [0, 0]]])
def test_ranges_of_any_size_are_held_against_a_list(ranges: list[list[int]]) -> None:
    """A calibration that is resumed may have records of anybody's."""
    fields = {"ranges": ranges, "omitted": 0}
    record = replace(small().trials[0], server={"sequences": dict.fromkeys(("lost", "duplicate", "reordered"), fields)})
    match = LISTED.read(ReadingSource(level=LISTED.levels[0], record=record, reference=None, directory=Path()))
    assert match is not None
    assert "not found" in str(match.difference)
