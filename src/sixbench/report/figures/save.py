"""Writes figures to files, with the same bytes every time."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...model.errors import WriteError
from ...model.finding import Analysis
from ...model.quoting import shown_path
from ...store import Run, write_into
from .drawing import Picture
from .style import TITLE, WIDTH_IN, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")

_BELOW_TITLE_IN = 0.02

KINDS = ("svg", "pdf", "png")


def write_figures(run: Run, analysis: Analysis, directory: Path, width_in: float | None = None) -> list[Path]:
    """Writes every figure as SVG, PDF and PNG. Returns the files in the order of the report.

    Args:
        width_in: the width for a paper, in inches, which also leaves out titles. None: as wide as a page, with
            titles.

    Raises:
        WriteError: the directory or a file cannot be written.
    """
    from .catalogue import drawings

    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"making the folder {shown_path(directory)}: {reason}; give another directory") from error
    for drawing in drawings(run, analysis):
        picture = drawing.draw(width_in or WIDTH_IN)
        files = {f"{drawing.name}.{kind}": render(picture, kind, titled=width_in is None) for kind in KINDS}
        written += write_into(directory, files)
    return written


def render(picture: Picture, kind: str, *, titled: bool = True) -> bytes:
    """A figure as a file of that kind, without the date and the library's version, which would differ every time.

    `titled`: with its title; else it is cut off below that.
    """
    metadata: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Creator": "sixbench", "Format": None, "Type": None},
        "pdf": {"CreationDate": None, "Creator": "sixbench", "Producer": None},
        "png": {"Software": None},
    }
    content = io.BytesIO()
    with house_style():
        shown = None if titled else _below_title(picture.figure)
        picture.figure.savefig(content, format=kind, metadata=metadata[kind], bbox_inches=shown)
    # XML cannot contain control characters, and matplotlib does not remove them.
    return _CONTROL.sub(b"", content.getvalue()) if kind == "svg" else content.getvalue()


def _below_title(figure: Figure) -> Bbox | None:
    """The part of a figure below its title, in inches. None if it has no title."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    titles = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_gid() == TITLE)
    if not titles:
        return None
    figure.draw_without_rendering()
    bottom = min(title.get_window_extent().y0 for title in titles) / figure.dpi
    return Bbox.from_extents(0, 0, figure.get_figwidth(), bottom - _BELOW_TITLE_IN)
