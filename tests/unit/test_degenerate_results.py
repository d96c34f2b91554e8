"""Results at the edge of what can be computed: no format prints a number that is none, or contradicts itself."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import synthetic

from sixbench.analysis import analyse
from sixbench.model.finding import Analysis, ClaimResult
from sixbench.report import marks, rows
from sixbench.report.formats import FORMATS
from sixbench.store import Run

pytestmark = pytest.mark.computes

Change = Callable[[float, int, random.Random], float]
"""The value of a trial, its block, and chance."""

CHANGES: tuple[Change, ...] = (
    lambda value, block, dice: 0.0,
    lambda value, block, dice: value if block == 1 else 0.0,
    lambda value, block, dice: 1e-12,
    lambda value, block, dice: 1e18 if dice.random() < 0.5 else 1e-12,
    lambda value, block, dice: 1e5,
    lambda value, block, dice: value * dice.choice([1.0, 1.0, 1e-9, 1e9]),
    lambda value, block, dice: value * (1 - 1e-15 * block),
    lambda value, block, dice: -0.0,
)

NO_NUMBER = re.compile(r"(?i)(?<![\w.])[+−-]?(nan|inf|infinity)(?![\w-])")
NEGATIVE_ZERO = re.compile(r"(?<![\w.])[−-]0(\.0+)?(?![\w.:/–-])")


@cache
def degenerate(seed: int) -> tuple[Run, Analysis]:
    """A run of one, two or seven blocks in which each metric of each path at each combination has values of one such
    kind, and some pairs are missing."""
    dice = random.Random(seed)
    small_run = synthetic.small(blocks=(1, 2, 7)[seed % 3])
    kinds: dict[tuple[str, str, str], Change] = {}
    trials = []
    for trial in small_run.trials:
        metrics = {}
        for name, value in trial.metrics.items():
            change = kinds.setdefault((trial.combination, trial.path, name), dice.choice(CHANGES))
            metrics[name] = change(value, trial.block, dice)
        is_missing = trial.status == "ok" and dice.random() < 0.1
        trials.append(
            replace(trial, metrics={} if is_missing else metrics, status="failed" if is_missing else trial.status)
        )
    run = replace(small_run, trials=trials).in_memory()
    return run, analyse(run)


def shown(form: str, text: str) -> str:
    """The text of a format as a reader sees it, without marks-up."""
    if form == "html":
        text = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", text)
        text = html.unescape(re.sub(r"<[^>]*>", " ", text))
    if form == "latex":
        text = re.sub(r"(?m)(?<!\\)%.*$", "", text).replace("$-$", "−").replace("{,}", "")
        text = re.sub(r"\\addplot.*?;|\\[a-zA-Z]+(\[[^]]*\])?", " ", text)
    return text


def test_numbers_that_are_none_are_recognised() -> None:
    assert [bool(NO_NUMBER.search(text)) for text in ("nan %", "+inf", "-Infinity", "info", "native-in")] == [
        *(True,) * 3,
        *(False,) * 2,
    ]
    assert [bool(NEGATIVE_ZERO.search(text)) for text in ("−0.00 %", "-0", "−0.01", "10-0", "1-0.5")] == [
        *(True,) * 2,
        *(False,) * 3,
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", [form for form in FORMATS if form != "html"])
def test_no_format_prints_what_is_no_number(form: str, seed: int) -> None:
    check(form, seed)


@pytest.mark.parametrize("seed", [2])
def test_the_page_prints_nothing_that_is_no_number(seed: int) -> None:
    check("html", seed)


CLAIM = ClaimResult(
    claim="c", text="It is faster", source="Table 1", verdict="too small to matter", reason="+3.4 %; claimed: higher"
)


def check(form: str, seed: int) -> None:
    run, analysis = degenerate(seed)
    render = FORMATS[form].render(run, replace(analysis, claims=[CLAIM]))
    text = shown(form, render)
    assert not NO_NUMBER.findall(text), around(NO_NUMBER, text)
    if form not in ("json", "csv"):
        assert not NEGATIVE_ZERO.findall(text), around(NEGATIVE_ZERO, text)
    if form != "csv":
        assert CLAIM.verdict in " ".join(text.split())
    if form == "html":
        assert "badge claim-too-small-to-matter" in render


def around(pattern: re.Pattern[str], text: str) -> list[str]:
    """The surroundings of what was found."""
    return [text[max(0, item.start() - 60) : item.end() + 30] for item in pattern.finditer(text)][:5]


@pytest.mark.parametrize("seed", range(12))
def test_words_and_numbers_of_a_row_say_the_same(seed: int) -> None:
    _, analysis = degenerate(seed)
    for finding in analysis.findings:
        row, word = rows.row(finding), marks.word(finding)
        ends = (finding.ci_low, finding.ci_high)
        if finding.mark in ("decided", "small"):
            assert None not in ends
            sign = "+" if finding.direction == "higher" else "−"
            assert finding.direction in word
            assert row.change.startswith((sign, ">+", "<−")) or set(row.change.split()[0]) <= set("0."), row
            none = 0.0 if finding.ratio is None else 1.0
            assert all((end > none) == (finding.direction == "higher") for end in ends if end is not None)
        if finding.mark in ("undecided", "too variable"):
            assert None not in ends
        if finding.ratio is not None and None not in ends:
            assert (finding.ci_low or 0) <= finding.ratio <= (finding.ci_high or 0)
