"""Low priority for the page's server, so that it does not disturb measurements."""

from __future__ import annotations

import contextlib
import os

from ..lab.placement import pin
from ..lab.steering import usable_processors

NICE = 5
"""A third of the usual weight (setpriority(2)). At 19 the server did not answer for a minute on a busy machine."""

OF_NODES = 2
"""Processors of a path's nodes: the first, or the first two (`lab.placement`, `lab.steering`)."""


def give_way() -> None:
    """Gives this process less weight than others, and moves it off the processors of the nodes, if there are others.
    A step that the kernel refuses is left out: the page shows the same."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    with contextlib.suppress(OSError):
        pin(os.getpid(), left_by_nodes(usable_processors()))


def left_by_nodes(usable: tuple[int, ...]) -> tuple[int, ...]:
    """The processors for processes that must not disturb nodes; all where there is only one.

    Args:
        usable: all usable processors, in the order in which runs take them.
    """
    return usable[min(OF_NODES, max(0, len(usable) - 1)) :]
