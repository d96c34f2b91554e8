"""The page's server gives way to what measures."""

from __future__ import annotations

import contextlib
import os

from ..lab.placement import pin
from ..lab.steering import usable_processors

NICE = 5
"""A third of the weight of others (setpriority(2)). At 19 it did not answer for a minute on a busy machine."""

OF_NODES = 2
"""A path's nodes are on the first processor, or on the first two (`lab.placement`, `lab.steering`)."""


def give_way() -> None:
    """Gives this process less weight than others have, and puts it off the processors that runs put their nodes on, as
    far as there are others. What the kernel refuses is left as it is: the page is no less right then."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    with contextlib.suppress(OSError):
        pin(os.getpid(), left_by_nodes(usable_processors()))


def left_by_nodes(usable: tuple[int, ...]) -> tuple[int, ...]:
    """The processors for what has to disturb no node; all where there is one only.

    Args:
        usable: those that there are, in the order in which runs take them.
    """
    return usable[min(OF_NODES, max(0, len(usable) - 1)) :]
