"""Results of trials of a test by an RFC: loss of the device, refusals of the tester, the line's rate, the design."""

from __future__ import annotations

from dataclasses import replace

import pytest
from frames_trials import trial

from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.errors import UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.reason import ReasonKind
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml
from sixbench.rfc.design import design
from sixbench.rfc.lengths import FULL, QUICK
from sixbench.rfc.sizes import line_pps
from sixbench.rfc.throughput import is_refused, load_trial, read

pytestmark = pytest.mark.computes

WIRE = """
experiment: wire
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1], rate: 100Mbit}, {endpoints: [r1, h2], rate: 10Mbit}]
between: [h1, h2]
paths: {ipv4: native4}
workloads: [ping]
"""
TUNNEL = """
experiment: tunnel
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1]}
    - {endpoints: [r1, r2], rate: 10Mbit}
    - {endpoints: [r2, h2]}
between: [h1, h2]
paths: {tunnel: {6in4: [r1, r2]}}
workloads: [ping]
"""


def experiment(text: str) -> Experiment:
    return read_experiment(parse_yaml(text, "test.yaml"), MECHANISMS)


def test_the_loss_of_a_trial_is_that_of_both_directions() -> None:
    actual_trial = load_trial(trial(5000, 20))
    assert actual_trial is not None
    assert actual_trial.loss_ratio == 20 / 2000


def test_a_trial_that_the_tester_spoiled_says_nothing_of_the_device() -> None:
    assert is_refused(trial(5000, 500, ReasonKind.TESTER_LIMITED))
    assert is_refused(trial(5000, 1000, ReasonKind.NOTHING_ARRIVED, ReasonKind.TESTER_LIMITED))
    assert is_refused(trial(5000, 500, ReasonKind.STRAYS))


def test_a_device_that_lets_nothing_pass_has_lost_it() -> None:
    lost = trial(5000, 1000, ReasonKind.NOTHING_ARRIVED)
    assert not is_refused(lost)
    assert load_trial(lost) is not None


def test_a_throughput_over_which_the_tester_could_not_go_is_the_testers() -> None:
    spoiled = [trial(6000, 0, ReasonKind.TESTER_LIMITED)] * 3
    content = read([trial(5000), *spoiled], FULL.goals[:1])[0]
    assert (content.bounds.lower_pps, content.bounds.upper_pps, content.refused) == (5000, None, 3)
    assert content.is_testers


def test_a_throughput_with_loss_over_it_is_the_devices() -> None:
    content = read([trial(5000), trial(6000, 1)], FULL.goals[:1])[0]
    assert (content.bounds.lower_pps, content.bounds.upper_pps) == (5000, 6000)
    assert not content.is_testers


def test_bounds_that_are_far_apart_are_no_end_of_a_search() -> None:
    goal = FULL.goals[:1]
    assert not read([trial(5000), trial(6000, 1)], goal)[0].is_settled
    assert read([trial(5990), trial(6000, 1)], goal)[0].is_settled
    assert read([trial(5000)], goal)[0].is_settled
    assert not read([trial(5000, duration_s=1.0)], goal)[0].is_settled
    assert read([trial(20, 1)], goal)[0].is_settled, "no rate meets the goal, down to the least one"
    spoiled = read([trial(5000, 0, ReasonKind.TESTER_LIMITED)], goal)[0]
    assert (spoiled.is_settled, spoiled.refused_why) == (False, "tester-limited")


def test_the_end_of_a_device_is_told_with_its_reason() -> None:
    dead = replace(trial(6000, 0, ReasonKind.AGENT_FAILED), status="failed")
    assert read([trial(5000), dead], QUICK.goals)[0].failed == "agent-failed"


def test_a_line_carries_its_rate_by_the_frame_and_what_is_between_frames() -> None:
    wire = experiment(WIRE)
    network = install(wire.paths[0], wire.topologies[0], wire.between)
    assert line_pps(network, 64) == pytest.approx(10_000_000 / (8 * (64 + 20)))
    assert line_pps(network, 1518) == pytest.approx(10_000_000 / (8 * (1518 + 20)))


