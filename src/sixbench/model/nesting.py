"""How deep values are in one another."""

from __future__ import annotations

from typing import Any


def depth(data: Any, most: int) -> int:
    """Levels of mappings and lists in a value, counted up to one more than `most`; 0: it is neither."""
    level, levels = [data] if isinstance(data, (dict, list)) else [], 0
    while level and levels <= most:
        levels += 1
        level = [
            part
            for whole in level
            for part in (whole.values() if isinstance(whole, dict) else whole)
            if isinstance(part, (dict, list))
        ]
    return levels
