"""Cells of tables as what they hold: a number with its unit and decimals, an interval, or words.

A format asks a cell for its text, and never reads a text to learn what the cell holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import words


@dataclass(frozen=True, kw_only=True)
class NumberCell:
    """A number as it is printed.

    Attributes:
        value: in `unit`.
        sign: `minus` writes the sign of negative numbers alone, `both` that of positive ones too, and `none` neither.
        prefix: what stands before the number, such as `±`.
    """

    value: float
    decimals: int
    unit: str = ""
    sign: Literal["minus", "both", "none"] = "minus"
    prefix: str = ""

    @property
    def text(self) -> str:
        """Such as `−1.39 %`."""
        return f"{self._number} {self.unit}" if self.unit else self._number

    def within(self, unit: str) -> str:
        """The text in a column of that unit, which does not repeat it."""
        return self._number if self.unit == unit else self.text

    @property
    def _number(self) -> str:
        match self.sign:
            case "both":
                return self.prefix + words.signed(self.value, self.decimals)
            case "none":
                return self.prefix + words.unsigned(self.value, self.decimals)
        return self.prefix + words.decimal(self.value, self.decimals)


@dataclass(frozen=True, kw_only=True)
class IntervalCell:
    """Both ends of an interval of changes; another column has the unit."""

    low: float
    high: float
    decimals: int

    @property
    def texts(self) -> tuple[str, str]:
        """Both ends."""
        return words.signed(self.low, self.decimals), words.signed(self.high, self.decimals)

    @property
    def text(self) -> str:
        """Such as `−1.45 to −1.33`."""
        return " to ".join(self.texts)

    @property
    def in_brackets(self) -> str:
        """Such as `[−1.45, −1.33]`."""
        return f"[{', '.join(self.texts)}]"

    def within(self, unit: str) -> str:
        """The text in a column of any unit."""
        return self.text


@dataclass(frozen=True, kw_only=True)
class WordsCell:
    """Words, or nothing."""

    text: str

    def within(self, unit: str) -> str:
        """The text in a column of any unit."""
        return self.text


TypedCell = NumberCell | IntervalCell | WordsCell

NOTHING = WordsCell(text=words.MISSING)
"""The cell of what is not known."""


def is_empty(cell: TypedCell) -> bool:
    """True if the cell says nothing."""
    return isinstance(cell, WordsCell) and cell.text in ("", words.MISSING)


def quantity_cell(value: float | None, unit: str) -> TypedCell:
    """A value with the prefix that reads best, as `words.quantity` has it."""
    value = words.finite(value)
    return NOTHING if value is None else scaled_cell(value, words.common_scale([value], unit), 3 if unit == "1" else 4)


def scaled_cell(value: float, scale: tuple[float, str], digits: int) -> NumberCell:
    """A value with about so many significant digits. `scale`: the divisor to the unit that is printed, and its name."""
    scaled = value / scale[0]
    return NumberCell(value=scaled, decimals=words.decimals_of(scaled, digits), unit=scale[1])
