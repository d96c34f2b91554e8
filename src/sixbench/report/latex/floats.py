r"""Tables as floats: in a column where they fit it, over both columns (`table*`) where they do not.

Long tables are split, since a float is never broken, and `longtable` does not work in two columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import groupby, product

from .. import words
from ..tables import Column
from .text import comment, escape, width_em

POINTS_AN_INCH = 72.27
_COLUMN_PT, _BETWEEN_PT = 229.0, 10.0
"""A column of LaTeX's own `article`, and what is between two: no other two-column class is narrower."""

MOST_COLUMN_IN = 4.5
"""Width beyond which a table goes over both columns."""

_SIZES = ((r"\footnotesize", 8.0), (r"\scriptsize", 7.5))
"""And their ems in points: letters of 7 points are wider for their height than those of 8."""
_SEPARATIONS_PT = (3.0, 2.0)
"""On each side of a column, and where it must be narrow."""
_TIGHT_PT = 1.7
"""Before a column of marks, which belongs to the one at its left."""

_LONG_CELL_EM = 13.0
"""Cells that are longer may be broken into lines."""
_LEAST_CELL_EM = 6.0

MOST_LINES = 42
"""Lines of a float: fewer than a page has, so that its caption has room too."""
_ADDED_LINES = {"heading": 1.4, "rules": 2.5}


@dataclass(frozen=True, kw_only=True)
class PaperRoom:
    """The room that a paper has. In points.

    Attributes:
        column_pt: width of a column of text.
        text_pt: width of all columns together.
    """

    column_pt: float = _COLUMN_PT
    text_pt: float = 2 * _COLUMN_PT + _BETWEEN_PT

    @classmethod
    def of_column(cls, width_in: float | None) -> PaperRoom:
        """Two columns of that width, in inches; as narrow as any where that is None or no column's."""
        if width_in is None or width_in > MOST_COLUMN_IN:
            return cls()
        column_pt = width_in * POINTS_AN_INCH
        return cls(column_pt=column_pt, text_pt=max(2 * column_pt + _BETWEEN_PT, _COLUMN_PT))


@dataclass(frozen=True, kw_only=True)
class RowBlock:
    """Rows that belong together, under a heading of their own unless it is empty."""

    heading: str = ""
    rows: list[list[str]]


@dataclass(frozen=True, kw_only=True)
class Float:
    """A table with its caption. All texts are plain.

    Attributes:
        label: for `\\ref`, without its prefix `tab:`.
        title: what the table is of, for a list of tables.
        caption: all of it.
        remark: for the author, as a comment before it.
    """

    label: str
    title: str
    caption: str
    columns: list[Column]
    blocks: list[RowBlock] = field(default_factory=list)
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """Layout of a table: `wrapped` has the width in points of each column that is broken into lines."""

    environment: str
    size: str
    points: float
    separation_pt: float
    room_pt: float
    wrapped: dict[int, float]
    shrunk: bool = False


def table(result: Float, page: PaperRoom) -> str:
    """The table as one float, or as several where it is long."""
    layout = _layout(result, page)
    parts = _parts(result, layout)
    text = "\n\n".join(_float(part, layout) for part in parts)
    return f"% {comment(result.remark)}\n{text}" if result.remark else text


def _layout(result: Float, page: PaperRoom) -> _Layout:
    natural = [max(map(width_em, (column.name, *cells))) for column, cells in _by_column(result)]
    words_em = [
        max(width_em(word) for text in (column.name, *cells) for word in text.split(" "))
        for column, cells in _by_column(result)
    ]
    gaps = sum(1 for column in result.columns[1:] if column.name)
    marks = len(result.columns) - 1 - gaps
    for environment, room_pt, sizes, least_em in (
        ("table", page.column_pt, _SIZES[:1], _LONG_CELL_EM),
        ("table*", page.text_pt, _SIZES, _LONG_CELL_EM),
        ("table*", page.text_pt, _SIZES[1:], _LEAST_CELL_EM),
    ):
        for (size, points), separation_pt in product(sizes, _SEPARATIONS_PT):
            left_pt = room_pt - 2 * separation_pt * gaps - _TIGHT_PT * marks
            wrapped = _wrapped(natural, [max(least_em, em) for em in words_em], left_pt / points)
            if wrapped is not None:
                return _Layout(
                    environment=environment,
                    size=size,
                    points=points,
                    separation_pt=separation_pt,
                    room_pt=room_pt,
                    wrapped={at: em * points for at, em in wrapped.items()},
                )
    size, points = _SIZES[-1]
    return _Layout(
        environment="table*",
        size=size,
        points=points,
        separation_pt=_SEPARATIONS_PT[-1],
        room_pt=page.text_pt,
        wrapped={at: _LONG_CELL_EM * points for at, em in enumerate(natural) if em > _LONG_CELL_EM},
        shrunk=True,
    )


def _by_column(result: Float) -> list[tuple[Column, list[str]]]:
    return [
        (column, [row[at] for block in result.blocks for row in block.rows]) for at, column in enumerate(result.columns)
    ]


def _wrapped(natural: list[float], least: list[float], room_em: float) -> dict[int, float] | None:
    """Widths of the columns to be broken into lines: none where all fit; None where they do not fit even so.

    All in ems. `least`: a column gets no less, since its longest word would not fit.
    """
    if sum(natural) <= room_em:
        return {}
    long = {at: em for at, em in enumerate(natural) if em > least[at]}
    left_em = room_em - sum(em for at, em in enumerate(natural) if at not in long)
    return _shared(long, least, left_em) if long and left_em >= sum(least[at] for at in long) else None


