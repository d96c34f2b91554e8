"""Results of a part so far: they are kept while it goes on, so that a part that is stopped leaves them.

A part gets a `Keep` and calls it with all that it has found, as often as there is more. Ctrl-C is `KeyboardInterrupt`,
which a part with victims takes as "go on to the next one". SIGTERM is `Stopped`, which ends every part.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

PartResults = dict[str, Any]
Keep = Callable[[PartResults], None]

SELDOM_S = 5.0
"""The least time between two writings of what was found so far."""


class Stopped(BaseException):
    """SIGTERM came. No part takes it for one of its own errors."""


STOPS = (KeyboardInterrupt, Stopped)


def nothing(result: PartResults) -> None:
    """Keeps nothing."""


def hear_signals() -> None:
    """From now on SIGINT is `KeyboardInterrupt` and SIGTERM is `Stopped`, also where they were ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


class Kept:
    """The JSON file of a part, which always has what was found last. `stopped` is true in it until the part has ended.

    Args:
        complete: makes the content of the file of what was found.
    """

    def __init__(self, file: Path, complete: Callable[[PartResults], PartResults]) -> None:
        self.file = file
        self.results: PartResults | None = None
        self._complete = complete
        self._written_s = 0.0

    def keep(self, result: PartResults) -> None:
        """Takes what was found so far, and writes it if the last writing was some seconds ago."""
        self.results = result
        if time.monotonic() - self._written_s >= SELDOM_S:
            self._write(result | {"stopped": True})
            self._written_s = time.monotonic()

    def end(self, result: PartResults | None) -> PartResults | None:
        """Writes what the part has found in all; None: it was stopped, and what is kept counts. Returns the content of
        the file; None where nothing was found before it was stopped, and then there is no file."""
        if result is None:
            if self.results is None:
                return None
            result = self.results | {"stopped": True}
        return self._write(result)

    def _write(self, result: PartResults) -> PartResults:
        """Beside it first, so that a reader never sees half of it."""
        content = self._complete(result)
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        os.replace(partial, self.file)
        return content
