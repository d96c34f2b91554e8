"""Values, baselines and changes of random runs agree in everything that is printed."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
import synthetic

from sixbench.analysis import analyse
from sixbench.model.finding import Analysis, Finding
from sixbench.report import answers, marks, rows, tables
from sixbench.report.finding_columns import BASELINE, CHANGE, TABLE, VALUE, FindingTable
from sixbench.report.formats import FORMATS
from sixbench.store import Run

pytestmark = pytest.mark.computes

SEEDS = range(6)
NUMBER = r"[+−]?\d+(?:\.\d+)?"
ROW = re.compile(rf"^IPv4 ({NUMBER}) → \S+ ({NUMBER}) (\S+)$")


def random_run(seed: int) -> Run:
    """A run with wild trials, blocks without a trial of one path, and losses of which some are zero."""
    dice = random.Random(seed)
    small_run = synthetic.small(blocks=dice.choice([2, 4, 5, 7, 12]))
    trials = []
    for trial in small_run.trials:
        metrics = dict(trial.metrics)
        if dice.random() < 0.2:
            metrics = {name: value * dice.choice([0.04, 0.5, 7.0]) for name, value in metrics.items()}
        if metrics and "retransmits_ratio" in metrics:
            metrics["retransmits_ratio"] = dice.choice([0.0, 0.0, 0.00465, 0.02 * dice.random()])
        is_missing = dice.random() < 0.1
        status = "failed" if is_missing and trial.status == "ok" else trial.status
        trials.append(replace(trial, metrics={} if is_missing else metrics, status=status))
    return replace(small_run, trials=trials).in_memory()


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("$-$", "-"))


def agree(value: str, baseline: str, change: str, *, is_percent: bool) -> bool:
    """True if the texts agree to the last digit of the change; a tie may be rounded to either side."""
    decimals = len(change.partition(".")[2])
    actual_number, base = number(value), number(baseline)
    computed = 100 * (actual_number / base - 1) if is_percent else actual_number - base
    return abs(computed - number(change)) <= (0.5 + 1e-5) * 10**-decimals


def analysed() -> Iterator[tuple[Run, Analysis]]:
    for seed in SEEDS:
        run = random_run(seed)
        yield run, analyse(run)


def test_values_give_the_printed_change_in_every_row_of_every_table() -> None:
    checked = 0
    for _, analysis in analysed():
        for finding_table in tables.finding_tables(analysis.findings, 0.95):
            names = [column.name for column in finding_table.columns]
            at = names.index(next(name for name in names if name.startswith("change")))
            unit = re.search(r"\((.+)\)", names[at])
            for row in finding_table.rows:
                value, baseline, change = row[at - 2 : at + 1]
                text = change if unit else change.rpartition(" ")[0]
                if unit and unit[1] == "%" and re.fullmatch(NUMBER, value) and re.fullmatch(NUMBER, text):
                    assert agree(value, baseline, text, is_percent=True), (finding_table.title, row)
                    checked += 1
                elif unit and unit[1] == "pp":
                    assert agree(value, baseline, text, is_percent=False), (finding_table.title, row)
                    checked += 1
    assert checked > 50


def test_values_give_the_printed_change_in_every_answer() -> None:
    checked = 0
    for run, analysis in analysed():
        for answer in answers.answer_rows(analysis, run.manifest.experiment.statistics, run.trials):
            row_match = ROW.match(answer.values.replace("\u00a0", " "))
            if row_match and answer.change:
                change = answer.change.split()[0]
                assert agree(row_match[2], row_match[1], change, is_percent=True), (answer.values, answer.change)
                checked += 1
    assert checked > 5


def test_values_give_the_printed_change_in_every_row_of_the_page() -> None:
    for _, analysis in analysed():
        for finding in analysis.findings:
            row = rows.row(finding)
            if finding.ratio is None or "−" in row.value or row.change.startswith(">"):
                continue
            (value, unit), (base, base_unit) = row.value.split(" "), row.baseline_value.split(" ")
            if unit == base_unit:
                assert agree(value, base, row.change.split()[0], is_percent=True), row


@pytest.mark.parametrize("form", ["terminal", "md", "latex"])
def test_values_give_the_printed_change_in_the_text_of_every_format(form: str) -> None:
    """The lines of a format in which the cells of a table stand next to one another."""
    checked = 0
    for run, analysis in analysed():
        text = FORMATS[form].render(run, analysis)
        text = text.replace("$-$", "−").replace(" & ", " | ")
        for finding in analysis.findings:
            [group] = rows.grouped([finding])
            [texts] = FindingTable.of(group, TABLE).texts()
            cells = [re.escape(texts[column]) for column in (VALUE, BASELINE, CHANGE)]
            checked += re.search(rf"{cells[0]}[ |]+{cells[1]}[ |]+{cells[2]}[ |]", text) is not None
    assert checked > 10


def test_programs_read_values_whose_ratio_and_difference_are_the_change() -> None:
    for run, analysis in analysed():
        for finding in json.loads(FORMATS["json"].render(run, analysis))["findings"]:
            _check(finding["value"], finding["baseline_value"], finding["ratio"], finding["difference"])
        for line in csv.DictReader(io.StringIO(FORMATS["csv"].render(run, analysis))):
            texts = (line[name] for name in ("value", "baseline_value", "ratio", "difference"))
            _check(*(float(text) if text else None for text in texts))


def _check(value: float | None, base: float | None, ratio: float | None, difference: float | None) -> None:
    if value is None or base is None:
        assert (value, base, ratio, difference) == (None,) * 4
        return
    assert difference == value - base
    if ratio is not None:
        assert ratio == value / base


def test_intervals_of_what_cannot_be_negative_are_not_negative() -> None:
    lows = [estimate.ci_low for _, analysis in analysed() for estimate in analysis.estimates]
    assert len(lows) > 100
    assert min(low for low in lows if low is not None) >= 0


def _finding(**known: object) -> Finding:
    given: dict[str, object] = {
        "workload": "tcp-stream",
        "metric": "goodput",
        "unit": "bit/s",
        "levels": {},
        "combination": "c1",
        "path": "ipv6",
        "baseline": "ipv4",
        "n": 10,
        "verdict": "equivalent",
        "value": 0.9986e8,
        "baseline_value": 1e8,
        "ratio": 0.9986,
        "ci_low": 0.9985,
        "ci_high": 0.9987,
        "difference": -0.0014e8,
    }
    return Finding(**given | known)  # type: ignore[arg-type]


def test_blocks_that_say_otherwise_are_in_every_text_of_a_row() -> None:
    finding = _finding(direction="lower", outlying=2, apart=2, apart_low=0.03, apart_high=0.23)
    statistics = synthetic.small().manifest.experiment.statistics
    assert "in 8 of 10 blocks" in marks.mark(finding, statistics)
    assert "77 to 97 % less in 2" in marks.mark(finding, statistics)
    equal = _finding(outlying=2, apart=2, apart_low=0.03, apart_high=0.23)
    assert marks.mark(equal, statistics) == "equal in 8 of 10 blocks; 77 to 97 % less in 2"
    assert marks.verdict(equal) == "equal in 8 of 10; 77 to 97 % less in 2"
    assert marks.word(equal) == "equivalent in most"
    both = replace(equal, apart_low=0.2, apart_high=15.31)
    assert marks.verdict(both) == "equal in 8 of 10; 80 % less to 15 times as much in 2"
    assert rows.tone(equal) == "mixed"


def test_a_real_difference_within_the_margin_is_two_answers() -> None:
    small = _finding(direction="higher", value=1.0344e8, ratio=1.0344, ci_low=1.0268, ci_high=1.0420)
    statistics = replace(synthetic.small().manifest.experiment.statistics, margin=0.05)
    assert marks.mark(small, statistics) == "higher by 3.44 %, less than the 5 % that matter here"
    assert (small.mark, marks.verdict(small), rows.tone(small)) == ("small", "slightly higher", "small")
    assert math.isclose(small.ratio or 0, 1.0344)