def test_a_tunnel_adds_its_header_on_its_line() -> None:
    tunnel = experiment(TUNNEL)
    network = install(tunnel.paths[0], tunnel.topologies[0], tunnel.between)
    assert line_pps(network, 512) == pytest.approx(10_000_000 / (8 * (512 + 20 + 20)))


def test_every_size_that_fits_is_tested_over_the_paths_and_the_tester() -> None:
    designed_experiment, procedure = design(experiment(WIRE), "2544", ["throughput"], [], ["plain"], quick=True)
    assert [combination.levels["frame_bytes"] for combination in designed_experiment.combinations] == [
        64,
        128,
        256,
        512,
        1024,
        1280,
        1518,
    ]
    assert [path.name for path in designed_experiment.paths] == ["ipv4", "tester-ipv4"]
    assert procedure.testers == ("tester-ipv4",)
    assert procedure.left_out is None


def test_sizes_that_do_not_fit_are_left_out_with_the_reason() -> None:
    _, procedure = design(experiment(WIRE), "8219", [], [], quick=True)
    assert procedure.left_out is not None
    assert list(procedure.left_out) == [1522, 2048, 4096, 8192, 9216]
    assert "1500 fit" in procedure.left_out[1522]


def test_ipv6_begins_with_frames_of_84_bytes() -> None:
    designed_experiment, _ = design(
        experiment(WIRE.replace("ipv4: native4", "ipv6: native6")), "2544", [], [], quick=True
    )
    assert designed_experiment.combinations[0].levels["frame_bytes"] == 84


@pytest.mark.parametrize(
    ("profile", "tests", "sizes", "words"),
    [
        ("1242", [], [], 'there is no profile "1242"'),
        ("2544", ["speed"], [], 'there is no test "speed"'),
        ("2544", [], [9000], "frames of 9000 bytes are too large for ipv4"),
        ("2544", [], [60], "frames of 60 bytes are too small for ipv4"),
    ],
)
def test_what_cannot_be_tested_is_refused(profile: str, tests: list[str], sizes: list[int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        design(experiment(WIRE), profile, tests, sizes, quick=True)


def test_a_path_with_a_device_in_a_host_cannot_be_tested() -> None:
    text = WIRE.replace("{ipv4: native4}", "{tunnel: {6in4: [h1, h2]}}")
    with pytest.raises(UsageError, match="tunnel cannot be tested: frames cannot go over 6in4"):
        design(experiment(text), "2544", [], [], quick=True)


NAT64 = """
experiment: nat64
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {nat64: {nat64: [r1]}}
workloads: [ping]
"""


def test_devices_that_keep_state_have_the_tests_of_rfc_9693_and_no_frames() -> None:
    designed_experiment, procedure = design(experiment(NAT64), "9693", [], [], quick=True)
    assert procedure.tests == ("establishment", "capacity", "teardown")
    assert procedure.testers == ()
    assert {combination.workload.kind for combination in designed_experiment.combinations} == {"connections"}
    assert all("frame_bytes" not in combination.levels for combination in designed_experiment.combinations)


def test_overload_is_not_for_devices_that_keep_state() -> None:
    designed_experiment, _ = design(experiment(NAT64), "8219", [], [128], quick=True)
    tests = {combination.levels["rfc_test"] for combination in designed_experiment.combinations}
    assert {"throughput", "recovery", "establishment"} <= tests
    assert "overload" not in tests
    with pytest.raises(UsageError, match="the test overload does not apply to nat64: a device that keeps state"):
        design(experiment(NAT64), "8219", ["overload"], [128], quick=True)


def test_devices_without_state_have_no_connections_to_count() -> None:
    with pytest.raises(UsageError, match="the test capacity does not apply to ipv4: nothing on the path keeps state"):
        design(experiment(WIRE), "9693", ["capacity"], [], quick=True)
    with pytest.raises(UsageError, match="no test of profile 9693 applies to ipv4"):
        design(experiment(WIRE), "9693", [], [], quick=True)
    designed_experiment, _ = design(experiment(WIRE), "8219", [], [128], quick=True)
    assert {combination.levels["rfc_test"] for combination in designed_experiment.combinations} == {
        *("throughput", "latency", "pdv", "frame-loss-rate", "back-to-back", "recovery", "overload"),
    }
