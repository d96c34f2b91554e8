"""An object of JSON that passes through."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
"""An object of JSON that is written out for programs, or kept and handed on as it came. What this code reads has a type
of its own."""
