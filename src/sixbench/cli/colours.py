"""The one place that decides whether a command writes colours."""

from __future__ import annotations

import os
from typing import TextIO


def has_colour(stream: TextIO) -> bool:
    """True if colours are written to a stream: to a terminal that is not dumb, unless `NO_COLOR` is set and not empty
    (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")
