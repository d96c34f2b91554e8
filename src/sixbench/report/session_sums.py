"""The sessions of nodes that keep state, over the trials of a path."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..model.evidence.devices import TrackedSessions


@dataclass(frozen=True, kw_only=True)
class SessionSum:
    """A node that tracks connections, over the trials of a path.

    Attributes:
        trials: how many say something of it.
        before: the most that a trial began with.
        after: the most that a trial ended with.
        most: how many there may be.
        failed: what its table refused or gave up, by the kernel's counter. None: no trial tells.
    """

    node: str
    trials: int = 0
    before: int = 0
    after: int = 0
    most: int = 0
    failed: dict[str, int] | None = None

    def with_trial(self, told: TrackedSessions) -> SessionSum:
        """The same sum with the sessions of one more trial."""
        failed = self.failed
        if told.failed is not None:
            names = dict.fromkeys([*(failed or {}), *told.failed])
            failed = {name: (failed or {}).get(name, 0) + told.failed.get(name, 0) for name in names}
        return replace(
            self,
            trials=self.trials + 1,
            before=max(self.before, told.before),
            after=max(self.after, told.after),
            most=told.most,
            failed=failed,
        )
