"""The large parts of the trials of a run: its histograms, its evidence, and the agents' results.

They are most of a record, and few commands look at them. So a run that was read keeps those of the first trials, as
many as have room. The others are read again when somebody asks for them: a run of 100,000 trials takes as much memory
as its numbers do.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ..model.errors import StoreError
from ..model.evidence import NO_EVIDENCE, evidence_from_json
from ..model.quoting import printable
from ..model.trial import TrialRecord
from .folder import Folder
from .ledger import hashes_of

PARTS = ("histograms", "evidence", "client", "server")

MOST_KEPT_BYTES = 2**24
"""The largest number of bytes of records whose details are kept. In memory these take three to six times as much."""

_RECENT = 16
"""Number of trials without room whose details are kept until others are read."""

_Value = TypeVar("_Value")

_Parts = Mapping[str, Any]
"""The parts of a record by name, as `TrialRecord` has them."""


class Details:
    """The large parts of a run's trials, for as long as the run is in memory."""

    def __init__(self, trials: Folder, parse: Callable[[bytes, Path], Mapping[str, Any]], name: str) -> None:
        """`trials` has a folder for each trial with a file of that name. `parse` makes an object of its content."""
        self._trials, self._parse, self._name = trials, parse, name
        self._digests: dict[str, bytes] = {}
        self._kept: set[str] = set()
        self._kept_bytes = 0
        self._recent: OrderedDict[str, _Parts] = OrderedDict()
        self._known: dict[Any, Any] = {}
        self.reads = 0
        """Number of records that were read again."""

    def lighter(self, record: TrialRecord, folder: str, size_bytes: int, digest: str) -> TrialRecord:
        """The record, without its large parts where there is no room for them: then these are read again from this
        folder if they are asked for. What many trials share, such as parameters and the names of metrics, is in memory
        once.

        Args:
            size_bytes: of the file.
            digest: the SHA-256 of the file, in hexadecimal.
        """
        self._kept_bytes += size_bytes
        values = vars(record) | {
            "combination": sys.intern(record.combination),
            "path": sys.intern(record.path),
            "mechanism": sys.intern(record.mechanism),
            "engine": sys.intern(record.engine),
            "workload": sys.intern(record.workload),
            "params": self._shared(record.params),
            "levels": self._shared(record.levels),
            "metrics": {sys.intern(column): value for column, value in record.metrics.items()},
            "theory": self._shared(record.theory),
            "bypass": self._shared(record.bypass),
            "notes": [sys.intern(note) for note in record.notes],
        }
        # The first parts are kept, because a report reads all trials in turn: the latest would always be gone by then.
        if self._kept_bytes <= MOST_KEPT_BYTES:
            self._kept.add(folder)
        else:
            self._digests[folder] = bytes.fromhex(digest)
            for part in PARTS:
                if values[part] not in ({}, NO_EVIDENCE):
                    del values[part]
        return LightRecord.of(self, folder, values)

    def part(self, folder: str, part: str) -> Any:
        """A part of the record in that folder, whose parts are not kept. Raises `StoreError` where it is no longer what
        was read."""
        parts = self._recent.get(folder)
        if parts is None:
            parts = self._recent[folder] = self._read_again(folder)
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return parts[part]

    def _read_again(self, folder: str) -> _Parts:
        self.reads += 1
        content = self._trials.read_in(folder, self._name)
        place = self._trials.path / folder / self._name
        if bytes.fromhex(hashes_of({self._name: content})[self._name]) != self._digests[folder]:
            raise StoreError(f"{printable(str(place))}: it was changed while the run was read")
        # Its form was checked when it was first read, and it has not changed since.
        data = self._parse(content, place)
        parts = {name: data.get(name, {}) for name in PARTS}
        return parts | {"evidence": evidence_from_json(parts["evidence"])}

    def _shared(self, values: dict[str, _Value]) -> dict[str, _Value]:
        """The same values in one object for all records that have them."""
        key = tuple((name, type(value), value) for name, value in values.items())
        results: dict[str, _Value] = self._known.setdefault(key, values)
        return results


class LightRecord(TrialRecord):
    """A record whose large parts are read when they are looked at, unless they are kept."""

    _details: Details
    _folder: str

    @classmethod
    def of(cls, details: Details, folder: str, values: Mapping[str, Any]) -> LightRecord:
        """The record in that folder, with these values."""
        record = object.__new__(cls)
        vars(record).update(values, _details=details, _folder=folder)
        return record

    def __getattr__(self, name: str) -> Any:
        if name not in PARTS:
            raise AttributeError(name)
        return self._details.part(self._folder, name)

    __hash__ = TrialRecord.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrialRecord) and all(
            getattr(self, field.name) == getattr(other, field.name) for field in fields(self)
        )
