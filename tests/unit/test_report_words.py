"""Numbers, levels and comparisons in words."""

from __future__ import annotations

from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from sixbench.model.finding import Analysis, Finding
from sixbench.report import rows, validity, words
from sixbench.report.answers import answers


def finding(**changes: Any) -> Finding:
    """Goodput over IPv6 that is 1.4 % lower."""
    values: dict[str, Any] = {
        "workload": "tcp-stream",
        "metric": "goodput",
        "unit": "bit/s",
        "levels": {"message_bytes": 1024},
        "combination": "c0001",
        "path": "ipv6",
        "baseline": "ipv4",
        "n": 10,
        "verdict": "lower",
        "estimate": 92.85e6,
        "baseline_estimate": 94.15e6,
        "ratio": 0.986,
        "ci_low": 0.985,
        "ci_high": 0.987,
        "theory": 92.847854e6,
        "theory_baseline": 94.148244e6,
        "headline": True,
    }
    return Finding(**(values | changes))


def said(*findings: Finding) -> list[str]:
    found = answers(Analysis(estimates=[], findings=list(findings)), confidence=0.95, margin=0.01)
    return [answer.text for answer in found]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (94.15e6, "bit/s", "94.15 Mbit/s"),
        (52_100, "ns", "52.10 µs"),
        (0.000213, "1", "0.0213 %"),
        (0.0, "ns", "0 ns"),
        (0.84, "cores", "0.8400 cores"),
        (-1500, "ns", "−1.500 µs"),
        (None, "ns", "–"),
        (float("nan"), "bit/s", "–"),
        (float("inf"), "bit/s", "–"),
    ],
)
def test_quantities_have_the_unit_that_reads_best(value: float | None, unit: str, text: str) -> None:
    assert words.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("message_bytes", 64, "message 64 B"),
        ("message_bytes", 65536, "message 64 KiB"),
        ("link_mtu_bytes", 9000, "link MTU 9000 B"),
        ("link_rate_bps", 100_000_000, "link rate 100 Mbit/s"),
        ("link_delay_ns", 5_000_000, "link delay 5 ms"),
        ("loss_ratio", 0.01, "loss 1 %"),
        ("rate_pps", 1000, "rate 1 kpackets/s"),
        ("streams", 4, "streams 4"),
        ("nodelay", True, "nodelay yes"),
        ("congestion", "bbr", "congestion bbr"),
        ("bytes", 1000, "bytes 1 kB"),
    ],
)
def test_levels_are_named_by_their_column(column: str, value: Any, text: str) -> None:
    assert words.levels({column: value}) == text


@given(st.floats(-1e300, 1e300), st.integers(0, 3))
def test_signed_numbers_have_one_sign_and_zero_has_none(value: float, decimals: int) -> None:
    text = words.signed(value, decimals)
    assert len(text) < 20
    signs = sum(text.count(sign) for sign in ("+", "−"))
    assert signs == (0 if not text.strip("0.") else 1)


@given(st.text())
def test_one_line_has_nothing_that_commands_a_terminal(text: str) -> None:
    line = words.one_line(text)
    assert line.isprintable() or all(character.isprintable() or character.isspace() for character in line)
    assert not {"\n", "\x1b", "\u202e"} & set(line)


def test_units_stay_with_their_numbers() -> None:
    assert words.keep_together("−1.42 % (95 % CI −1.52 to −1.32 %), at 1 KiB") == (
        "−1.42\u00a0% (95\u00a0%\u00a0CI −1.52 to −1.32\u00a0%), at 1\u00a0KiB"
    )


# --- rows ---------------------------------------------------------------------------------------------------------


def test_a_change_and_its_interval_have_equal_decimals() -> None:
    row = rows.row(finding())
    assert (row.change, row.interval, row.theory) == ("−1.40 %", "−1.50 to −1.30", "−1.38 %")
    wide = rows.row(finding(ratio=1.08, ci_low=0.989, ci_high=1.181))
    assert (wide.change, wide.interval) == ("+8.0 %", "−1.1 to +18.1")


def test_shares_differ_by_percentage_points() -> None:
    loss = finding(
        metric="loss_ratio", unit="1", ratio=None, difference=0.0012, ci_low=0.0002, ci_high=0.0022, theory=None
    )
    row = rows.row(loss)
    assert (row.change, row.interval) == ("+0.120 pp", "+0.020 to +0.220")


def test_what_is_not_known_is_a_dash() -> None:
    row = rows.row(finding(n=0, estimate=None, ratio=None, ci_low=None, ci_high=None, theory=None))
    assert (row.estimate, row.change, row.interval, row.noise, row.theory) == ("–",) * 5


def test_the_noise_floor_is_the_widest_end_of_the_aa_interval() -> None:
    assert rows.row(finding(noise_low=0.9989, noise_high=1.0004)).noise == "±0.11 %"


