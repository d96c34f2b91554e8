"""The `blocks` and `statistics` parts of an experiment."""

from __future__ import annotations

from typing import Any

from ..model import units
from ..model.experiment import Blocks, Statistics
from ..model.wording import shown
from .reader import Reader
from .yaml_source import KeyPath

DEFAULT_BLOCKS = 5
DEFAULT_MAX_BLOCKS = 30
"""Where a precision or deviation decides when to stop."""
MAX_BLOCKS = 10_000
MAX_TRIM = 1000

BLOCKS_KEYS = ("min", "max", "precision", "deviation")
STATISTICS_KEYS = ("confidence", "margin", "trim")


def read_blocks(reader: Reader, data: dict[str, Any]) -> Blocks:
    """Reads a number of blocks, or how many there are at least and at most and what stops them."""
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
    if None in counts.values():
        return Blocks(minimum=1, maximum=1)
    minimum = counts.get("min") or min(DEFAULT_BLOCKS, counts.get("max") or DEFAULT_BLOCKS)
    maximum = counts.get("max") or (max(minimum, DEFAULT_MAX_BLOCKS) if ratios else minimum)
    if maximum < minimum:
        reader.problem((*place, "max"), f"max ({maximum}) is under min ({minimum}); swap or change them")
    return Blocks(
        minimum=minimum, maximum=maximum, precision=ratios.get("precision"), deviation=ratios.get("deviation")
    )


def read_statistics(reader: Reader, data: dict[str, Any]) -> Statistics:
    """Reads how trials become findings."""
    defaults = Statistics()
    place: KeyPath = ("statistics",)
    given = reader.mapping(place, data["statistics"], "statistics", STATISTICS_KEYS) if "statistics" in data else {}
    confidence: float | None = defaults.confidence
    if "confidence" in given:
        confidence = reader.parsed((*place, "confidence"), given["confidence"], units.parse_ratio)
        if confidence is not None and not 0.5 <= confidence < 1:
            reader.problem((*place, "confidence"), "confidence must be at least 50% and under 100%")
    margin: float | None = defaults.margin
    if "margin" in given:
        margin = reader.parsed((*place, "margin"), given["margin"], units.parse_ratio)
        if margin is not None and not 0 <= margin < 1:
            reader.problem((*place, "margin"), "margin must be at least 0% and under 100%")
    trim = reader.count((*place, "trim"), given.get("trim", defaults.trim), "trim", 0, MAX_TRIM)
    return Statistics(
        confidence=defaults.confidence if confidence is None else confidence,
        margin=defaults.margin if margin is None else margin,
        trim=trim or 0,
    )


def _share(reader: Reader, path: KeyPath, value: Any) -> float | None:
    ratio = reader.parsed(path, value, units.parse_ratio)
    if ratio is not None and not 0 < ratio < 1:
        reader.problem(path, f"{path[-1]} must be over 0% and under 100%, not {shown(value)}")
    return ratio
