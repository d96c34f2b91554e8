"""The clauses of each profile.

A new one is a file and a line here, its name in `model/procedure.py`, and its frame sizes in `sizes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..clauses import Clause
from . import rfc2544, rfc5180, rfc8219, rfc9693

CLAUSES: Mapping[str, Sequence[Clause]] = {
    "2544": rfc2544.CLAUSES,
    "5180": rfc5180.CLAUSES,
    "8219": rfc8219.CLAUSES,
    "9693": rfc9693.CLAUSES,
}
"""Clauses of each RFC, by its number."""
