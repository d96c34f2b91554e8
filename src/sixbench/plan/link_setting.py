"""One key of a link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..model.parameter import Scalar


@dataclass(frozen=True, kw_only=True)
class LinkSetting:
    """One key of a link.

    Attributes:
        parse: raises `ValueError` saying what would be right.
        suffix: the unit in the column's name.
        kind: the kind of value that a file gives, as `docs/experiments` and the JSON Schema name it.
        default: as an experiment would write it, or in words.
    """

    parse: Callable[[object], Scalar]
    suffix: str
    kind: str
    doc: str
    default: str
