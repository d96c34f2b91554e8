r"""Figures in place: `\includegraphics` of the files that `--figures` writes."""

from __future__ import annotations

from dataclasses import dataclass

from ..figures import Drawing
from .floats import MOST_COLUMN_IN
from .text import escape


@dataclass(frozen=True, kw_only=True)
class Included:
    """The figures that a paper includes.

    Attributes:
        folder: where their files are, as seen from the paper.
        width_in: what they were drawn for.
    """

    folder: str
    width_in: float

    @property
    def environment(self) -> str:
        """That of LaTeX."""
        return "figure" if self.width_in <= MOST_COLUMN_IN else "figure*"

    def include(self, drawing: Drawing, prefix: str, run: str) -> str:
        """A figure as a float. It has its size where the column is as wide as it was drawn for."""
        return "\n".join(
            [
                rf"\begin{{{self.environment}}}[tbp]",
                r"  \centering",
                rf"  \includegraphics[width=\linewidth,height=0.72\textheight,keepaspectratio]{{{self.path(drawing)}}}",
                rf"  \caption[{escape(drawing.title)}]{{{escape(_sentence(drawing.title))} "
                rf"{escape(drawing.caption)} {escape(run)}}}",
                rf"  \label{{fig:{prefix}-{drawing.name}}}",
                rf"\end{{{self.environment}}}",
            ]
        )

    def path(self, drawing: Drawing) -> str:
        """Without its suffix: LaTeX takes the PDF."""
        return f"{self.folder}/{drawing.name}" if self.folder else drawing.name


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."
