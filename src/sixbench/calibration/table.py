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


def by_metric(over_paths: Iterable[OverPath]) -> dict[str, list[OverPath]]:
    """The results of each metric, one a path, in their order."""
    groups: dict[str, list[OverPath]] = {}
    for over in over_paths:
        groups.setdefault(over.metric, []).append(over)
    return groups


def summary_table(name: str, over_paths: Sequence[OverPath]) -> Table:
    """The table of one metric, with a row for each path."""
    metric = BY_NAME[name]
    rows = []
    for over in over_paths:
        spreads = [at_truth.spread for at_truth in over.at if at_truth.spread is not None]
        uncertain = [
            at_truth.uncertainty for at_truth in over.at if at_truth.is_trusted and at_truth.uncertainty is not None
        ]
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


def truths_table(name: str, over_paths: Sequence[OverPath]) -> Table:
    """The table of one metric, with a row for each truth and path."""
    metric = BY_NAME[name]
    rows = [
        [
            words.level(metric.column, at_truth.truth),
            over.path,
            numbers.trials(at_truth),
            numbers.bias(metric, at_truth.bias),
            numbers.deviation(metric, at_truth.spread, sign=False),
            numbers.deviation(metric, at_truth.uncertainty, sign=False),
            f"{at_truth.covered}/{at_truth.judged}" if at_truth.judged else "",
            "yes" if at_truth.is_trusted else "no",
        ]
        for over in over_paths
        for at_truth in over.at
    ]
    columns = left(words.factor(metric.column), *HEADINGS)
    return Table(title=f"{metric.label}, truth by truth", columns=columns, rows=rows)


def remarks(over_paths: Iterable[OverPath]) -> list[str]:
    """Remarks that a reader needs beside the tables, on biases that remain and on trials that were not valid."""
    names = []
    for name, paths in by_metric(over_paths).items():
        metric = BY_NAME[name]
        for over in paths:
            biased = [at_truth for at_truth in over.at if at_truth.bias is not None and not at_truth.bias.has_zero]
            if biased:
                where = words.listing([words.level(metric.column, at_truth.truth) for at_truth in biased])
                worst = max(biased, key=lambda at_truth: abs(at_truth.bias.value) if at_truth.bias else 0.0)
                cause = f"; {metric.causes}" if metric.causes else ""
                names.append(
                    f"{metric.label} over {over.path} is biased at {where}: "
                    f"{numbers.bias(metric, worst.bias)} at {words.level(metric.column, worst.truth)}{cause}"
                )
            names += [
                f"{metric.label} over {over.path}: {words.count(count, 'trial')} not valid, because: {reason}"
                for reason, count in _reasons(over)
            ]
    return names


def _reasons(over: OverPath) -> list[tuple[str, int]]:
    """The reasons why trials are not valid, the most frequent ones first. Of reasons that differ only in their
    numbers, one stands for all."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for at_truth in over.at:
        for reason, count in at_truth.unusable.items():
            kind = re.sub(r"[0-9]+(\.[0-9]+)?", "N", reason)
            counts[kind] += count
            examples.setdefault(kind, reason)
    return [(examples[kind], count) for kind, count in counts.most_common()]
