"""The `blocks`, `repeats` and `statistics` parts of an experiment."""

from __future__ import annotations

from typing import Any

from ..model import units
from ..model.experiment import Blocks, Statistics
from ..model.parameter import Parameter, Scalar
from ..model.quoting import shown
from ..model.workloads import WORKLOADS
from .key_reader import read_keys, read_plain, read_value
from .keys import CompoundKey, KnownKeys, ValueForms
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


def _share(name: str, doc: str) -> Parameter:
    def parse(value: object) -> Scalar:
        ratio = units.parse_ratio(value)
        if not 0 < ratio < 1:
            raise ValueError(f"{name} must be over 0% and under 100%, not {shown(value)}")
        return ratio

    return Parameter(name=name, kind="ratio", parser=parse, doc=doc)


def _time_ns(value: object) -> Scalar:
    time_ns = units.parse_duration(value)
    if not 0 < time_ns <= MAX_TIME_NS:
        raise ValueError(f"time must be over 0 s and at most 7 days, not {shown(value)}")
    return time_ns


def _confidence(value: object) -> Scalar:
    confidence = units.parse_ratio(value)
    if not 0.5 <= confidence < 1:
        raise ValueError("confidence must be at least 50% and under 100%")
    return confidence


def _margin(value: object) -> Scalar:
    margin = units.parse_ratio(value)
    if not 0 <= margin < 1:
        raise ValueError("margin must be at least 0% and under 100%")
    return margin


NUMBER = Parameter(name="blocks", kind="count", minimum=1, maximum=MAX_BLOCKS, doc="exactly this number")
RULES = KnownKeys(
    what="blocks",
    entries=(
        Parameter(
            name="min",
            kind="count",
            minimum=1,
            maximum=MAX_BLOCKS,
            doc="fewest blocks",
            unless_given=f"{DEFAULT_BLOCKS}, or max where that is less",
        ),
        Parameter(
            name="max",
            kind="count",
            minimum=1,
            maximum=MAX_BLOCKS,
            doc="most blocks",
            unless_given=(
                f"{DEFAULT_MAX_BLOCKS} with precision or deviation, {DEFAULT_MAX_DECIDED} with until, "
                f"{DEFAULT_MAX_TIMED} with time alone, else min"
            ),
        ),
        _share(
            "precision",
            "a combination is done when the confidence interval of every path's ratio to the baseline is no wider, "
            "each way, than this share of it",
        ),
        _share(
            "deviation",
            "a combination is done when the standard deviation of every path's values is under this share of their "
            "mean",
        ),
        Parameter(
            name="until",
            kind="choice",
            choices=("decided",),
            noun="rule to end blocks by",
            doc=(
                "decided: a combination is done when every path is different from the baseline, or equivalent to it; "
                "the error allows for all looks"
            ),
        ),
        Parameter(
            name="time",
            kind="duration",
            parser=_time_ns,
            doc=(
                "after the fewest blocks, no block begins that would end later than this time after the beginning of "
                "the run"
            ),
        ),
    ),
)
BLOCKS = CompoundKey(
    name="blocks",
    value=ValueForms((NUMBER, RULES)),
    default=DEFAULT_BLOCKS,
    doc="the number of blocks, and the rule to stop",
)

REPEATS = Parameter(
    name="repeats",
    kind="count",
    minimum=0,
    maximum=MAX_REPEATS,
    default=DEFAULT_REPEATS,
    doc=(
        "most repeats, within its block, of a trial that is invalid only because the machine was disturbed, such as by "
        "late timers"
    ),
)

