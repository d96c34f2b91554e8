"""Sessions of nodes that keep state."""

from __future__ import annotations

from dataclasses import dataclass

from ..form import Counts, Kept, Natural, Whole


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedSessions(Kept):
    """The sessions of a node that keeps state: the connections that Linux tracks there (`bench.proof.sessions`), or
    those of a relay.

    Attributes:
        before, after: how many there were at the beginning and at the end.
        most: how many there may be (`nf_conntrack_max`).
        failed: what the table refused or gave up, by the kernel's counter (`insert_failed`, `drop`, `early_drop`), or
            what a relay refused (`sessions`), without those of which there were none. None: the kernel does not tell.
        object_bytes: the memory that the kernel's entry of a session takes. None: only root may know.
        objects: by how much the entries of the whole machine rose. None: likewise.
    """

    before: Natural
    after: Natural
    most: Natural
    failed: Counts | None = None
    object_bytes: Natural | None = None
    objects: Whole | None = None

    @property
    def rise(self) -> int:
        """The increase until the end."""
        return self.after - self.before
