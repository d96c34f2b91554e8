"""Look of the mark of a finding: its colour is the tone of the badge in the tables, its shape is the direction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.lines import Line2D

from ...model.finding import Finding
from .. import rows
from ..marks import MarkWord
from ..rows import Tone

COLOURS: dict[Tone, str] = {
    "better": "#17724f",
    "worse": "#a4262c",
    "changed": "#6b4fa0",
    "small": "#3f63a0",
    "same": "#1d6f82",
    "mixed": "#8a5a00",
    "open": "#66727d",
}
"""The colours of badges in pages, so that a row of the table and its marker in a figure agree."""

_SHAPES = {
    "higher": ">",
    "lower": "<",
    "slightly higher": ">",
    "slightly lower": "<",
    "mixed": "P",
    "equivalent": "s",
    "within A/A": "D",
    "undecided": "o",
    "too variable": "X",
}
_NO_SHAPE = "p"


@dataclass(frozen=True, kw_only=True)
class MarkLook:
    """Look of a finding.

    Attributes:
        word: that of the tables, such as `lower` or `within A/A`.
        tone: what the change means for the user.
    """

    word: MarkWord
    tone: Tone

    @property
    def colour(self) -> str:
        return COLOURS[self.tone]

    @property
    def shape(self) -> str:
        return _SHAPES.get(self.word.plain, _NO_SHAPE)

    @property
    def face(self) -> str:
        """The fill of the marker: hollow where nothing was decided."""
        return "white" if self.tone == "open" else self.colour

    @property
    def label(self) -> str:
        """The words for a legend: `lower (worse)`, `within A/A`."""
        return f"{self.word.text} ({self.tone})" if self.tone in ("better", "worse") else self.word.text


def look_of(finding: Finding) -> MarkLook:
    """Look of this finding."""
    return MarkLook(word=MarkWord.of(finding), tone=rows.tone(finding))


def handles(findings: Iterable[Finding]) -> list[Line2D]:
    """The marks of these findings in a legend, in the order in which the tables explain them."""
    looks = sorted(set(map(look_of, findings)), key=lambda look: (look.word.order, look.tone))
    return [
        Line2D([], [], color=look.colour, marker=look.shape, markerfacecolor=look.face, linewidth=1.3, label=look.label)
        for look in looks
    ]