MARGINS = KnownKeys(
    what="margins",
    entries=tuple(Parameter(name=name, kind="ratio", parser=_margin, doc="") for name in WORKLOADS),
)
STATISTICS_KEYS = KnownKeys(
    what="statistics",
    entries=(
        Parameter(
            name="confidence",
            kind="ratio",
            parser=_confidence,
            default=Statistics.confidence,
            doc="confidence of every interval",
        ),
        Parameter(
            name="margin",
            kind="ratio",
            parser=_margin,
            default=Statistics.margin,
            doc="largest difference that does not matter; equivalence is tested against it",
        ),
        CompoundKey(
            name="margins", value=MARGINS, doc="the same for workloads that have one of their own: {tcp-rr: 5%}"
        ),
        Parameter(
            name="trim",
            kind="count",
            minimum=0,
            maximum=MAX_TRIM,
            default=Statistics.trim,
            doc=(
                "number of the lowest and of the highest trials that a path's own estimate leaves out; comparisons "
                "use all"
            ),
        ),
        Parameter(
            name="estimator",
            kind="choice",
            choices=("biweight", "mean"),
            default=Statistics.estimator,
            doc=(
                "method that combines the ratios of a comparison's blocks: biweight gives outlying blocks little "
                "weight or none (from five blocks on), mean is the geometric mean"
            ),
        ),
        Parameter(
            name="pool",
            kind="line",
            doc=(
                "factor whose levels, such as servers or sites, stand for more of their kind: reports give the mean "
                "change over them by random effects, how they differ, and the outcome at each"
            ),
            unless_given="none",
        ),
    ),
)
STATISTICS = CompoundKey(
    name="statistics",
    value=STATISTICS_KEYS,
    unless_given="95%, 1%, none, 0, biweight, none",
    doc="the way from trials to findings",
)


def read_blocks(reader: Reader, data: dict[str, Any]) -> Blocks:
    """Reads a number of blocks, or the least and the most with the rule that stops earlier."""
    place: KeyPath = ("blocks",)
    value = data.get("blocks", DEFAULT_BLOCKS)
    if not isinstance(value, dict):
        if isinstance(value, bool) or not isinstance(value, int):
            reader.problem(place, f"blocks must be a whole number or a mapping such as {{min: 5}}, not {shown(value)}")
            value = DEFAULT_BLOCKS
        number = int(read_value(reader, place, value, NUMBER) or 1)
        return Blocks(minimum=number, maximum=number)
    given = read_keys(reader, place, value, RULES)
    read = read_plain(reader, place, given, RULES)
    if any(key in given and key not in read for key in ("min", "max")):
        return Blocks(minimum=1, maximum=1)
    minimum = read.get("min", min(DEFAULT_BLOCKS, read.get("max", DEFAULT_BLOCKS)))
    maximum = read.get("max", max(minimum, *_most(given)))
    if maximum < minimum:
        reader.problem((*place, "max"), f"max ({maximum}) is less than min ({minimum}); swap or change them")
    if "until" in read and minimum < FEWEST_DECIDED:
        reader.problem(
            (*place, "min") if "min" in given else place,
            f"until: decided needs at least {FEWEST_DECIDED} blocks, because fewer decide nothing; write "
            f"min: {DEFAULT_BLOCKS}",
        )
    return Blocks(
        minimum=minimum,
        maximum=maximum,
        precision=read.get("precision"),
        deviation=read.get("deviation"),
        until="decided" if "until" in read else None,
        time_ns=read.get("time"),
    )


def _most(given: dict[str, Any]) -> list[int]:
    """The defaults of `max` by the rules that are given."""
    by_ratio = "precision" in given or "deviation" in given
    by_time_alone = "time" in given and not by_ratio and "until" not in given
    rules = (
        (by_ratio, DEFAULT_MAX_BLOCKS),
        ("until" in given, DEFAULT_MAX_DECIDED),
        (by_time_alone, DEFAULT_MAX_TIMED),
    )
    return [1, *(most for is_given, most in rules if is_given)]


def read_statistics(reader: Reader, data: dict[str, Any]) -> Statistics:
    """Reads how findings are made of trials."""
    place: KeyPath = ("statistics",)
    given = read_keys(reader, place, data.get("statistics", {}), STATISTICS_KEYS)
    margins_place = (*place, "margins")
    margins = read_keys(reader, margins_place, given.get("margins", {}), MARGINS)
    read = read_plain(reader, place, given, STATISTICS_KEYS)
    return Statistics(**read, margins=read_plain(reader, margins_place, margins, MARGINS))
