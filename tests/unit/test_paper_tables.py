"""Tables in a paper's own columns, from the file to the report; and claims on amounts, other paths, and shares."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from paper_runs import GOODPUT, HEAD, claim, paper_of, read, run_of, same, slower_ipv6, verdict

from sixbench.analysis.claims import in_own_columns
from sixbench.analysis.estimates import estimates
from sixbench.analysis.findings import findings
from sixbench.analysis.published_values import in_theory
from sixbench.model.errors import ExperimentError
from sixbench.model.finding import ComparedColumn, ComparedTable
from sixbench.model.paper import Amount, Contrast, DirectionTest, Magnitude, OurMeasurement, OurTheory, Trend
from sixbench.report.tables import paper_table
from sixbench.store import Run

pytestmark = pytest.mark.computes

COLUMNS = """\
    columns:
      - {heading: Event, block: true}
      - {heading: Length, unit: B, level: length_bytes}
      - {heading: Rate, unit: Mbit/s, ours: {workload: tcp-stream, metric: goodput, path: ipv6}}
      - {heading: Sent, unit: KiB, ours: {workload: tcp-stream, metric: goodput, path: ipv4, over: 60s}}
      - {heading: Remark}
"""


def table(rows: str, columns: str = COLUMNS) -> str:
    return f"{HEAD}claims: []\ntables:\n  - name: Table 9\n    title: t\n{columns}    rows: {rows}\n"


# The file


def test_a_table_is_read() -> None:
    [only_table] = read(table("[[2, 128, 9.5, 10, null]]")).tables
    [row] = only_table.rows
    assert (row.cells, row.levels, row.block) == ((2, 128, 9.5, 10, None), {"length_bytes": 128}, 2)
    assert isinstance(only_table.columns[3].ours, OurMeasurement)
    assert only_table.columns[3].ours.over_ns == 60 * 10**9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (table("[[1, 128, 9]]"), "3 numbers in a table of 5 columns; write null where one is missing"),
        (table("[[1, 128, many, 10, null]]"), '"many" is not a number'),
        (table("[[1, null, 9, 10, null]]"), "nothing is not a number"),
        (table("[[1.5, 128, 9, 10, null]]"), "Event must be a whole number, not 1.5"),
        (table("[]", ""), "columns and rows need each other"),
        (table("[]", COLUMNS.replace("block: true", "block: true, level: a")), "a column is one thing: level or block"),
        (
            table("[]", COLUMNS.replace("unit: Mbit/s", "unit: ms")),
            "goodput by the formula value cannot be compared with",
        ),
        (
            table("[]", COLUMNS.replace("metric: goodput, path: ipv4", "metric: transfer_time, path: ipv4")),
            "does not add up",
        ),
        (table("[]", COLUMNS.replace("heading: Remark", "unit: B")), "heading is missing"),
    ],
)
def test_errors_of_tables(text: str, message: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        read(text)
    assert message in str(raised.value)


def test_an_amount_is_kept_in_the_metrics_unit() -> None:
    test = "{amount: {workload: tcp-stream, metric: transfer_time, path: ipv6, unit: s, low: 0.9, high: 1.25}}"
    claim_test = read(claim(f"test: {test}")).claims[0].test
    assert isinstance(claim_test, Amount)
    assert (claim_test.low, claim_test.high) == (0.9e9, 1.25e9)
    other = test.replace("unit: s", "unit: KiB")
    with pytest.raises(ExperimentError, match="cannot be compared with a number in KiB"):
        read(claim(f"test: {other}"))


# Ours in it


def compared(rows: str, run: Run) -> ComparedTable:
    [result] = in_own_columns(
        replace(paper_of(), tables=read(table(rows)).tables),
        run,
        findings(run, actual_estimates := estimates(run)),
        actual_estimates,
    )
    return result


def test_repetitions_stand_beside_blocks_and_levels_beside_levels() -> None:
    run = run_of(slower_ipv6, blocks=3)
    comparison = compared("[[1, 128, 9, 9, null], [2, 640, 9, 9, 1], [4, 128, 9, 9, null], [1, 99, 9, 9, null]]", run)
    value = {
        (t.block, t.path, t.levels["length_bytes"]): t.metrics["goodput_bps"] for t in run.trials if t.status == "ok"
    }
    assert comparison.ours[0][2] == pytest.approx(value[1, "ipv6", 128] / 1e6)
    assert comparison.ours[1][3] == pytest.approx(value[2, "ipv4", 640] * 60 / 8192)
    assert comparison.ours[2] == [None] * 5
    assert comparison.ours[3] == [None] * 5
    assert [column.role for column in comparison.columns] == ["repetition", "level", "result", "result", "result"]


def test_a_table_is_shown_with_ours_beside_and_below() -> None:
    columns = [
        ComparedColumn(heading="Buffer (Mbyte)", unit="MiB", role="level", is_compared=False),
        ComparedColumn(heading="Time (sec)", unit="s", role="result", is_compared=True),
    ]
    shown = ComparedTable(
        name="Table 1",
        title="t",
        note="",
        columns=columns,
        rows=[[10, 0.89], [20, 1.897]],
        ours=[[None, 0.9123], [None] * 2],
    )
    beside = paper_table(shown)
    assert [column.name for column in beside.columns] == ["Buffer (Mbyte) (MiB)", "Time (sec)", "ours"]
    assert beside.rows == [["10", "0.89", "0.912"], ["20", "1.897", "–"]]
    below = paper_table(shown, paired=True)
    assert below.rows[:2] == [["paper", "10", "0.89"], ["ours", "", "0.912"]]


# What headers make of one packet


def test_headers_of_one_packet() -> None:
    share = OurTheory(quantity="ip_header_percent", mechanism="native6", transport="tcp", message_bytes=44)
    more = OurTheory(quantity="extra_ip_header_percent", mechanism="native6", transport="tcp", message_bytes=1514)
    assert in_theory(share) == pytest.approx(100 * 40 / 44)
    assert in_theory(more) == pytest.approx(100 * 20 / 1514)


# Claims on amounts, on other paths, and on shares


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(99e6, 101e6, "reproduced"), (1e6, 2e6, "not reproduced"), (1e6, 1e9, "reproduced")]
)
def test_an_amount(low: float, high: float, expected: str) -> None:
    assert verdict(Amount(selector=GOODPUT, low=low, high=high), run_of(same)).verdict == expected


def test_an_amount_tells_its_values() -> None:
    result = verdict(Amount(selector=GOODPUT, low=1e6, high=2e6), run_of(slower_ipv6))
    assert "1 Mbit/s to 2 Mbit/s" in result.reason
    assert "values from 121.5 Mbit/s to 1.339 Gbit/s" in result.reason


def test_a_path_against_another_than_the_baseline() -> None:
    against = DirectionTest(selector=replace(GOODPUT, paths=("ipv4",)), expect="higher", against="ipv6")
    assert verdict(against, run_of(slower_ipv6)).verdict == "reproduced"
    assert "against ipv6" in verdict(against, run_of(slower_ipv6)).reason
    assert verdict(replace(against, expect="lower"), run_of(slower_ipv6)).verdict == "opposite"
    assert verdict(replace(against, expect="equivalent"), run_of(same)).verdict == "reproduced"


def test_not_lower_is_the_same_or_more() -> None:
    test = DirectionTest(selector=GOODPUT, expect="not lower")
    assert verdict(test, run_of(same)).verdict == "reproduced"
    assert verdict(test, run_of(slower_ipv6)).verdict == "opposite"
    assert verdict(replace(test, expect="not higher"), run_of(slower_ipv6)).verdict == "reproduced"
    assert verdict(test, run_of(slower_ipv6, noise=0.2)).verdict == "undecided"


Loss = Callable[[str, int], float]


def losing(loss: Loss) -> Run:
    """Shares of which many are 0, with noise where they are not."""
    dice = random.Random(3)

    def value(path: str, length: int) -> float:
        share = loss(path, length)
        return share * (1 + dice.gauss(0, 0.01))

    return run_of(value, noise=0, column="loss_ratio")


LOSS = replace(GOODPUT, metric="loss_ratio")


def test_shares_are_compared_by_difference() -> None:
    run = losing(lambda path, length: 0.0 if path == "ipv4" else 0.1)
    higher = DirectionTest(selector=LOSS, expect="higher")
    assert verdict(higher, run).verdict == "reproduced"
    assert "pp" in verdict(higher, run).reason
    assert verdict(replace(higher, expect="lower"), run).verdict == "opposite"
    assert verdict(replace(higher, expect="equivalent", margin=0.2), run).verdict == "reproduced"
    points = Magnitude(selector=LOSS, formula="of-baseline", low=9, high=11)
    assert verdict(points, run).verdict == "reproduced"


def test_shares_that_grow_from_nothing() -> None:
    run = losing(lambda path, length: {128: 0.0, 640: 0.05, 1408: 0.3}[length])
    trend = Trend(selector=LOSS, of="value", factor="length_bytes", expect="rises")
    contrast = Contrast(selector=LOSS, of="value", factor="length_bytes", at=128, then=1408, expect="rises")
    assert verdict(trend, run).verdict == "reproduced"
    assert verdict(contrast, run).verdict == "reproduced"
    assert "+29.8 pp" in verdict(contrast, run).reason
    assert verdict(replace(contrast, expect="falls"), run).verdict == "opposite"


def test_a_loss_whose_interval_reaches_zero_is_not_no_loss() -> None:
    dice = random.Random(5)
    run = losing(lambda path, length: dice.choice([0.0, 0.0, 0.014]))
    result = verdict(Amount(selector=LOSS, low=0, high=0.00005, quantifier="all"), run)
    assert result.verdict in ("undecided", "not reproduced")


def test_no_loss_at_all_is_no_trend() -> None:
    run = losing(lambda path, length: 0.0)
    assert verdict(Amount(selector=LOSS, low=0, high=0.00005), run).verdict == "reproduced"
    trend = Trend(selector=LOSS, of="value", factor="length_bytes", expect="rises")
    assert verdict(trend, run).verdict == "not reproduced"
