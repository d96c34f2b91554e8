"""The tests of the benchmarking RFCs against devices that are computed: what they ask for, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from stored import bare_record

from sixbench.model.parameter import Scalar
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.trial import TrialRecord
from sixbench.rfc.goal import Bounds
from sixbench.rfc.lengths import FULL, QUICK, Lengths
from sixbench.rfc.procedures import TESTS, with_needed
from sixbench.rfc.rfc_test import RfcPlace, RfcTest, SelfTest, Value, percentile
from sixbench.rfc.throughput import Throughput, load_trial

pytestmark = pytest.mark.computes

LINE_PPS = 100_000.0


@dataclass
class Device:
    """Carries so many frames a second, and keeps so many of what comes faster. The tester spoils the trials of these
    numbers."""

    carries_pps: float
    buffer: int = 0
    spoiled: frozenset[int] = frozenset()
    metrics: dict[str, float] = field(default_factory=dict)
    records: list[TrialRecord] = field(default_factory=list)

    def ask(self, params: Mapping[str, Scalar]) -> TrialRecord:
        rate_pps = float(params["rate_pps"])
        sent = int(params.get("count", 0)) or round(rate_pps * float(params["duration_ns"]) / 1e9)
        excess = sent * max(0.0, 1 - self.carries_pps / rate_pps)
        lost = max(0, int(excess) - self.buffer)
        is_spoiled = len(self.records) in self.spoiled
        reasons = [Reason(kind=ReasonKind.TESTER_LIMITED, text="late")] if is_spoiled else []
        sender = {"sent": sent}
        receiver = {"unique": sent - lost, "ipdv_signed": {"count": 9, "min_ns": -5, "p50_ns": 0, "max_ns": 7}}
        record = bare_record(
            "frames",
            key=f"b{len(self.records) + 1:03d}-c0001-ipv4",
            params=dict(params),
            status="invalid" if is_spoiled else "ok",
            reasons=reasons,
            metrics={**self.metrics, "loss_ratio": lost / sent},
            client={"forward_sender": sender, "reverse_receiver": receiver},
            server={"forward_receiver": receiver, "reverse_sender": sender},
        )
        self.records.append(record)
        return record


def place(throughput_pps: float | None, items: Lengths = QUICK, profile: str = "8219") -> RfcPlace:
    throughput = Throughput(
        goal=items.goals[0],
        bounds=Bounds(lower_pps=throughput_pps, upper_pps=None),
        trials=9,
        refused=0,
        refused_pps=None,
        refused_why=None,
        failed=None,
    )
    return RfcPlace(
        profile=profile,
        frame_bytes=64,
        line_pps=LINE_PPS,
        tester_pps=2 * LINE_PPS,
        throughput=throughput,
        lengths=items,
    )


def run(test: RfcTest, device: Device, at: RfcPlace) -> dict[str, Value]:
    assert test.run is not None
    test.run(device.ask, at)
    return {value.name: value for value in test.values(device.records, at)}


def test_latency_is_the_median_over_20_streams_of_120_s_at_the_throughput_rate_with_tags_after_60_s() -> None:
    device = Device(40_000, metrics={"one_way_delay_p50_ns": 5.0, "one_way_delay_reverse_p999_ns": 70.0})
    values = run(TESTS["latency"], device, place(40_000.7, FULL))
    assert len(device.records) == 20
    assert {tuple(sorted(record.params.items())) for record in device.records} == {
        (("duration_ns", 60 * 10**9), ("rate_pps", 40_000), ("warmup_ns", 60 * 10**9))
    }
    assert values["typical latency, forward"].value == 5.0
    assert values["worst case latency, reverse"].value == 70.0
    assert values["worst case latency, forward"].value is None


def test_a_stream_that_the_tester_spoiled_is_repeated_and_counts_for_nothing() -> None:
    device = Device(40_000, spoiled=frozenset({1}), metrics={"pdv_p999_ns": 3.0})
    values = run(TESTS["pdv"], device, place(40_000))
    assert len(device.records) == QUICK.repetitions + 1
    assert values["PDV, forward"].trials == QUICK.repetitions


def test_the_spread_of_repetitions_is_told_by_the_1st_and_99th_percentile() -> None:
    device = Device(40_000)
    at = place(40_000)
    for delay_ns in (10.0, 20.0, 40.0):
        device.metrics = {"pdv_p999_ns": delay_ns}
        device.ask({"rate_pps": 40_000, "duration_ns": 10**9})
    forward = {value.name: value for value in TESTS["pdv"].values(device.records, at)}["PDV, forward"]
    assert (forward.value, forward.low, forward.high) == (20.0, 10.0, 40.0)


def test_rfc_2544_reports_the_mean_of_latencies() -> None:
    device = Device(40_000)
    for delay_ns in (10.0, 20.0, 60.0):
        device.metrics = {"one_way_delay_mean_ns": delay_ns}
        device.ask({"rate_pps": 40_000, "duration_ns": 10**9})
    [forward, _] = TESTS["latency"].values(device.records, place(40_000, profile="2544"))
    assert (forward.name, forward.value) == ("latency, forward", 30.0)


def test_ipdv_is_read_from_the_trials_of_pdv() -> None:
    device = Device(40_000, metrics={"pdv_p999_ns": 3.0})
    at = place(40_000)
    run(TESTS["pdv"], device, at)
    values = {value.name: value.value for value in TESTS["ipdv"].values(device.records, at)}
    assert (values["least IPDV, forward"], values["largest IPDV, reverse"]) == (-5.0, 7.0)
    assert TESTS["ipdv"].reads == "pdv"


def test_delays_without_a_throughput_are_not_measured_and_say_so() -> None:
    device = Device(0)
    values = run(TESTS["latency"], device, place(None))
    assert device.records == []
    assert values["typical latency, forward"].remark == "no throughput is known at which to measure"


def test_the_frame_loss_rate_goes_down_by_tenths_until_two_rates_lose_nothing() -> None:
    device = Device(75_000)
    values = run(TESTS["frame-loss-rate"], device, place(74_000))
    assert [record.params["rate_pps"] for record in device.records] == [100_000, 90_000, 80_000, 70_000, 60_000]
    assert list(values) == [f"loss at {percent} %" for percent in (100, 90, 80, 70, 60)]
    assert values["loss at 100 %"].value == pytest.approx(0.25, abs=0.001)
    assert values["loss at 70 %"].value == 0


def test_a_rate_that_the_tester_cannot_send_has_no_loss_and_the_next_one_is_tried() -> None:
    device = Device(75_000, spoiled=frozenset({0, 1, 2}))
    values = run(TESTS["frame-loss-rate"], device, place(74_000))
    assert values["loss at 100 %"].value is None
    assert values["loss at 90 %"].value is not None


def test_the_longest_burst_is_what_a_buffer_takes_in_and_its_time_is_corrected_by_what_leaves_meanwhile() -> None:
    device = Device(50_000, buffer=1000)
    values = run(TESTS["back-to-back"], device, place(50_000))
    longest = values["longest burst, mean"].value
    assert longest == pytest.approx(2000, rel=0.011)
    assert values["implied buffer time"].value == pytest.approx(20e6, rel=0.011)
    assert values["corrected buffer time"].value == pytest.approx(10e6, rel=0.011)
    assert values["longest burst, standard deviation"].value == 0
    assert values["longest burst, mean"].trials == QUICK.bursts


def test_a_device_as_fast_as_the_line_has_no_longest_burst_and_no_recovery() -> None:
    for name, words in (("back-to-back", "no burst is too long"), ("recovery", "cannot overload it")):
        device = Device(LINE_PPS)
        [value] = run(TESTS[name], device, place(LINE_PPS)).values()
        assert device.records == []
        assert words in value.remark


def test_bursts_that_the_tester_cannot_send_end_a_search() -> None:
    device = Device(50_000, buffer=1000, spoiled=frozenset({3, 4, 5}))
    values = run(TESTS["back-to-back"], device, place(50_000))
    assert values["longest burst, mean"].trials == QUICK.bursts - 1


def test_recovery_overloads_by_a_tenth_and_goes_on_at_half_of_that() -> None:
    device = Device(50_000, metrics={"recovery_ns": 4e6})
    [value] = run(TESTS["recovery"], device, place(50_000, FULL)).values()
    assert (value.value, value.trials, value.rate_pps) == (4e6, 20, 55_000)
    params = device.records[0].params
    assert (params["step_rate_pps"], params["step_after_ns"], params["duration_ns"]) == (
        27_500,
        60 * 10**9,
        120 * 10**9,
    )


def test_an_overload_that_lost_nothing_is_told() -> None:
    device = Device(60_000, metrics={"recovery_ns": 0.0})
    [value] = run(TESTS["recovery"], device, place(50_000)).values()
    assert (value.value, value.trials) == (None, 0)
    assert value.remark == "no overload lost frames, so that there was nothing to recover from"


def test_only_overloads_that_lost_frames_count() -> None:
    device = Device(54_000, metrics={"recovery_ns": 4e6})
    at = place(50_000)
    run(TESTS["recovery"], device, at)
    spared = replace(device.records[0], metrics={"recovery_ns": 0.0, "loss_ratio": 0.0})
    [value] = TESTS["recovery"].values([spared, *device.records[1:]], at)
    assert (value.value, value.trials) == (4e6, QUICK.repetitions - 1)
    assert value.remark == "1 of 3 overloads lost no frames, and do not count"


def test_a_device_as_fast_as_the_tester_may_have_a_longest_burst_that_nobody_knows() -> None:
    [value] = run(TESTS["back-to-back"], Device(LINE_PPS), replace(place(2 * LINE_PPS), line_pps=None)).values()
    assert (value.has_none, value.is_testers) == (False, True)
    assert "cannot send a burst" in value.remark


def test_the_loss_rate_without_a_line_is_of_the_testers_rate() -> None:
    values = run(TESTS["frame-loss-rate"], Device(10 * LINE_PPS), replace(place(LINE_PPS), line_pps=None))
    assert {value.remark for value in values.values()} == {"of the tester's rate, because no line has one"}


def test_overload_compares_the_throughput_of_many_flows_with_that_of_one() -> None:
    test = TESTS["overload"]
    assert test.params(QUICK) == {"ports": "pseudo-random", "flows": 256}
    device = Device(30_000)
    for rate_pps in (30_000, 31_000):
        device.ask({"rate_pps": rate_pps, "duration_ns": 10**9})
    values = {value.name: value.value for value in test.values(device.records, place(40_000))}
    assert values == {"throughput of 1 flow": 40_000, "throughput of 256 flows": 30_000, "degradation": 0.25}


@dataclass
class Translator:
    """Makes so many connections a second, and keeps so many at once. The tester offers no more than its own rate."""

    per_s: int
    keeps: int
    tester_per_s: int = 10**9
    records: list[TrialRecord] = field(default_factory=list)

    def ask(self, params: Mapping[str, Scalar]) -> TrialRecord:
        count, rate = int(params["count"]), int(params["rate_per_s"])
        alive = min(count if rate <= self.per_s else count - 1, self.keeps)
        device = Device(1.0)
        record = device.ask({"rate_pps": 1, "duration_ns": 10**9})
        is_refused = rate > self.tester_per_s
        self.records.append(
            replace(
                record,
                workload="connections",
                params=dict(params),
                metrics={"connections_alive_count": float(alive), "teardown_rate_per_s": 5e5},
                status="invalid" if is_refused else "ok",
                reasons=[Reason(kind=ReasonKind.TESTER_LIMITED, text="late")] if is_refused else [],
            )
        )
        return self.records[-1]


def connections(before: list[TrialRecord] | None = None, profile: str = "9693") -> RfcPlace:
    at = place(None, profile=profile)
    return replace(at, frame_bytes=None, line_pps=None, throughput=None, before={"establishment": before or []})


def established(device: Translator, profile: str = "9693") -> Value:
    test = TESTS["establishment"]
    assert test.run is not None
    test.run(device.ask, connections(profile=profile))
    [value] = test.values(device.records, connections(profile=profile))
    return value


def test_the_highest_rate_makes_every_connection_and_every_one_answers() -> None:
    value = established(Translator(30_000, 10**6))
    assert value.value == pytest.approx(30_000, rel=QUICK.width)
    assert (value.unit, value.trials, value.remark) == ("1/s", QUICK.repetitions, "")


def test_a_small_table_has_a_rate_for_as_many_connections_as_it_keeps() -> None:
    value = established(Translator(30_000, 1_000))
    assert value.value == pytest.approx(30_000, rel=QUICK.width)
    assert value.remark == "with 1000 connections: more were not all kept at 1000/s"


def test_a_tester_that_cannot_offer_any_rate_says_nothing_of_the_device() -> None:
    value = established(Translator(30_000, 10**6, tester_per_s=0))
    assert (value.value, value.remark) == (None, "none at 1000/s; the tester was the limit")


def test_connections_are_of_udp_by_rfc_9693_and_of_tcp_by_rfc_8219() -> None:
    for profile, transport in (("9693", "udp"), ("8219", "tcp")):
        device = Translator(3000, 10**6)
        established(device, profile)
        assert {record.params["transport"] for record in device.records} == {transport}


def test_a_rate_that_the_tester_cannot_offer_is_its_limit() -> None:
    value = established(Translator(10**6, 10**6, tester_per_s=20_000))
    assert value.is_testers
    assert value.value == pytest.approx(20_000, rel=QUICK.width)
    assert value.remark == "the tester was the limit"


def test_the_capacity_is_found_at_half_of_the_highest_rate() -> None:
    first = Translator(8_000, 3_500)
    assert established(first).value == pytest.approx(8_000, rel=QUICK.width)
    at = connections(first.records)
    device = Translator(8_000, 3_500)
    values = run(TESTS["capacity"], device, at)
    assert values["connections kept"].value == pytest.approx(3_500, rel=QUICK.width)
    assert {int(record.params["rate_per_s"]) for record in device.records} <= set(range(3_500, 4_001))


@dataclass
class Unsteady(Translator):
    """Loses one of more than 60 connections by chance, in the second search."""

    def ask(self, params: Mapping[str, Scalar]) -> TrialRecord:
        begun = [record for record in self.records if record.params["count"] == 500]
        self.keeps = 60 if len(begun) + (params["count"] == 500) == 2 else 10**7
        return super().ask(params)


def test_connections_that_are_lost_by_chance_are_no_limit_of_a_table() -> None:
    first = Translator(8_000, 10**7)
    established(first)
    [value] = run(TESTS["capacity"], Unsteady(8_000, 10**7), connections(first.records)).values()
    assert (value.low, value.high) == (pytest.approx(60, rel=QUICK.width), QUICK.most_connections)
    assert value.remark.startswith("no limit of a table was found: one search lost some of ")
    assert value.remark.endswith("connections, another kept all of 16000")


def test_a_capacity_that_was_not_reached_is_told_as_that() -> None:
    first = Translator(8_000, 10**7)
    established(first)
    [value] = run(TESTS["capacity"], Translator(8_000, 10**7), connections(first.records)).values()
    assert (value.value, value.remark) == (QUICK.most_connections, "at least: no more than 16000 were tried")


def test_the_teardown_rate_is_the_median_of_repetitions() -> None:
    first = Translator(8_000, 10**7)
    established(first)
    [value] = run(TESTS["teardown"], Translator(8_000, 10**7), connections(first.records)).values()
    assert (value.value, value.trials) == (5e5, QUICK.repetitions)


def test_without_an_establishment_rate_there_is_no_capacity() -> None:
    [value] = run(TESTS["capacity"], Translator(0, 0), connections()).values()
    assert (value.value, value.remark) == (None, "no establishment rate is known")


@dataclass
class Resolver:
    """Answers so many questions a second, rightly unless it is told otherwise.

    Attributes:
        late_over: the tester is late over so many questions a second. None: it never is.
    """

    per_s: int
    is_right: bool = True
    late_over: int | None = None
    records: list[TrialRecord] = field(default_factory=list)

    def ask(self, params: Mapping[str, Scalar]) -> TrialRecord:
        record = Device(1.0).ask({"rate_pps": 1, "duration_ns": 10**9})
        answered = min(1.0, self.per_s / int(params["rate_per_s"])) if self.is_right else 0.99
        metrics = {"questions_answered_ratio": answered, "questions_wrong_ratio": 0.0 if self.is_right else 0.01}
        record = replace(record, workload="dns64", params=dict(params), metrics=metrics)
        if self.late_over is not None and int(params["rate_per_s"]) > self.late_over:
            reasons = [Reason(kind=ReasonKind.TESTER_LIMITED, text="late")]
            record = replace(record, status="invalid", reasons=reasons)
        self.records.append(record)
        return record


def dns64(device: Resolver, tester: Resolver) -> Value:
    at = replace(place(None), frame_bytes=None, is_tester=True)
    run(TESTS["dns64"], tester, at)  # type: ignore[arg-type]
    at = replace(at, is_tester=False, without_device=tester.records)
    [value] = run(TESTS["dns64"], device, at).values()  # type: ignore[arg-type]
    return value


def test_dns64_is_the_highest_rate_at_which_every_answer_is_right_and_the_tester_can_do_more_than_twice_that() -> None:
    tester = Resolver(30_000)
    value = dns64(Resolver(9_000), tester)
    assert value.value == pytest.approx(9_000, rel=QUICK.width)
    assert value.remark.startswith("self-test passed: the tester answers")
    assert {record.params["self_test"] for record in tester.records} == {True}
    assert {record.params["timeout_ns"] for record in tester.records} == {250_000_000}


def test_the_self_test_is_looked_for_beyond_what_a_resolver_can_be_asked() -> None:
    device, tester = Resolver(10**6), Resolver(10**6)
    value = dns64(device, tester)
    assert value.value == 50_000
    most = "the highest rate that is tried"
    assert value.remark == f"self-test passed: the tester answers 200000/s by itself, {most}"


def test_a_tester_that_is_not_twice_as_fast_fails_its_self_test() -> None:
    assert dns64(Resolver(9_000), Resolver(15_000)).remark.startswith("self-test not passed")


def test_a_resolver_that_answers_wrongly_has_no_rate_and_that_is_told_although_the_tester_was_late() -> None:
    for late_over in (None, 0):
        device = Resolver(9_000, is_right=False, late_over=late_over)
        value = dns64(device, Resolver(30_000))
        assert (value.value, len(device.records)) == (None, QUICK.repetitions)
        text = "it answers wrongly: of the questions at 1000/s 1 % had a wrong answer; self-test without a rate to "
        assert value.remark.startswith(text)


def test_questions_that_the_tester_cannot_ask_are_no_failure_of_the_resolver() -> None:
    value = dns64(Resolver(30_000, late_over=9_000), Resolver(30_000))
    assert value.value == pytest.approx(9_000, rel=QUICK.width)
    assert value.is_testers
    assert value.remark.startswith("the tester was the limit; self-test passed")


def test_a_tester_that_cannot_ask_at_all_tries_no_lower_rate() -> None:
    device = Resolver(30_000, late_over=0)
    value = dns64(device, Resolver(30_000, late_over=0))
    assert (value.value, value.is_testers, len(device.records)) == (None, True, 3 * QUICK.repetitions)
    assert value.remark == (
        "no rate: the tester could not ask: late; self-test not passed: no rate: the tester could not ask: late"
    )


def test_a_self_test_that_failed_is_told_with_its_reason() -> None:
    device, tester = Resolver(9_000), Resolver(1)
    record = tester.ask({"rate_per_s": 1000})
    reasons = [Reason(kind=ReasonKind.AGENT_FAILED, text="right: no such address")]
    at = replace(place(None), frame_bytes=None, without_device=[replace(record, status="failed", reasons=reasons)])
    [value] = run(TESTS["dns64"], device, at).values()  # type: ignore[arg-type]
    assert value.value == pytest.approx(9_000, rel=QUICK.width)
    assert value.remark == "self-test not passed: right: no such address"
    assert value.self_test == SelfTest(is_passed=False, text=value.remark)


def test_frames_that_were_lost_with_a_line_are_no_loss_of_the_device() -> None:
    record = Device(1.0).ask({"rate_pps": 1000, "duration_ns": 10**9})
    lost = [
        Reason(kind=ReasonKind.NOTHING_ARRIVED, text="nothing"),
        Reason(kind=ReasonKind.LINK_DOWN, text="no carrier"),
    ]
    assert load_trial(replace(record, status="invalid", reasons=lost[:1])) is not None
    assert load_trial(replace(record, status="invalid", reasons=lost)) is None


def test_what_a_test_needs_comes_before_it() -> None:
    assert with_needed(["ipdv"]) == ("throughput", "pdv", "ipdv")
    order = list(TESTS)
    for test in TESTS.values():
        assert all(order.index(name) < order.index(test.name) for name in test.needs)


def test_a_run_that_goes_on_asks_the_same() -> None:
    """The records of a burst search are all that its result is computed from."""
    device = Device(50_000, buffer=777)
    at = place(50_000)
    run(TESTS["back-to-back"], device, at)
    again = replace(device, records=[])
    run(TESTS["back-to-back"], again, at)
    asked = [[record.params for record in item.records] for item in (device, again)]
    assert asked[0] == asked[1]


def test_a_percentile_is_a_value_that_was_measured() -> None:
    """RFC 2330 section 11.3, whose example this is."""
    values = [-2.0, 7.0, 7.0, 4.0, 18.0, -5.0]
    assert [percentile(values, share) for share in (0.25, 0.5, 1)] == [-2.0, 4.0, 18.0]
    assert percentile(list(map(float, range(1, 21))), 0.01) == 1
