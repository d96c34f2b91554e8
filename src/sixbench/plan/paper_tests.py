"""The selection of our results in `published.yaml`, and the test of a claim on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..model import units
from ..model.metric import CPU_METRICS, METRICS
from ..model.paper import (
    PER_MESSAGE,
    SYSTEM,
    WORKLOAD,
    Amount,
    ClaimTest,
    Contrast,
    DirectionTest,
    InTheory,
    Magnitude,
    OurMeasurement,
    OurTheory,
    Selector,
    Trend,
    own_unit,
    unit_factor,
)
from ..model.parameter import Parameter, Scalar
from ..model.quoting import shown
from ..model.workloads import WORKLOADS
from .key_reader import read_keys, read_plain
from .keys import KnownKeys
from .paper_keys import MEASURED, RANGE, TESTS, THEORY
from .reader import Reader
from .yaml_source import KeyPath

ABOUT = 0.2
"""`about: 25` means 25 plus or minus a fifth. What a paper calls "about" is read off a graph to a digit and a half."""


def read_needed(
    reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys, *needed: str
) -> dict[str, Any] | None:
    """The plain values of a mapping with their defaults; None where one that is needed is missing or wrong."""
    read = _with_defaults(reader, place, data, keys)
    return read if _is_complete(read, keys, *needed) else None


def _with_defaults(reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys) -> dict[str, Any]:
    """The plain values that are right, and the defaults of those that are not given."""
    defaults = {key: default for key, default in _defaults(keys).items() if key not in data}
    return defaults | read_plain(reader, place, data, keys)


def _is_complete(read: dict[str, Any], keys: KnownKeys, *needed: str) -> bool:
    """True if the needed values are there, and those that have a default."""
    return all(key in read for key in (*needed, *_defaults(keys)))


def _defaults(keys: KnownKeys) -> dict[str, Scalar]:
    plain = [entry for entry in keys.entries if isinstance(entry, Parameter)]
    return {entry.name: entry.default for entry in plain if entry.default is not None}


def read_measured(reader: Reader, place: KeyPath, data: dict[str, Any]) -> OurMeasurement | None:
    """A measured number: its selector, its formula, the levels it is compared with, and the time over which it adds
    up."""
    read, selector = _selected(reader, place, data, MEASURED)
    formula, over_ns = read.get("formula"), read.get("over")
    against = _levels(reader, (*place, "against"), data["against"]) if "against" in data else {}
    if against and formula == "value":
        reader.problem((*place, "against"), "a formula is missing: it says how the value is compared")
    if selector is None or formula is None:
        return None
    if over_ns is not None and (formula != "value" or not METRICS[selector.metric].unit.endswith("/s")):
        reader.problem(
            (*place, "over"), f"{selector.metric} does not add up over a time; only a rate by the formula value does"
        )
        return None
    return OurMeasurement(
        selector=selector,
        formula=formula,
        against={column: values[0] for column, values in against.items() if values},
        over_ns=over_ns,
    )


def check_unit(reader: Reader, place: KeyPath, measured: OurMeasurement, unit: str) -> None:
    """Notes a measured number that cannot be compared with one in the unit of the paper."""
    points_of_no_cpu = measured.formula == "points" and METRICS[measured.selector.metric].unit != "cores"
    if points_of_no_cpu or unit_factor(unit, own_unit(measured)) is None:
        reader.problem(
            place,
            f"{measured.selector.metric} by the formula {measured.formula} cannot be compared with a number in {unit}",
        )


def read_theory(reader: Reader, place: KeyPath, data: dict[str, Any]) -> OurTheory | None:
    """A number that follows from headers."""
    needed = ("theory", "mechanism", "transport")
    read = read_needed(reader, place, dict.fromkeys(needed) | data, THEORY, *needed)
    if read is None:
        return None
    if (read["theory"] in PER_MESSAGE) == ("message" not in read):
        reader.problem(place, f"{', '.join(PER_MESSAGE)} need a message, and other quantities cannot have one")
        return None
    return OurTheory(
        quantity=read["theory"],
        mechanism=read["mechanism"],
        transport=read["transport"],
        message_bytes=read.get("message"),
    )


def read_test(reader: Reader, place: KeyPath, value: Any) -> ClaimTest | None:
    """A mapping with one key, the kind of test, to its parameters."""
    data = reader.mapping(place, value, "a test")
    if len(data) != 1:
        if isinstance(value, dict):
            reader.problem(place, f"a test is one of {', '.join(_TESTS)} with its parameters, not {len(data)} keys")
        return None
    [(kind, given)] = data.items()
    if reader.one_of((*place, kind), kind, "test", _TESTS) is None:
        return None
    keys, read = _TESTS[kind]
    place = (*place, kind)
    return read(reader, place, read_keys(reader, place, given, keys), keys)


def _selected(
    reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys, *needed: str
) -> tuple[dict[str, Any], Selector | None]:
    """The plain values of a mapping with a selector, and the selector; None where it or one that is needed is wrong."""
    workloads, paths = (_names(reader, place, data, key) for key in ("workload", "path"))
    read = _with_defaults(reader, place, dict.fromkeys(("metric", *needed)) | data, keys)
    selector = _selector(reader, place, data, workloads, paths, read.pop("metric", None))
    return read, selector if _is_complete(read, keys, *needed) else None


def _direction(reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys) -> DirectionTest | None:
    read, selector = _selected(reader, place, data, keys, "expect")
    return None if selector is None else DirectionTest(selector=selector, **read)


def _magnitude(reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys) -> Magnitude | None:
    read, selector = _selected(reader, place, data, keys, "formula")
    bounds = _range(reader, place, data)
    if selector is None or bounds is None:
        return None
    return Magnitude(selector=selector, low=bounds[0], high=bounds[1], **read)


def _trend(reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys) -> Trend | None:
    read, selector = _selected(reader, place, data, keys, "factor", "expect")
    return None if selector is None else Trend(selector=selector, **read)


def _contrast(reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys) -> Contrast | None:
    read, selector = _selected(reader, place, data, keys, "factor", "expect")
    if selector is None:
        return None
    at, then = (read_level(reader, (*place, key), read["factor"], data.get(key)) for key in ("at", "then"))
    return None if at is None or then is None else Contrast(selector=selector, at=at, then=then, **read)


def _amount(reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys) -> Amount | None:
    read, selector = _selected(reader, place, data, keys, "unit")
    bounds = _range(reader, place, data)
    if selector is None or bounds is None:
        return None
    measured, unit = OurMeasurement(selector=selector), read["unit"]
    factor = unit_factor(unit, own_unit(measured))
    if factor is None:
        check_unit(reader, (*place, "unit"), measured, unit)
        return None
    return Amount(selector=selector, low=bounds[0] * factor, high=bounds[1] * factor, quantifier=read["quantifier"])


def _in_theory(reader: Reader, place: KeyPath, data: dict[str, Any], _: KnownKeys) -> InTheory | None:
    theory = read_theory(reader, place, data)
    bounds = _range(reader, place, data)
    if theory is None or bounds is None:
        return None
    return InTheory(theory=theory, low=bounds[0], high=bounds[1])


_Read = Callable[[Reader, KeyPath, dict[str, Any], KnownKeys], ClaimTest | None]

_TESTS: dict[str, tuple[KnownKeys, _Read]] = {
    keys.what: (keys, read)
    for keys, read in zip(TESTS, (_direction, _magnitude, _trend, _contrast, _amount, _in_theory), strict=True)
}


def _selector(
    reader: Reader,
    place: KeyPath,
    data: dict[str, Any],
    workloads: tuple[str, ...],
    paths: tuple[str, ...],
    metric: str | None,
) -> Selector | None:
    levels = _levels(reader, (*place, "levels"), data.get("levels", {}))
    for name in workloads:
        kind = WORKLOADS.get(name)
        if kind is None:
            reader.one_of((*place, "workload"), name, "workload", WORKLOADS)
        elif metric is not None and metric not in (*kind.metrics, *CPU_METRICS):
            reader.problem((*place, "metric"), f"{name} does not measure {metric}")
    if not workloads or not paths or metric is None:
        return None
    return Selector(workloads=workloads, metric=metric, paths=paths, levels=levels)


def _names(reader: Reader, place: KeyPath, data: dict[str, Any], key: str) -> tuple[str, ...]:
    """One name or a list of them."""
    value = data.get(key)
    names = value if isinstance(value, list) and value else [value]
    return tuple(name for item in names if (name := reader.word((*place, key), item, key)) is not None)


def _levels(reader: Reader, place: KeyPath, value: Any) -> dict[str, tuple[Scalar, ...]]:
    levels = {}
    for column, item in reader.mapping(place, value, "levels").items():
        items = item if isinstance(item, list) else [item]
        parsed = [read_level(reader, (*place, column), column, element) for element in items]
        levels[column] = tuple(level for level in parsed if level is not None)
    return levels


def read_level(reader: Reader, place: KeyPath, column: str, value: Any) -> Scalar | None:
    """A level as an experiment writes it, in the unit of the column. For `SYSTEM` it is one of the generations of the
    paper; for `WORKLOAD` it is a workload."""
    if column == WORKLOAD:
        return reader.one_of(place, value, "workload", WORKLOADS)
    if column == SYSTEM:
        named = reader.source.data.get("generations")
        return reader.one_of(place, value, "generation", named if isinstance(named, list) else ())
    for suffix, parse in _PARSERS.items():
        if column.endswith(suffix):
            return reader.parsed(place, value, parse)
    if not isinstance(value, (str, int, float)):
        reader.problem(place, f"{shown(value)} is not a level of {column}")
        return None
    return value


_PARSERS: dict[str, Callable[[object], int]] = {
    "_bytes": units.parse_size,
    "_bps": units.parse_rate,
    "_pps": units.parse_packet_rate,
    "_ns": units.parse_duration,
}


def _range(reader: Reader, place: KeyPath, data: dict[str, Any]) -> tuple[float, float] | None:
    """Reads `low` and `high`, or `about`."""
    given = [key for key in RANGE if key in data]
    if given not in (["about"], ["low", "high"]):
        reader.problem(place, "give about, or low and high")
        return None
    numbers = [data[key] for key in given]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        reader.problem(place, f"{' and '.join(given)} must be numbers")
        return None
    if given == ["about"]:
        ends = sorted((numbers[0] * (1 - ABOUT), numbers[0] * (1 + ABOUT)))
        return ends[0], ends[1]
    if numbers[0] > numbers[1]:
        reader.problem(place, f"low ({numbers[0]}) is greater than high ({numbers[1]})")
        return None
    return float(numbers[0]), float(numbers[1])
