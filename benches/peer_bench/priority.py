"""Measuring on a machine that others use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_AUTOGROUP = Path("/proc/self/autogroup")
"""Where the kernel schedules by session, a nice value counts within the session only; the session has its own
(sched(7), "The autogroup feature")."""


@contextmanager
def before_others(nice: int) -> Iterator[None]:
    """Gives whatever starts in here that nice value, in the session and among the sessions; afterwards, the session has
    its own value again. Nothing is changed for 0. Raises `OSError` where a negative value is not allowed."""
    if nice == 0:
        yield
        return
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    if not _AUTOGROUP.exists():
        yield
        return
    before = _AUTOGROUP.read_text().split()[-1]
    _AUTOGROUP.write_text(str(nice))
    try:
        yield
    finally:
        _AUTOGROUP.write_text(before)