def _shared(long: dict[int, float], least: list[float], room_em: float) -> dict[int, float]:
    """Room shared out: each column gets its least, none more than it asks for; the rest by the root of what they ask
    for, so that no column is much longer than another."""
    values: dict[int, float] = {}
    waiting = dict(long)
    while waiting:
        left_em = room_em - sum(values.values())
        total = sum(math.sqrt(em) for em in waiting.values())
        share = {at: left_em * math.sqrt(em) / total for at, em in waiting.items()}
        settled = {at: least[at] for at in waiting if share[at] < least[at]} or {
            at: em for at, em in waiting.items() if share[at] >= em
        }
        if not settled:
            return values | share
        values |= settled
        waiting = {at: em for at, em in waiting.items() if at not in settled}
    return values


def _parts(result: Float, layout: _Layout) -> list[Float]:
    """The table on as few floats as it needs, of about the same length: none has a single row that was left over. A
    block that is broken has its heading again."""
    parts = _broken(result, layout, MOST_LINES)
    for most_lines in range(-(-MOST_LINES // 2), MOST_LINES):
        even = _broken(result, layout, most_lines)
        if len(even) == len(parts):
            parts = even
            break
    floats = []
    for number, part in enumerate(parts, start=1):
        blocks = [
            RowBlock(heading=key, rows=[row for _, row in rows]) for key, rows in groupby(part, lambda item: item[0])
        ]
        suffix = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        floats.append(
            replace(
                result,
                label=result.label if number == 1 else f"{result.label}-{number}",
                title=f"{result.title}{suffix}",
                caption=result.caption if number == 1 else f"{result.title}, continued{suffix}.",
                blocks=blocks,
            )
        )
    return floats


def _broken(result: Float, layout: _Layout, most_lines: int) -> list[list[tuple[str, list[str]]]]:
    """The rows with their headings, on floats of at most so many lines."""
    parts: list[list[tuple[str, list[str]]]] = [[]]
    lines = _ADDED_LINES["rules"]
    for block in result.blocks:
        heading = None
        for row in block.rows:
            more = _lines(row, layout) + (_ADDED_LINES["heading"] if block.heading != heading and block.heading else 0)
            if parts[-1] and lines + more > most_lines:
                parts.append([])
                lines = _ADDED_LINES["rules"] + (_ADDED_LINES["heading"] if block.heading else 0)
            parts[-1].append((block.heading, row))
            lines += more
            heading = block.heading
    return parts


def _lines(row: list[str], layout: _Layout) -> int:
    return (
        max(
            (math.ceil(1.1 * width_em(row[at]) * layout.points / width) for at, width in layout.wrapped.items()),
            default=1,
        )
        or 1
    )


def _float(result: Float, layout: _Layout) -> str:
    fills = layout.environment == "table" and not layout.wrapped
    kind = r"tabular*" if fills else "tabular"
    opening = r"\begin{tabular*}{\linewidth}{@{\extracolsep{\fill}}" if fills else r"\begin{tabular}{@{}"
    body = [
        f"{opening}{_columns(result, layout, fills=fills)}@{{}}}}",
        r"  \toprule",
        f"  {_row([column.name for column in result.columns])}",
        r"  \midrule",
        *(f"  {line}" for line in _body(result, layout)),
        r"  \bottomrule",
        rf"\end{{{kind}}}" + ("%" if layout.shrunk else ""),
    ]
    if layout.shrunk:
        body = [r"\resizebox{\linewidth}{!}{%", *(f"  {line}" for line in body), "}"]
    return "\n".join(
        [
            rf"\begin{{{layout.environment}}}[tbp]",
            rf"  \centering{layout.size}\setlength{{\tabcolsep}}{{{layout.separation_pt:g}pt}}",
            rf"  \caption[{escape(result.title)}]{{{escape(words.keep_together(result.caption))}}}",
            rf"  \label{{tab:{result.label}}}",
            r"  \smallskip",
            *(f"  {line}" for line in body),
            rf"\end{{{layout.environment}}}",
        ]
    )


def _body(result: Float, layout: _Layout) -> list[str]:
    lines = []
    for index, block in enumerate(result.blocks):
        if block.heading:
            lines += [r"\addlinespace"] if index else []
            lines.append(_heading(block.heading, len(result.columns), layout))
        lines += [_row(row) for row in block.rows]
    return lines


def _heading(text: str, columns: int, layout: _Layout) -> str:
    fits = width_em(text) * layout.points <= layout.room_pt
    kind = "l" if fits else r">{\raggedright\arraybackslash}p{\linewidth}"
    return rf"\multicolumn{{{columns}}}{{@{{}}{kind}@{{}}}}{{\itshape {escape(text)}}} \\"


def _columns(result: Float, layout: _Layout, *, fills: bool) -> str:
    """Column types; broken columns are set ragged, in shares of the line. `fills`: the table fills the line."""
    names = []
    for at, column in enumerate(result.columns):
        if not column.name:
            before, after = (r"\extracolsep{0pt}", r"@{\extracolsep{\fill}}") if fills else ("", "")
            names.append(rf"@{{{before}\hspace{{{_TIGHT_PT:g}pt}}}}l{after}")
        elif at in layout.wrapped:
            share = layout.wrapped[at] / layout.room_pt
            names.append(rf">{{\raggedright\arraybackslash}}p{{{math.floor(1000 * share) / 1000:.3f}\linewidth}}")
        else:
            names.append("r" if column.align == "right" else "l")
    return "".join(names)


def _row(cells: list[str]) -> str:
    return " & ".join(escape(cell) for cell in cells) + r" \\"
