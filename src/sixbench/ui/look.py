"""Announcement to a run that a page shows it (`bench.other_runs`)."""

from __future__ import annotations

import socket
from collections.abc import Callable

from ..bench.other_runs import announced_page
from ..model.errors import StoreError
from ..store import Folder


class Look:
    """A page that shows a run. It is announced from the time when the run has a directory until this is closed.

    Args:
        folder: the run's directory. Raises `StoreError` while there is none.
    """

    def __init__(self, folder: Callable[[], Folder]) -> None:
        self._folder = folder
        self._announced = False
        self._here: socket.socket | None = None

    def announce(self) -> None:
        """Announces the page to the run, once."""
        if self._announced:
            return
        try:
            directory = self._folder().identity
        except StoreError:
            return
        self._here = announced_page(directory)
        self._announced = True

    def close(self) -> None:
        """Ends the announcement."""
        if self._here is not None:
            self._here.close()
