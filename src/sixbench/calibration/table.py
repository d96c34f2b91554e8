"""A calibration as tables of texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ..report import words
from ..report.tables import Column, Table, left
from . import numbers
from .metrics import BY_NAME
from .results import OverPath

HEADINGS = ("path", "trials", "bias", "spread", "±", "coverage", "trusted")


def by_metric(found: Iterable[OverPath]) -> dict[str, list[OverPath]]:
    """The results of each metric, one a path, in their order."""
    groups: dict[str, list[OverPath]] = {}
    for over in found:
        groups.setdefault(over.metric, []).append(over)
    return groups


def summary_table(name: str, found: Sequence[OverPath]) -> Table:
    """The table of one metric, with a row for each path."""
    metric = BY_NAME[name]
    rows = []
    for over in found:
        spreads = [one.spread for one in over.at if one.spread is not None]
        uncertain = [one.uncertainty for one in over.at if one.is_trusted and one.uncertainty is not None]
        rows.append(
            [
                over.path,
                numbers.trials(over),
                numbers.bias(metric, over.bias),
                numbers.deviation(metric, max(spreads, default=None), sign=False),
                numbers.deviation(metric, max(uncertain, default=None), sign=False),
                numbers.coverage(over.coverage, over),
                numbers.trusted(metric, over),
            ]
        )
    columns = [
        Column(name=heading, align="left" if heading in ("path", "trusted") else "right") for heading in HEADINGS
    ]
    return Table(title=metric.label, columns=columns, rows=rows)


def truths_table(name: str, found: Sequence[OverPath]) -> Table:
    """The table of one metric, with a row for each truth and path."""
    metric = BY_NAME[name]
    rows = [
        [
            words.level(metric.column, one.truth),
            over.path,
            numbers.trials(one),
            numbers.bias(metric, one.bias),
            numbers.deviation(metric, one.spread, sign=False),
            numbers.deviation(metric, one.uncertainty, sign=False),
            f"{one.covered}/{one.judged}" if one.judged else "",
            "yes" if one.is_trusted else "no",
        ]
        for over in found
        for one in over.at
    ]
    columns = left(words.factor(metric.column), *HEADINGS)
    return Table(title=f"{metric.label}, truth by truth", columns=columns, rows=rows)


def remarks(found: Iterable[OverPath]) -> list[str]:
    """Remarks that a reader needs beside the tables, on biases that remain and on trials that were not valid."""
    said = []
    for name, paths in by_metric(found).items():
        metric = BY_NAME[name]
        for over in paths:
            biased = [one for one in over.at if one.bias is not None and not one.bias.has_zero]
            if biased:
                where = words.listing([words.level(metric.column, one.truth) for one in biased])
                worst = max(biased, key=lambda one: abs(one.bias.value) if one.bias else 0.0)
                cause = f"; {metric.causes}" if metric.causes else ""
                said.append(
                    f"{metric.label} over {over.path} is biased at {where}: "
                    f"{numbers.bias(metric, worst.bias)} at {words.level(metric.column, worst.truth)}{cause}"
                )
            said += [
                f"{metric.label} over {over.path}: {words.count(count, 'trial')} not valid, because: {reason}"
                for reason, count in _reasons(over)
            ]
    return said


def _reasons(over: OverPath) -> list[tuple[str, int]]:
    """The reasons why trials are not valid, the most frequent ones first. Of reasons that differ only in their
    numbers, one stands for all."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for one in over.at:
        for reason, count in one.unusable.items():
            kind = re.sub(r"[0-9]+(\.[0-9]+)?", "N", reason)
            counts[kind] += count
            examples.setdefault(kind, reason)
    return [(examples[kind], count) for kind, count in counts.most_common()]
