"""Remarks of a calibration beside the findings of later runs."""

from dataclasses import replace

import pytest
import synthetic

from sixbench.analysis import analyse
from sixbench.model.calibration import Calibrated, Calibration, ComparisonErrors
from sixbench.report import calibrated, json, terminal
from sixbench.store.manifest_json import manifest_from_json, manifest_to_json

pytestmark = pytest.mark.computes

GOODPUT = Calibrated(
    metric="tcp-goodput",
    label="Goodput, TCP",
    path="ipv4",
    workload="tcp-stream",
    vouches=("goodput",),
    column="link_rate_bps",
    low=1e6,
    high=1e9,
    least=0.94e6,
    greatest=0.94e9,
    uncertainty=2e-4,
    scale="relative",
)
LOSS = replace(
    GOODPUT,
    metric="loss",
    label="Loss",
    workload="udp-stream",
    vouches=("loss_ratio",),
    column="link_loss_ratio",
    low=1e-4,
    high=0.1,
    least=1e-4,
    greatest=0.1,
    uncertainty=None,
    scale="absolute",
)
CALIBRATION = Calibration(
    machine="m",
    kernel="6.1",
    realtime_ns=1_700_000_000 * 10**9,
    quick=False,
    ranges=(GOODPUT, replace(GOODPUT, path="ipv6", high=3e8, greatest=2.8e8, uncertainty=5e-4), LOSS),
)


@pytest.fixture
def small():
    return synthetic.small().in_memory()


def _with(run, calibration):
    return replace(run, manifest=replace(run.manifest, calibration=calibration))


def test_without_a_calibration_there_is_one_plain_line(small):
    render = terminal.render(small, analyse(small))
    assert " ".join(render.split()).count(calibrated.NONE) == 1
    assert json.document(small, analyse(small))["calibration"] is None


def test_the_range_is_what_all_paths_have_in_common(small):
    run = _with(small, CALIBRATION)
    sentence = calibrated.sentence(run, analyse(run))
    assert "Calibrated on 2023-11-14: " in sentence
    assert "Goodput, TCP trusted from 1 Mbit/s to 300 Mbit/s, ± 0.05 %" in sentence


def test_false_alarms_are_told_with_a_range_or_without(small):
    alarms = ComparisonErrors(
        realtime_ns=CALIBRATION.realtime_ns, comparisons=200, false=1, changed=50, found=49, change=-0.03
    )
    sentences = (
        "1 of 200 comparisons of equal paths showed a difference. "
        "A difference of 3 % was found in 49 of 50 (2023-11-14)."
    )
    for ranges, before in ((CALIBRATION.ranges, "± 0.05 %"), ((), calibrated.NONE)):
        run = _with(small, replace(CALIBRATION, ranges=ranges, false_alarms=alarms))
        sentence = calibrated.sentence(run, analyse(run))
        assert before in sentence
        assert sentence.endswith(f" {sentences}")


def test_results_outside_of_the_range_are_told_once_a_quantity(small):
    analysis = analyse(small)
    narrow = tuple(
        replace(each_range, greatest=1e6) for each_range in CALIBRATION.ranges if each_range.metric == "tcp-goodput"
    )
    run = _with(small, replace(CALIBRATION, ranges=narrow))
    (warning,) = calibrated.warnings(run, analysis)
    assert warning.startswith("Goodput, TCP: ")
    assert "lie outside the range from 940 kbit/s to 1 Mbit/s, for which this machine was calibrated." in warning
    assert " ".join(terminal.render(run, analysis).split()).count(warning) == 1
    assert json.document(run, analysis)["calibration"]["outside"] == [warning]


def test_no_loss_is_within_what_counting_can_tell(small):
    analysis = analyse(small)
    run = _with(small, replace(CALIBRATION, ranges=(LOSS, replace(LOSS, path="ipv6"))))
    assert calibrated.warnings(run, analysis) == []


def test_runs_that_no_calibration_is_about_say_nothing(small):
    experiment = replace(small.manifest.experiment, topologies=())
    run = replace(small, manifest=replace(small.manifest, experiment=experiment))
    assert calibrated.sentence(run, analyse(small)) is None


def test_a_manifest_that_has_it_is_read_back(small):
    manifest = replace(small.manifest, calibration=CALIBRATION)
    assert manifest_from_json(manifest_to_json(manifest), "manifest.json").calibration == CALIBRATION
