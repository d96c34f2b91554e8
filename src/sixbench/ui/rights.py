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
        directory: that has the runs.

    Returns:
        What people should know of it; None: nothing.
    """
    user = ordinary_user()
    if user is None:
        return None
    closed = become(user, [*_packages(), _nearest(directory)])
    # It warns where its user has no home for its cache of fonts, as nobody has none.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    if not closed:
        return None
    return f"the page's server runs as {user.name}, but may read all files, since {user.name} may not read " + listed(
        map(str, closed)
    )


def _packages() -> list[Path]:
    """Where this Python and its packages are, with the agent beside it."""
    places = [Path(sys.executable).parent, *(Path(one) for one in sys.path if os.path.isabs(one))]
    return [one for one in dict.fromkeys(places) if one.is_dir()]


def _nearest(directory: Path) -> Path:
    """The directory, or where it is to be."""
    return next(one for one in (directory.absolute(), *directory.absolute().parents) if one.exists())
