"""The PATH of the commands and of all that they start."""

from __future__ import annotations

import os

from ..model.program_path import with_usual_places


def search_usual_places() -> None:
    """Adds the folders to PATH in which distributions have programs that not every user is given."""
    os.environ["PATH"] = with_usual_places(os.environ.get("PATH", ""))
