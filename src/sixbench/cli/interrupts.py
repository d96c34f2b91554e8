"""Ctrl-C, SIGTERM and SIGHUP at any moment: they end a command with 130, and never in the midst of an import.

A library whose import is broken off leaves errors of its own (pyarrow: a traceback from C++). So an interrupt that
comes while a module is being imported waits until the module is there. So does one that comes where Python has to drop
exceptions (`__del__`, some calls out of C and Rust): it comes once more.

While a command runs, nobody else handles these signals: what runs beneath it takes `KeyboardInterrupt`.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

RETRY_S = 0.02
"""Interval at which a waiting interrupt is looked at again."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_IMPORT_SYSTEM = "<frozen importlib"


@contextmanager
def between_imports() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP raise `KeyboardInterrupt`, but not while a module is being imported. The handlers from
    before are there again afterwards. A signal that was ignored still is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, hook = {number: signal.getsignal(number) for number in SIGNALS}, sys.unraisablehook

    def dropped(what: sys.UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            _later()
        else:
            hook(what)

    ours = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    for number in ours:
        signal.signal(number, _interrupt)
    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in ours:
            signal.signal(number, before[number])


def _interrupt(number: int, frame: FrameType | None) -> None:
    if not _is_importing(frame):
        raise KeyboardInterrupt
    _later()


def _later() -> None:
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, RETRY_S)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
            return True
        frame = frame.f_back
    return False
