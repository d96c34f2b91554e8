"""The factor whose comparisons are pooled (`statistics.pool`), found among the levels of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model.experiment import Combination, Statistics
from ..model.quoting import shown
from .factors import Factors
from .reader import Reader, suggest
from .yaml_source import KeyPath

_PLACE: KeyPath = ("statistics", "pool")


def with_pooled_column(
    reader: Reader, statistics: Statistics, factors: Factors, combinations: Sequence[Combination]
) -> Statistics:
    """The statistics with the column of levels of the factor that they pool, which is named by itself or by its column.
    Without one, and noted, where there is no such factor."""
    if statistics.pool is None:
        return statistics
    return replace(statistics, pool=_column(reader, statistics.pool, factors, combinations))


def _column(reader: Reader, name: str, factors: Factors, combinations: Sequence[Combination]) -> str | None:
    levels: dict[str, set[object]] = {}
    for combination in combinations:
        for column, level in combination.levels.items():
            levels.setdefault(column, set()).add(level)
    columns = [column for column in levels if len(levels[column]) > 1 or factors.name_of(column) != column]
    by_name = {factors.name_of(column): column for column in columns} | {column: column for column in columns}
    if name in by_name:
        return by_name[name]
    if name in factors.of_paths:
        words = f"each level of ${name} makes a path of its own, and is compared with the baseline by itself"
        reader.problem(_PLACE, f"{words}; pool a factor of the network or of the workloads")
    elif columns:
        reader.problem(_PLACE, f"there is no factor {shown(name)}; {suggest(name, by_name)}")
    else:
        reader.problem(_PLACE, "nothing varies in this experiment; give a list of values, or leave pool out")
    return None
