"""The keys of `published.yaml`, declared: a paper, its numbers, its tables, and its claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from ..model.metric import METRICS
from ..model.paper import Expected, Formula, Of, Quantifier, TheoryQuantity, TrendWay
from ..model.parameter import Parameter, Scalar
from ..model.quoting import shown
from .keys import A_NAME, CompoundKey, Key, KnownKeys, NamedValues, NoValue, SharedValue, ValueForms, ValueList

MOST_BLOCKS = 10_000


def _line(name: str, doc: str, noun: str = "") -> Parameter:
    return Parameter(name=name, kind="line", noun=noun, doc=doc)


def _choice(name: str, choices: Iterable[str], doc: str, *, default: str | None = None, noun: str = "") -> Parameter:
    return Parameter(
        name=name,
        kind="choice",
        choices=tuple(choices),
        default=default,
        noun=noun or f"value of {name}",
        doc=doc,
    )


def _lines(name: str) -> ValueList:
    return ValueList(what=name, item=_line(name, "", noun=f"each of {name}"))


def _number(value: object) -> Scalar:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"a value must be a number, not {shown(value)}")
    return float(value)


def _true(value: object) -> Scalar:
    if value is not True:
        raise ValueError("block must be true, or left out")
    return True


_ONE_OR_SEVERAL = ValueForms((A_NAME, ValueList(what="names", item=A_NAME)))
_LEVELS = NamedValues(what="levels", item=SharedValue(name="level"))
SELECTOR: tuple[Key, ...] = (
    CompoundKey(name="workload", value=_ONE_OR_SEVERAL, doc="the workload whose results are meant, or several"),
    _choice("metric", METRICS, "the metric of these results", noun="metric"),
    CompoundKey(name="path", value=_ONE_OR_SEVERAL, doc="the path whose results are meant, or several"),
    CompoundKey(name="levels", value=_LEVELS, doc="the levels that are meant, by column; unless given: all"),
)
"""The choice of results of ours."""

MEASURED = KnownKeys(
    what="ours",
    entries=(
        *SELECTOR,
        _choice("formula", get_args(Formula), "the formula of the number", default="value"),
        CompoundKey(
            name="against", value=_LEVELS, doc="levels of the same path to compare with, instead of the baseline"
        ),
        Parameter(name="over", kind="duration", doc="the time over which a rate makes a total"),
    ),
)
THEORY = KnownKeys(
    what="ours",
    entries=(
        _choice("theory", get_args(TheoryQuantity), "the quantity that follows", noun="quantity of theory"),
        Parameter(name="mechanism", kind="text", doc="the mechanism whose headers are meant"),
        _choice("transport", ("tcp", "udp"), "the transport", noun="transport"),
        Parameter(name="message", kind="size", doc="the message or packet of which it is a share"),
    ),
)
OURS = CompoundKey(name="ours", value=ValueForms((MEASURED, THEORY)), doc="the number of ours to set beside it")

RANGE = ("about", "low", "high")
_A_NUMBER = Parameter(name="number", kind="number", doc="", minimum=-1e18, maximum=1e18)
_RANGE = (
    CompoundKey(name="about", value=_A_NUMBER, doc="the number, plus or minus a fifth"),
    CompoundKey(name="low", value=_A_NUMBER, doc="the least number"),
    CompoundKey(name="high", value=_A_NUMBER, doc="the largest number"),
)
_MARGIN = Parameter(name="margin", kind="ratio", doc="largest difference that does not matter")
_OF = _choice("of", get_args(Of), "the path's value, or its ratio to the baseline", default="value")
_FACTOR = Parameter(name="factor", kind="text", doc="the column of levels along which it is looked at")


def _quantifier(default: str) -> Parameter:
    doc = "share of comparisons that has to agree"
    return _choice("quantifier", get_args(Quantifier), doc, default=default)


def _expect(*choices: str) -> Parameter:
    return _choice("expect", choices, "the expected outcome")


def _test(kind: str, *entries: Key) -> KnownKeys:
    return KnownKeys(what=kind, entries=entries)


_FORMULAS = [name for name in get_args(Formula) if name.startswith("of-")]
_AGAINST = Parameter(name="against", kind="text", noun="path", doc="another path than the baseline")
DIRECTION = _test("direction", *SELECTOR, _expect(*get_args(Expected)), _quantifier("most"), _MARGIN, _AGAINST)
MAGNITUDE = _test(
    "magnitude", *SELECTOR, *_RANGE, _choice("formula", _FORMULAS, "the formula of the difference"), _quantifier("most")
)
TREND = _test("trend", *SELECTOR, _OF, _FACTOR, _expect(*get_args(TrendWay)), _quantifier("all"))
CONTRAST = _test(
    "contrast",
    *SELECTOR,
    _OF,
    _FACTOR,
    CompoundKey(name="at", value=SharedValue(name="level"), doc="the level that it begins at"),
    CompoundKey(name="then", value=SharedValue(name="level"), doc="the level that it is compared at"),
    _expect(*get_args(TrendWay), "same"),
    _MARGIN,
    _quantifier("all"),
)
AMOUNT = _test(
    "amount", *SELECTOR, *_RANGE, Parameter(name="unit", kind="text", doc="the unit of the range"), _quantifier("all")
)
IN_THEORY = _test("in-theory", *THEORY.entries, *_RANGE)
TESTS = (DIRECTION, MAGNITUDE, TREND, CONTRAST, AMOUNT, IN_THEORY)

_SOURCE = _line("source", "table, figure or section of the paper")
_PAGE = Parameter(name="page", kind="count", minimum=1, maximum=10_000, doc="page, where the text at hand has pages")


def _note(doc: str) -> Parameter:
    return Parameter(name="note", kind="line", default="", doc=doc)


VALUE = KnownKeys(
    what="a value",
    entries=(
        _SOURCE,
        _PAGE,
        _line("what", "the quantity in words, without the system"),
        CompoundKey(name="system", value=A_NAME, doc="the system whose number it is, a key of systems"),
        Parameter(name="value", kind="number", parser=_number, doc="the number", minimum=-1e18, maximum=1e18),
        _line("unit", "the unit of the number"),
        _line("printed", "the number as the paper prints it, where that differs"),
        _note("remark on what is unusual about it"),
        OURS,
    ),
    missing=dict.fromkeys(("source", "what", "value", "unit"), ""),
)
CLAIM = KnownKeys(
    what="a claim",
    entries=(
        _line("claim", "a name for the claim"),
        _line("text", "the claim in the paper's words"),
        _SOURCE,
        _PAGE,
        _note("remark"),
        CompoundKey(name="test", value=ValueForms(tuple(TESTS)), doc="the kind of test, with its parameters"),
        _line("untestable", "the reason why no experiment here can decide", noun="the reason"),
    ),
    missing=dict.fromkeys(("claim", "text", "source"), ""),
)
COLUMN = KnownKeys(
    what="a column",
    entries=(
        _line("heading", "the heading as the paper has it"),
        Parameter(name="unit", kind="text", default="", doc="the unit of its numbers"),
        Parameter(name="level", kind="text", doc="the column of levels of the experiment that its numbers are of"),
        Parameter(name="block", kind="flag", parser=_true, doc="its numbers count repetitions"),
        CompoundKey(name="ours", value=MEASURED, doc="the number of ours to set beside it"),
    ),
    missing={"heading": ""},
)
COLUMNS = ValueList(what="columns", item=COLUMN)
CELLS = ValueList(what="a row", item=_A_NUMBER)
ROWS = ValueList(what="rows", item=CELLS)
TABLE = KnownKeys(
    what="a table",
    entries=(
        _line("name", "the name of the table in the paper"),
        _line("title", "its title"),
        _note("remark"),
        CompoundKey(name="columns", value=COLUMNS, doc="the meaning of the numbers of each row"),
        CompoundKey(name="rows", value=ROWS, doc="its numbers, row by row; null where one is missing"),
    ),
    missing=dict.fromkeys(("name", "title"), ""),
)

A_SYSTEM = _line("system", "", noun="a system")
SYSTEMS = NamedValues(what="systems", item=A_SYSTEM)
YEAR = Parameter(name="year", kind="count", minimum=1970, maximum=2100, doc="")
AUTHORS, NOTES, DEVIATIONS = (_lines(name) for name in ("authors", "notes", "deviations"))
GENERATIONS = ValueList(what="generations", item=A_NAME)
TABLES = ValueList(what="tables", item=TABLE)
VALUES = ValueList(what="values", item=VALUE)
CLAIMS = ValueList(what="claims", item=CLAIM)
PAPER = KnownKeys(
    what="a paper",
    entries=(
        _line("paper", "a name for the paper"),
        _line("title", "its title"),
        CompoundKey(name="authors", value=AUTHORS, doc="its authors"),
        CompoundKey(
            name="year",
            value=ValueForms((NoValue(), YEAR)),
            doc="the year in which it appeared; nothing where the text does not say",
        ),
        _line("published", "the journal or conference"),
        _line("doc", "the text that the numbers are from"),
        CompoundKey(name="systems", value=SYSTEMS, doc="the systems that it measured, by name"),
        CompoundKey(name="generations", value=GENERATIONS, doc="the older and the newer system"),
        CompoundKey(name="tables", value=TABLES, doc="tables in the paper's own columns"),
        CompoundKey(name="values", value=VALUES, doc="its numbers"),
        CompoundKey(name="claims", value=CLAIMS, doc="its claims, each with a test"),
        CompoundKey(name="notes", value=NOTES, doc="remarks that reports repeat"),
        CompoundKey(name="deviations", value=DEVIATIONS, doc="differences of the experiment from the paper's"),
    ),
    missing=dict.fromkeys(("paper", "title", "authors", "published", "doc", "claims"), ""),
)
