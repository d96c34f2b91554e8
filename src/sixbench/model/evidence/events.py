"""Changes of links in the middle of a trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..form import Kept, Name, Natural, Text


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkEvent(Kept):
    """A change of a link in the middle of the trial.

    Attributes:
        due_ns, done_ns: after the trial's start.
        mtu_bytes: the new MTU, where that changed.
        forward, reverse: the properties of the direction that changed (`LinkDirection`), with new values.
        takes: what the client lost of it.
        failed: what went wrong.
    """

    link: Name
    due_ns: Natural
    done_ns: Natural
    mtu_bytes: Natural | None = None
    forward: dict[Name, Any] | None = None
    reverse: dict[Name, Any] | None = None
    takes: Literal["link", "addresses"] | None = None
    failed: Text | None = None
