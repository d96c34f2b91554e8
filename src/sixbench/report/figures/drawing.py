"""What a figure is before it is drawn, and after."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNSAFE = re.compile(r"[^a-z0-9]+")

Section = Literal["network", "overview", "workload", "published", "evidence"]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A drawn figure.

    Attributes:
        figure: matplotlib's, not attached to any window.
        tips: what to say of each marker of an artist, by the artist's gid; the markers are in the order of the data.
    """

    figure: Figure
    tips: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure that can be drawn.

    Attributes:
        name: unique in a report, and a file name without its suffix.
        title: what is shown, for headings and as the text for those who cannot see it.
        caption: how to read it.
        section: where in a report it belongs; with `workload` where that is `workload`.
        rank: what goes first where space is short: 0 is shown at once, 1 on demand, 2 and up are later pages of the
            same.
        draw: makes it. Drawings cost memory, so each is drawn when it is wanted and then dropped.
    """

    name: str
    title: str
    caption: str
    section: Section
    workload: str | None = None
    rank: int = 1
    draw: Callable[[], Picture]


def slug(text: str) -> str:
    """A name that is safe as a file's and as an id: what comes from a run directory may be anything."""
    return _UNSAFE.sub("-", text.lower()).strip("-")
