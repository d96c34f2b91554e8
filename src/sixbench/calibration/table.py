"""A calibration as tables of texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ..report import words
from ..report.tables import ColumnOf, Table, number_column, table_in, words_column
from . import numbers
from .metrics import BY_NAME
from .results import AtTruth, OverPath


def by_metric(over_paths: Iterable[OverPath]) -> dict[str, list[OverPath]]:
    """The results of each metric, one a path, in their order."""
    groups: dict[str, list[OverPath]] = {}
    for over in over_paths:
        groups.setdefault(over.metric, []).append(over)
    return groups


def summary_table(name: str, over_paths: Sequence[OverPath]) -> Table:
    """The table of one metric, with a row for each path."""
    metric = BY_NAME[name]

    def most(values: Iterable[float | None]) -> str:
        return numbers.deviation(metric, max((v for v in values if v is not None), default=None), sign=False)

    columns: list[ColumnOf[OverPath]] = [
        words_column("path", lambda over: over.path),
        number_column("trials", numbers.trials),
        number_column("bias", lambda over: numbers.bias(metric, over.bias)),
        number_column("spread", lambda over: most(item.spread for item in over.at)),
        number_column("±", lambda over: most(item.uncertainty for item in over.at if item.is_trusted)),
        number_column("coverage", lambda over: numbers.coverage(over.coverage, over)),
        words_column("trusted", lambda over: numbers.trusted(metric, over)),
    ]
    return table_in(metric.label, columns, over_paths)


def truths_table(name: str, over_paths: Sequence[OverPath]) -> Table:
    """The table of one metric, with a row for each truth and path."""
    metric = BY_NAME[name]
    columns: list[ColumnOf[tuple[OverPath, AtTruth]]] = [
        words_column(words.factor(metric.column), lambda item: words.level(metric.column, item[1].truth)),
        words_column("path", lambda item: item[0].path),
        words_column("trials", lambda item: numbers.trials(item[1])),
        words_column("bias", lambda item: numbers.bias(metric, item[1].bias)),
        words_column("spread", lambda item: numbers.deviation(metric, item[1].spread, sign=False)),
        words_column("±", lambda item: numbers.deviation(metric, item[1].uncertainty, sign=False)),
        words_column("coverage", lambda item: f"{item[1].covered}/{item[1].judged}" if item[1].judged else ""),
        words_column("trusted", lambda item: "yes" if item[1].is_trusted else "no"),
    ]
    items = [(over, at_truth) for over in over_paths for at_truth in over.at]
    return table_in(f"{metric.label}, truth by truth", columns, items)


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
