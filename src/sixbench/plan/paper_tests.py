"""The selection of our results in `published.yaml`, and the test of a claim on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, get_args

from ..model import units
from ..model.metric import CPU_METRICS, METRICS
from ..model.paper import (
    PER_MESSAGE,
    SYSTEM,
    Amount,
    ClaimTest,
    Contrast,
    Direction,
    Expected,
    Formula,
    InTheory,
    Magnitude,
    Of,
    OurMeasurement,
    OurTheory,
    Quantifier,
    Selector,
    TheoryQuantity,
    Trend,
    Way,
    own_unit,
    unit_factor,
)
from ..model.parameter import Scalar
from ..model.quoting import shown
from ..model.workloads import WORKLOADS
from .reader import Reader
from .yaml_source import KeyPath

SELECTOR_KEYS = ("workload", "metric", "path", "levels")
MEASURED_KEYS = (*SELECTOR_KEYS, "formula", "against", "over")
THEORY_KEYS = ("theory", "mechanism", "transport", "message")

ABOUT = 0.2
"""`about: 25` means 25 plus or minus a fifth. What a paper calls "about" is read off a graph to a digit and a half."""


def read_measured(reader: Reader, place: KeyPath, data: dict[str, Any]) -> OurMeasurement | None:
    """A measured number: its selector, its formula, the levels it is compared with, and the time over which it adds
    up."""
    selector = _selector(reader, place, data)
    formula = _choice(reader, place, data, "formula", get_args(Formula), "value")
    against = _levels(reader, (*place, "against"), data["against"]) if "against" in data else {}
    if against and formula == "value":
        reader.problem((*place, "against"), "a formula is missing: it says how the value is compared")
    over_ns = reader.parsed((*place, "over"), data["over"], units.parse_duration) if "over" in data else None
    if selector is None or formula is None:
        return None
    if over_ns is not None and (formula != "value" or not METRICS[selector.metric].unit.endswith("/s")):
        reader.problem(
            (*place, "over"), f"{selector.metric} does not add up over a time; only a rate by the formula value does"
        )
        return None
    return OurMeasurement(
        selector=selector,
        formula=cast(Formula, formula),
        against={column: values[0] for column, values in against.items()},
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
    quantity = reader.one_of((*place, "theory"), data.get("theory"), "quantity of theory", get_args(TheoryQuantity))
    mechanism = reader.word((*place, "mechanism"), data.get("mechanism"), "mechanism")
    transport = reader.one_of((*place, "transport"), data.get("transport"), "transport", ("tcp", "udp"))
    message_bytes = None
    if "message" in data:
        message_bytes = reader.parsed((*place, "message"), data["message"], units.parse_size)
    if quantity is None or mechanism is None or transport is None:
        return None
    if (quantity in PER_MESSAGE) == (message_bytes is None):
        reader.problem(place, f"{', '.join(PER_MESSAGE)} need a message, and other quantities cannot have one")
        return None
    return OurTheory(
        quantity=cast(TheoryQuantity, quantity),
        mechanism=mechanism,
        transport="udp" if transport == "udp" else "tcp",
        message_bytes=message_bytes,
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
    parameters = reader.mapping(place, given, kind, keys)
    return read(reader, place, parameters)


def _direction(reader: Reader, place: KeyPath, data: dict[str, Any]) -> Direction | None:
    selector = _selector(reader, place, data)
    expect = _choice(reader, place, data, "expect", get_args(Expected))
    quantifier = _choice(reader, place, data, "quantifier", get_args(Quantifier), "most")
    margin = _ratio(reader, place, data, "margin")
    against = reader.word((*place, "against"), data["against"], "path") if "against" in data else None
    if selector is None or expect is None or quantifier is None:
        return None
    return Direction(
        selector=selector,
        expect=cast(Any, expect),
        quantifier=cast(Quantifier, quantifier),
        margin=margin,
        against=against,
    )


def _magnitude(reader: Reader, place: KeyPath, data: dict[str, Any]) -> Magnitude | None:
    selector = _selector(reader, place, data)
    formula = _choice(reader, place, data, "formula", [name for name in get_args(Formula) if name.startswith("of-")])
    quantifier = _choice(reader, place, data, "quantifier", get_args(Quantifier), "most")
    bounds = _range(reader, place, data)
    if selector is None or formula is None or quantifier is None or bounds is None:
        return None
    return Magnitude(
        selector=selector,
        formula=cast(Formula, formula),
        low=bounds[0],
        high=bounds[1],
        quantifier=cast(Quantifier, quantifier),
    )


def _trend(reader: Reader, place: KeyPath, data: dict[str, Any]) -> Trend | None:
    selector = _selector(reader, place, data)
    of = _choice(reader, place, data, "of", get_args(Of), "value")
    factor = reader.word((*place, "factor"), data.get("factor"), "factor")
    expect = _choice(reader, place, data, "expect", get_args(Way))
    quantifier = _choice(reader, place, data, "quantifier", get_args(Quantifier), "all")
    if selector is None or of is None or factor is None or expect is None or quantifier is None:
        return None
    return Trend(
        selector=selector,
        of=cast(Of, of),
        factor=factor,
        expect=cast(Way, expect),
        quantifier=cast(Quantifier, quantifier),
    )


def _contrast(reader: Reader, place: KeyPath, data: dict[str, Any]) -> Contrast | None:
    selector = _selector(reader, place, data)
    of = _choice(reader, place, data, "of", get_args(Of), "value")
    factor = reader.word((*place, "factor"), data.get("factor"), "factor")
    expect = _choice(reader, place, data, "expect", (*get_args(Way), "same"))
    quantifier = _choice(reader, place, data, "quantifier", get_args(Quantifier), "all")
    margin = _ratio(reader, place, data, "margin")
    if selector is None or of is None or factor is None or expect is None or quantifier is None:
        return None
    at, then = (read_level(reader, (*place, key), factor, data.get(key)) for key in ("at", "then"))
    if at is None or then is None:
        return None
    return Contrast(
        selector=selector,
        of=cast(Of, of),
        factor=factor,
        at=at,
        then=then,
        expect=cast(Any, expect),
        margin=margin,
        quantifier=cast(Quantifier, quantifier),
    )


def _amount(reader: Reader, place: KeyPath, data: dict[str, Any]) -> Amount | None:
    selector = _selector(reader, place, data)
    unit = reader.word((*place, "unit"), data.get("unit"), "unit")
    quantifier = _choice(reader, place, data, "quantifier", get_args(Quantifier), "all")
    bounds = _range(reader, place, data)
    if selector is None or unit is None or quantifier is None or bounds is None:
        return None
    measured = OurMeasurement(selector=selector)
    factor = unit_factor(unit, own_unit(measured))
    if factor is None:
        check_unit(reader, (*place, "unit"), measured, unit)
        return None
    return Amount(
        selector=selector,
        low=bounds[0] * factor,
        high=bounds[1] * factor,
        quantifier=cast(Quantifier, quantifier),
    )


def _in_theory(reader: Reader, place: KeyPath, data: dict[str, Any]) -> InTheory | None:
    theory = read_theory(reader, place, data)
    bounds = _range(reader, place, data)
    if theory is None or bounds is None:
        return None
    return InTheory(theory=theory, low=bounds[0], high=bounds[1])


_Read = Callable[[Reader, KeyPath, dict[str, Any]], ClaimTest | None]

_RANGE_KEYS = ("about", "low", "high")

_TESTS: dict[str, tuple[tuple[str, ...], _Read]] = {
    "direction": ((*SELECTOR_KEYS, "expect", "quantifier", "margin", "against"), _direction),
    "magnitude": ((*SELECTOR_KEYS, *_RANGE_KEYS, "formula", "quantifier"), _magnitude),
    "trend": ((*SELECTOR_KEYS, "of", "factor", "expect", "quantifier"), _trend),
    "contrast": ((*SELECTOR_KEYS, "of", "factor", "at", "then", "expect", "margin", "quantifier"), _contrast),
    "amount": ((*SELECTOR_KEYS, *_RANGE_KEYS, "unit", "quantifier"), _amount),
    "in-theory": ((*THEORY_KEYS, *_RANGE_KEYS), _in_theory),
}


def _selector(reader: Reader, place: KeyPath, data: dict[str, Any]) -> Selector | None:
    workloads = _names(reader, place, data, "workload")
    paths = _names(reader, place, data, "path")
    metric = reader.one_of((*place, "metric"), data.get("metric"), "metric", METRICS)
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
    paper."""
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
    given = [key for key in _RANGE_KEYS if key in data]
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


def _choice(
    reader: Reader, place: KeyPath, data: dict[str, Any], key: str, choices: Any, default: str | None = None
) -> str | None:
    if key not in data and default is not None:
        return default
    return reader.one_of((*place, key), data.get(key), f"value of {key}", choices)


def _ratio(reader: Reader, place: KeyPath, data: dict[str, Any], key: str) -> float | None:
    return reader.parsed((*place, key), data[key], units.parse_ratio) if key in data else None
