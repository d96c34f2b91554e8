"""Figures to files, the same bytes every time."""

from __future__ import annotations

import io
import re
from pathlib import Path

from ...model.errors import WriteError
from ...model.finding import Analysis
from ...store import Run
from .drawing import Picture
from .style import house_style

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")

KINDS = ("svg", "pdf", "png")


def write_figures(run: Run, analysis: Analysis, directory: Path) -> list[Path]:
    """Writes every figure as SVG, PDF and PNG. Returns the files in the order of the report.

    Raises:
        WriteError: the directory or a file cannot be written.
    """
    from .catalogue import drawings

    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for drawing in drawings(run, analysis):
            picture = drawing.draw()
            for kind in KINDS:
                path = directory / f"{drawing.name}.{kind}"
                path.write_bytes(render(picture, kind))
                written.append(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"writing figures to {directory}: {reason}; give another directory") from error
    return written


def render(picture: Picture, kind: str) -> bytes:
    """A figure as a file of that kind, without the date and the library's version, which would differ every time."""
    metadata: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Creator": "sixbench", "Format": None, "Type": None},
        "pdf": {"CreationDate": None, "Creator": "sixbench", "Producer": None},
        "png": {"Software": None},
    }
    content = io.BytesIO()
    with house_style():
        picture.figure.savefig(content, format=kind, metadata=metadata[kind])
    # XML has no way to write these, and matplotlib writes what it is given.
    return _CONTROL.sub(b"", content.getvalue()) if kind == "svg" else content.getvalue()
