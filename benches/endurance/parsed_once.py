"""Records that nobody has changed are parsed once.

A case changes one file or a few, and the reader parses all others again, with the same result. So what a record of
these very bytes came to is kept. That a reader changes what it was given would be seen: what is kept is compared with
what the bytes come to, now and then.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sixbench.model.trial import TrialRecord
from sixbench.store import run_directory

_parse = run_directory._parse


class ParsedOnce:
    """Stands between `read_run` and the parser of records, while `on`."""

    def __init__(self, contents: Iterable[bytes]) -> None:
        """`contents` are those of the records that are kept."""
        self.on = True
        self._kept: dict[bytes, TrialRecord | None] = dict.fromkeys(contents)
        run_directory._parse = self.parse

    def parse(self, content: bytes, path: Path, *names: str) -> TrialRecord:
        """As the parser does it."""
        if not self.on or content not in self._kept:
            return _parse(content, path, *names)
        record = self._kept[content]
        if record is None:
            record = self._kept[content] = _parse(content, path, *names)
        return record

    def changed(self) -> TrialRecord | None:
        """A record that is not what its bytes come to any more."""
        kept = ((content, record) for content, record in self._kept.items() if record is not None)
        return next((record for content, record in kept if record != _parse(content, Path("record"))), None)
