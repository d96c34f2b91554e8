"""Figures before and after they are drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNSAFE = re.compile(r"[^a-z0-9]+")

PageT = TypeVar("PageT")

Section = Literal["network", "overview", "workload", "published", "evidence", "rfc"]


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
        name: the figure's file name without its suffix, unique in a report.
        title: what is shown, for headings and as the text for those who cannot see it.
        caption: how to read it.
        section: the part of a report where it belongs. If that is `workload`, `workload` says of which one.
        rank: the order where space is short. A page shows 0 at once and 1 on demand; 2 and up are later pages of the
            same figure.
        draw: draws it, that many inches wide. The height follows. A picture takes much memory, so each is drawn when
            it is wanted and then dropped.
    """

    name: str
    title: str
    caption: str
    section: Section
    workload: str | None = None
    rank: int = 1
    draw: Callable[[float], Picture]


def paged(
    pages: Sequence[PageT],
    *,
    name: str,
    title: str,
    captions: Iterable[str],
    section: Section,
    workload: str | None = None,
    ranks: Iterable[int],
    draw: Callable[[PageT, str, float], Picture],
) -> list[Drawing]:
    """A figure for each page, with its number in name and title where there are several.

    Args:
        captions, ranks: those of the pages.
        draw: draws a page with its title, that many inches wide.
    """
    drawings = []
    for number, (page, caption, rank) in enumerate(zip(pages, captions, ranks, strict=False), start=1):
        end, suffix = (f"-{number}", f" ({number} of {len(pages)})") if len(pages) > 1 else ("", "")
        drawings.append(
            Drawing(
                name=name + end,
                title=title + suffix,
                caption=caption,
                section=section,
                workload=workload,
                rank=rank,
                draw=partial(draw, page, title + suffix),
            )
        )
    return drawings


def slug(text: str) -> str:
    """A name that is safe for a file and as an id. What comes from a run directory may be anything."""
    return _UNSAFE.sub("-", text.lower()).strip("-")
