"""Numbers, levels and comparisons in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from sixbench.model.experiment import Statistics
from sixbench.model.finding import Analysis, Finding
from sixbench.model.trial import TrialRecord
from sixbench.report import bars, rows, validity, words
from sixbench.report.answers import AnswerRow, answer_rows

pytestmark = pytest.mark.computes


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


def answered(*findings: Finding, trials: Sequence[TrialRecord] = ()) -> list[AnswerRow]:
    return answer_rows(Analysis(estimates=[], findings=list(findings)), Statistics(), trials)


def finding_words(*findings: Finding) -> list[str]:
    """Title, numbers and mark of each row, with plain spaces."""
    rows_said = (f"{item.title}: {item.numbers}: {item.verdict}" for item in answered(*findings))
    return [text.replace("\u00a0", " ") for text in rows_said]


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
    assert (row.value, row.change, row.interval, row.noise, row.theory) == ("–",) * 5


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
    result = [finding(metric="cpu_busy", unit="cores"), finding(), finding(metric="tcp_rtt_mean", unit="ns")]
    assert [group.metric for group in rows.grouped(result)] == ["goodput", "tcp_rtt_mean", "cpu_busy"]


def test_only_levels_that_vary_are_named_in_rows() -> None:
    findings = [finding(levels={"message_bytes": size, "streams": 4}) for size in (64, 1024)]
    [group] = rows.grouped(findings)
    assert [row.levels for row in group.rows] == ["message 64 B", "message 1 KiB"]
    assert rows.constant(findings) == {"streams": 4}


# --- answers ------------------------------------------------------------------------------------------------------


def test_a_row_is_complete_in_itself() -> None:
    assert finding_words(finding(noise_low=0.9984, noise_high=1.008)) == [
        "Goodput of TCP bulk transfer, message 1 KiB: IPv4 94.15 → IPv6 92.85 Mbit/s, −1.40 % [−1.50, −1.30],"
        " theory −1.38 %, A/A −0.16 .. +0.80: decided: worse"
    ]


@pytest.mark.parametrize("noise", [(0.9816, 1.008), (0.992, 1.0184)])
def test_a_difference_within_the_noise_floor_is_neither_red_nor_lower(noise: tuple[float, float]) -> None:
    inside = finding(noise_low=noise[0], noise_high=noise[1], blocks_needed=38, blocks_tell=0.014)
    [answer] = answered(inside)
    assert (answer.mark, answer.tone) == ("within A/A", "open")
    assert answer.hint == "about 40 blocks would tell 1.4 %"
    row = rows.row(inside)
    assert (row.word, row.verdict, row.tone) == ("within A/A", "within A/A (about 40 blocks)", "open")


def test_equivalence_names_the_margin() -> None:
    [answer] = answered(finding(verdict="equivalent", ratio=0.999, ci_low=0.998, ci_high=1.0, theory=None))
    assert (answer.mark, answer.tone) == ("equivalent within 1 %", "same")


def test_nothing_is_concluded_from_what_is_inconclusive() -> None:
    undecided = finding(verdict="inconclusive", ratio=0.99, ci_low=0.95, ci_high=1.03, theory=None)
    [text] = finding_words(undecided)
    assert text.endswith("−1.00 % [−5.00, +3.00]: undecided: more blocks may tell")
    [text] = finding_words(replace(undecided, blocks_needed=18, blocks_tell=0.02))
    assert text.endswith(": undecided: about 18 blocks would tell 2 %")
    [text] = finding_words(replace(undecided, blocks_needed=40_000, blocks_tell=0.05))
    assert text.endswith("undecided: blocks alone would hardly tell 5 %: over 1 000 of them; longer trials would help")
    [text] = finding_words(finding(verdict="inconclusive", n=1, ci_low=None, ci_high=None, theory=None))
    assert text.endswith(", −1.40 %: not compared: one pair of valid trials gives no interval")
    [text] = finding_words(finding(verdict="inconclusive", n=0, ratio=None, ci_low=None, ci_high=None, theory=None))
    assert text.endswith(": not compared: no pair of valid trials")


def test_an_interval_that_says_nothing_is_not_printed() -> None:
    wild = finding(
        verdict="inconclusive",
        ratio=1.5,
        ci_low=0.001,
        ci_high=202.77,
        theory=None,
        blocks_needed=311,
        blocks_tell=0.05,
    )
    trial = synthetic.small().trials[0]
    short = replace(
        trial,
        workload="tcp-stream",
        status="ok",
        params={"duration_ns": 1_000_000_000},
        metrics={"cpu_other_cores": 1.2},
    )
    [answer] = answered(wild, trials=[short])
    assert answer.mark == "too variable to tell"
    assert answer.hint.replace("\u00a0", " ") == (
        "about 320 blocks would tell 5 %; longer trials than 1 s and a machine without other load would help"
    )
    assert "%" not in answer.change
    assert answer.bars == []
    row = rows.row(wild)
    assert (row.change, row.interval) == ("+50.0 %", "too variable")
    assert (row.word, row.verdict, row.tone) == ("too variable", "too variable (about 320 blocks)", "open")


def test_what_theory_says_otherwise_is_told() -> None:
    [text] = finding_words(finding(theory=80e6))
    assert "theory −15.0 % outside the interval" in text


def test_times_and_rates_are_named_by_their_statistic() -> None:
    [text] = finding_words(
        finding(workload="tcp-rr", metric="rtt_p50", unit="ns", ratio=1.02, ci_low=1.01, ci_high=1.03, verdict="higher")
    )
    assert text.startswith("Median round-trip time of TCP request and response, message 1 KiB")
    assert text.endswith("decided: worse")
    [text] = finding_words(finding(workload="tcp-crr", metric="transactions_rate", unit="1/s"))
    assert text.startswith("Rate of transactions of TCP connection, request and response")


def test_rows_name_the_path_where_there_are_several() -> None:
    titles = [text.partition(":")[0] for text in finding_words(finding(), finding(path="6in4"))]
    assert titles == [
        "Goodput of TCP bulk transfer over IPv6, message 1 KiB",
        "Goodput of TCP bulk transfer over 6in4, message 1 KiB",
    ]


def many(*extreme: Finding) -> list[Finding]:
    """So many levels that they share a row, and these beside them."""
    others = [finding(levels={"message_bytes": 64 << index}, spread=0.001, n=10) for index in range(13)]
    return [*others, *extreme]


def test_the_interval_of_the_baseline_has_the_decimals_of_a_difference() -> None:
    loaded = finding(
        workload="latency-under-load", metric="rtt_increase", unit="ns", levels={}, path="ds-lite", n=3,
        value=78.65e6, baseline_value=87.98e6, ratio=None, difference=-9.33e6, ci_low=-70.2e6, ci_high=51.5e6,
        noise_low=-21.904e6, noise_high=26.742e6, theory=None, theory_baseline=None, verdict="inconclusive",
    )  # fmt: skip
    [text] = finding_words(loaded)
    assert "−9.3 ms [−70.2, +51.5]" in text
    assert "A/A −21.9 .. +26.7" in text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("latency-under-load", "latency under load"),
        ("tcp-stream", "TCP bulk transfer"),
        ("happy-eyeballs", "Happy Eyeballs"),
        ("frames", "Ethernet frames"),
        ("pmtu", "path MTU"),
    ],
)
def test_names_of_workloads_in_a_sentence_begin_small_unless_they_are_proper(kind: str, text: str) -> None:
    assert words.workload_in_sentence(kind) == text


def test_very_many_levels_share_a_row_that_counts_them() -> None:
    same = finding(
        levels={"message_bytes": 8}, ratio=0.999, ci_low=0.998, ci_high=1.0, verdict="equivalent", spread=0.001, n=10
    )
    [text] = finding_words(*many(same))
    assert text.startswith(
        "Goodput of TCP bulk transfer, 14 levels of message: IPv4 → IPv6, −1.31 % [−1.32, −1.29] on average, and the "
        "levels differ"
    )
    assert "decided: worse at 13 of 14, equivalent within 1 % at 1" in text
    assert "largest" not in text


def test_a_level_is_the_largest_only_where_its_interval_lies_apart() -> None:
    apart = finding(levels={"message_bytes": 8}, ratio=0.95, ci_low=0.94, ci_high=0.96)
    [text] = finding_words(*many(apart))
    assert "largest at message 8 B, −5.00 % [−6.00, −4.00]" in text
    overlapping = finding(levels={"message_bytes": 8}, ratio=0.95, ci_low=0.92, ci_high=0.9865)
    assert "largest" not in finding_words(*many(overlapping))[0]
    unknown = finding(levels={"message_bytes": 4}, n=1, verdict="inconclusive", ci_low=None, ci_high=None)
    assert "largest" not in finding_words(*many(apart, unknown))[0]


# --- bars ---------------------------------------------------------------------------------------------------------


def test_a_bar_shows_interval_noise_and_no_difference() -> None:
    [bar] = bars.bars([finding(ratio=0.98, ci_low=0.97, ci_high=0.99, noise_low=0.995, noise_high=1.01)], Statistics())
    assert bar is not None
    assert bar.noise is not None
    assert 0 < bar.low < bar.change < bar.high < bar.noise[0] < bar.none < bar.noise[1] < 1
    assert bars.text(bar, 24, bars.BLOCKS) == "━━━━━━●━━━━━  ░░░│░░░░░░"
    assert bars.text(bar, 24, bars.ASCII).isascii()


def test_bars_of_a_metric_share_a_scale_and_nothing_looks_like_nothing() -> None:
    wide, narrow = bars.bars([finding(ci_low=0.9, ci_high=1.08), finding()], Statistics())
    assert wide is not None
    assert narrow is not None
    assert narrow.none == wide.none
    assert narrow.high - narrow.low < 0.1 * (wide.high - wide.low)
    [tiny] = bars.bars([finding(ratio=1.0, ci_low=0.999999, ci_high=1.000001, theory=None)], Statistics())
    assert tiny is not None
    assert tiny.high - tiny.low < 0.001


def test_aa_comparisons_and_other_metrics_are_no_answers() -> None:
    assert finding_words(finding(is_aa=True), finding(metric="cpu_busy", unit="cores")) == []


# --- validity and evidence ----------------------------------------------------------------------------------------


def test_reasons_that_differ_in_numbers_only_count_as_one() -> None:
    run = synthetic.small()
    spoilt = {
        "b001-c0001-ipv4": ("invalid", "CPU busy for 97 %"),
        "b002-c0001-ipv4": ("invalid", "CPU busy for 98.5 %"),
        "b001-c0002-ipv6": ("failed", "CPU busy for 97 %"),
    }
    trials = validity.trials(synthetic.spoil(synthetic.small(blocks=2), spoilt).in_memory())  # type: ignore[arg-type]
    counts = {(reason.status, reason.text): reason.count for reason in trials.reasons}
    assert counts["invalid", "CPU busy for 97 %"] == 2
    assert counts["failed", "CPU busy for 97 %"] == 1
    assert validity.trials(run.in_memory()).planned == 4 * 3 * 3
