"""The mechanisms there are: one module a family of them, and this list."""

from __future__ import annotations

from ...model.mechanism import MechanismKind
from . import native

MECHANISMS: dict[str, MechanismKind] = {kind.name: kind for kind in (native.NATIVE4, native.NATIVE6)}