@pytest.mark.parametrize(
    ("metric", "verdict", "tone"),
    [
        ("goodput", "lower", "worse"),
        ("goodput", "higher", "better"),
        ("rtt_p50", "lower", "better"),
        ("rtt_p50", "higher", "worse"),
        ("goodput", "equivalent", "same"),
        ("goodput", "inconclusive", "open"),
        ("unheard_of", "higher", "changed"),
    ],
)
def test_a_verdict_means_better_or_worse_by_the_metric(metric: str, verdict: Any, tone: str) -> None:
    assert rows.tone(finding(metric=metric, verdict=verdict)) == tone


def test_groups_follow_the_order_of_the_headline_metrics() -> None:
    found = [finding(metric="cpu_busy", unit="cores"), finding(), finding(metric="tcp_rtt_mean", unit="ns")]
    assert [group.metric for group in rows.grouped(found)] == ["goodput", "tcp_rtt_mean", "cpu_busy"]


def test_only_levels_that_vary_are_named_in_rows() -> None:
    found = [finding(levels={"message_bytes": size, "streams": 4}) for size in (64, 1024)]
    [group] = rows.grouped(found)
    assert [row.levels for row in group.rows] == ["message 64 B", "message 1 KiB"]
    assert rows.constant(found) == {"streams": 4}


# --- answers ------------------------------------------------------------------------------------------------------


def test_one_comparison_is_told_with_interval_levels_and_theory() -> None:
    assert said(finding()) == [
        "Goodput of TCP bulk transfer over ipv6 is 1.40 % lower than over ipv4 (95 % CI −1.50 to −1.30 %),"
        " at message 1 KiB; theory says −1.38 %."
    ]


def test_equivalence_names_the_margin() -> None:
    [text] = said(finding(verdict="equivalent", ratio=0.999, ci_low=0.998, ci_high=1.0, theory=None))
    assert text == (
        "Goodput of TCP bulk transfer over ipv6 is equivalent to that over ipv4 within 1 %: −0.10 %"
        " (95 % CI −0.20 to 0.00 %), at message 1 KiB."
    )


def test_nothing_is_concluded_from_what_is_inconclusive() -> None:
    [text] = said(finding(verdict="inconclusive", ratio=0.99, ci_low=0.95, ci_high=1.03, theory=None))
    assert "may or may not differ from that over ipv4: −1.00 % (95 % CI −5.00 to +3.00 %) excludes neither" in text
    [text] = said(finding(verdict="inconclusive", ratio=1.05, ci_low=1.001, ci_high=1.1, theory=None))
    assert "may differ from that over ipv4: +5.0 % (95 % CI +0.1 to +10.0 %), which is not certain among" in text
    [text] = said(finding(verdict="inconclusive", n=1, ci_low=None, ci_high=None, theory=None))
    assert "cannot be compared with that over ipv4: one pair of valid trials gives no interval (−1.40 %)" in text
    [text] = said(finding(verdict="inconclusive", n=0, ratio=None, ci_low=None, ci_high=None, theory=None))
    assert "cannot be compared with that over ipv4: no pair of valid trials" in text


def test_times_are_longer_and_rates_are_lower() -> None:
    [text] = said(
        finding(workload="tcp-rr", metric="rtt_p50", unit="ns", ratio=1.02, ci_low=1.01, ci_high=1.03, verdict="higher")
    )
    assert text.startswith("Median round-trip time of TCP request and response over ipv6 is 2.00 % longer than")
    [text] = said(finding(workload="tcp-crr", metric="transactions_rate", unit="1/s"))
    assert text.startswith("Rate of transactions of TCP connection, request and response over ipv6 is 1.40 % lower")


def test_several_levels_are_counted_and_the_largest_difference_told() -> None:
    found = [
        finding(levels={"message_bytes": 64}, ratio=0.95, ci_low=0.94, ci_high=0.96),
        finding(levels={"message_bytes": 1024}),
        finding(levels={"message_bytes": 8192}, ratio=0.999, ci_low=0.998, ci_high=1.0, verdict="equivalent"),
    ]
    [text] = said(*found)
    assert text.startswith("Goodput of TCP bulk transfer over ipv6 is lower than over ipv4 at 2 of 3 levels of message")
    assert "equivalent to that over ipv4 within 1 % at 1" in text
    assert "the difference is largest at message 64 B: −5.00 % (95 % CI −6.00 to −4.00 %)" in text


def test_aa_comparisons_and_other_metrics_are_no_answers() -> None:
    assert said(finding(is_aa=True), finding(metric="cpu_busy", unit="cores")) == []


# --- validity and evidence ----------------------------------------------------------------------------------------


def test_reasons_that_differ_in_numbers_only_count_as_one() -> None:
    run = synthetic.small()
    spoilt = {
        "b001-c0001-ipv4": ("invalid", "CPU busy for 97 %"),
        "b002-c0001-ipv4": ("invalid", "CPU busy for 98.5 %"),
        "b001-c0002-ipv6": ("failed", "CPU busy for 97 %"),
    }
    trials = validity.trials(synthetic.spoil(synthetic.small(blocks=2), spoilt).in_memory())  # type: ignore[arg-type]
    found = {(reason.status, reason.text): reason.count for reason in trials.reasons}
    assert found["invalid", "CPU busy for 97 %"] == 2
    assert found["failed", "CPU busy for 97 %"] == 1
    assert validity.trials(run.in_memory()).planned == 4 * 3 * 3
