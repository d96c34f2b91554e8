"""The page's server without root's rights."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from ..lab.giving_up_root import become, ordinary_user
from ..model.quoting import listed


def give_up_root(directory: Path) -> str | None:
    """Gives up root's rights, where this process has them. Raises `CapabilityError`.

    Args:
        directory: holds the runs.

    Returns:
        A remark to print; None: there is none.
    """
    user = ordinary_user()
    if user is None:
        return None
    closed = become(user, [*_packages(), _nearest(directory)])
    # matplotlib warns where its user has no home directory for its cache of fonts, such as the user nobody.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    if not closed:
        return None
    return f"the page's server runs as {user.name}, but may read all files, since {user.name} may not read " + listed(
        map(str, closed)
    )


def _packages() -> list[Path]:
    """The directories of this Python, with the agent, and of its packages."""
    places = [Path(sys.executable).parent, *(Path(entry) for entry in sys.path if os.path.isabs(entry))]
    return [place for place in dict.fromkeys(places) if place.is_dir()]


def _nearest(directory: Path) -> Path:
    """The directory, or the nearest parent that exists."""
    return next(place for place in (directory.absolute(), *directory.absolute().parents) if place.exists())
