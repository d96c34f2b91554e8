"""The `blocks`, `repeats` and `statistics` parts of an experiment."""

from __future__ import annotations

from typing import Any

from ..model import units
from ..model.experiment import Blocks, Statistics
from ..model.quoting import shown
from ..model.workloads import WORKLOADS
from .reader import Reader
from .yaml_source import KeyPath

DEFAULT_BLOCKS = 5
DEFAULT_MAX_BLOCKS = 30
"""The default of `max` where a precision or deviation decides when to stop."""
DEFAULT_MAX_DECIDED = 60
"""The default of `max` where blocks go on until answers are decided."""
DEFAULT_MAX_TIMED = 200
"""The default of `max` where only the time decides when to stop."""
MAX_BLOCKS = 10_000
MAX_TRIM = 1000
MAX_TIME_NS = 7 * 24 * 3600 * 10**9
FEWEST_DECIDED = 3
"""The fewest blocks with `until: decided`. Two pairs have an interval of 12.7 standard errors each way."""

DEFAULT_REPEATS = 2
"""Most repeats of a disturbed trial, unless the experiment says otherwise. By chance, late timers that hit one trial in
six leave one planned trial in two hundred without a valid one after two repeats. A third repeat would seldom help: what
hits three trials in a row goes on, and each takes time."""
MAX_REPEATS = 10
"""A fault that outlasts ten repeats is no disturbance, but a property of the machine."""

BLOCKS_KEYS = ("min", "max", "precision", "deviation", "until", "time")
UNTIL = ("decided",)
STATISTICS_KEYS = ("confidence", "margin", "margins", "trim", "estimator")
ESTIMATORS = ("biweight", "mean")


def read_blocks(reader: Reader, data: dict[str, Any]) -> Blocks:
    """Reads a number of blocks, or the least and the most with the rule that stops earlier."""
    place: KeyPath = ("blocks",)
    value = data.get("blocks", DEFAULT_BLOCKS)
    if not isinstance(value, dict):
        if isinstance(value, bool) or not isinstance(value, int):
            reader.problem(place, f"blocks must be a whole number or a mapping such as {{min: 5}}, not {shown(value)}")
            value = DEFAULT_BLOCKS
        number = reader.count(place, value, "blocks", 1, MAX_BLOCKS) or 1
        return Blocks(minimum=number, maximum=number)
    given = reader.mapping(place, value, "blocks", BLOCKS_KEYS)
    ratios = {key: _share(reader, (*place, key), given[key]) for key in ("precision", "deviation") if key in given}
    counts = {
        key: reader.count((*place, key), given[key], key, 1, MAX_BLOCKS) for key in ("min", "max") if key in given
    }
    until = (
        reader.one_of((*place, "until"), given["until"], "rule to end blocks by", UNTIL) if "until" in given else None
    )
    time_ns = _time(reader, (*place, "time"), given["time"]) if "time" in given else None
    if None in counts.values():
        return Blocks(minimum=1, maximum=1)
    minimum = counts.get("min") or min(DEFAULT_BLOCKS, counts.get("max") or DEFAULT_BLOCKS)
    most = [
        *([DEFAULT_MAX_BLOCKS] if ratios else []),
        *([DEFAULT_MAX_DECIDED] if "until" in given else []),
        *([DEFAULT_MAX_TIMED] if not ratios and "until" not in given and "time" in given else []),
    ]
    maximum = counts.get("max") or max(minimum, *most, 1)
    if maximum < minimum:
        reader.problem((*place, "max"), f"max ({maximum}) is less than min ({minimum}); swap or change them")
    if until is not None and minimum < FEWEST_DECIDED:
        reader.problem(
            (*place, "min") if "min" in given else place,
            f"until: decided needs at least {FEWEST_DECIDED} blocks, because fewer decide nothing; write "
            f"min: {DEFAULT_BLOCKS}",
        )
    return Blocks(
        minimum=minimum,
        maximum=maximum,
        precision=ratios.get("precision"),
        deviation=ratios.get("deviation"),
        until="decided" if until is not None else None,
        time_ns=time_ns,
    )


def read_repeats(reader: Reader, data: dict[str, Any]) -> int:
    """Reads how often a trial may be repeated during which the machine was disturbed."""
    number = reader.count(("repeats",), data.get("repeats", DEFAULT_REPEATS), "repeats", 0, MAX_REPEATS)
    return number or 0


def read_statistics(reader: Reader, data: dict[str, Any]) -> Statistics:
    """Reads how findings are made of trials."""
    defaults = Statistics()
    place: KeyPath = ("statistics",)
    given = reader.mapping(place, data["statistics"], "statistics", STATISTICS_KEYS) if "statistics" in data else {}
    confidence: float | None = defaults.confidence
    if "confidence" in given:
        confidence = reader.parsed((*place, "confidence"), given["confidence"], units.parse_ratio)
        if confidence is not None and not 0.5 <= confidence < 1:
            reader.problem((*place, "confidence"), "confidence must be at least 50% and under 100%")
    margin = _margin(reader, (*place, "margin"), given["margin"]) if "margin" in given else None
    margins = reader.mapping((*place, "margins"), given.get("margins", {}), "margins", tuple(WORKLOADS))
    of_workloads = {name: _margin(reader, (*place, "margins", name), value) for name, value in margins.items()}
    trim = reader.count((*place, "trim"), given.get("trim", defaults.trim), "trim", 0, MAX_TRIM)
    estimator = reader.one_of(
        (*place, "estimator"), given.get("estimator", defaults.estimator), "estimator", ESTIMATORS
    )
    return Statistics(
        confidence=defaults.confidence if confidence is None else confidence,
        margin=defaults.margin if margin is None else margin,
        trim=trim or 0,
        estimator="mean" if estimator == "mean" else "biweight",
        margins={name: value for name, value in of_workloads.items() if value is not None},
    )


def _margin(reader: Reader, place: KeyPath, value: Any) -> float | None:
    margin = reader.parsed(place, value, units.parse_ratio)
    if margin is not None and not 0 <= margin < 1:
        reader.problem(place, "margin must be at least 0% and under 100%")
    return margin


def _time(reader: Reader, path: KeyPath, value: Any) -> int | None:
    time_ns = reader.parsed(path, value, units.parse_duration)
    if time_ns is not None and not 0 < time_ns <= MAX_TIME_NS:
        reader.problem(path, f"time must be over 0 s and at most 7 days, not {shown(value)}")
    return time_ns


def _share(reader: Reader, path: KeyPath, value: Any) -> float | None:
    ratio = reader.parsed(path, value, units.parse_ratio)
    if ratio is not None and not 0 < ratio < 1:
        reader.problem(path, f"{path[-1]} must be over 0% and under 100%, not {shown(value)}")
    return ratio
