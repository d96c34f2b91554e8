"""Counts of translators."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..form import Kept, Name
from ..topology import Family
from .counts import CountIncrease


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslatorCounters(Kept):
    """Counts of a translator, in packets as they came to it.

    Attributes:
        to_ipv6, to_ipv4: those that it translated.
        slow: of these, those that user space translated, by the clause that decided.
        answered: those whose source was told of an error instead, by clause.
        drops: by clause.
        waiting: fragments that still waited for the first one of their packet at the trial's end; None: it was not
            counted.
    """

    to_ipv6: CountIncrease
    to_ipv4: CountIncrease
    slow: dict[Name, CountIncrease] = field(default_factory=dict)
    answered: dict[Name, CountIncrease] = field(default_factory=dict)
    drops: dict[Name, CountIncrease] = field(default_factory=dict)
    waiting: CountIncrease | None = None

    def to(self, family: Family) -> CountIncrease:
        """Those that it translated to a family."""
        return self.to_ipv6 if family == 6 else self.to_ipv4
