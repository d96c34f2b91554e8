"""Waiting for other processes."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 300.0
"""After this a test hangs. It is no property of what is waited for, so no load of the machine comes near it."""


def wait_for(condition: Callable[[], object], awaited: Callable[[], object] | str = "the condition") -> None:
    """Returns once the condition holds.

    Args:
        condition: asked again and again.
        awaited: for the message where it never holds; a function gives what is there instead.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{awaited() if callable(awaited) else awaited}: not so after {PATIENCE_S:g} s")
        time.sleep(0.01)
