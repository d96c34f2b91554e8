"""How the settings of one direction of a link go together: which belong to others, and which cannot stand beside each
other."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.workload import Scalar

NEEDS = {
    "queue": ("rate",),
    "burst": ("rate",),
    "queue-discipline": ("rate",),
    "queue-target": ("queue-discipline",),
    "queue-interval": ("queue-discipline",),
    "queue-ecn": ("queue-discipline",),
    "jitter-distribution": ("jitter",),
    "jitter-correlation": ("jitter", "delay-file"),
    "loss-burst": ("loss",),
    "reorder": ("delay", "delay-file"),
    "late-by": ("late-packets",),
}
"""To which others a setting belongs: one of them is enough."""

_EXCLUSIVE = {
    "delay-file": ("delay", "jitter", "jitter-distribution"),
    "gilbert-elliott": ("loss", "loss-burst", "lost-packets"),
    "lost-packets": ("loss", "loss-burst"),
    "duplicated-packets": ("duplicate",),
}
_DISORDERLY = ("reorder", "late-packets")
_IDLE = (None, 0, "tail-drop")
"""Values to which nothing belongs."""
_WORDS = {"queue-discipline": "a queue-discipline of codel or fq_codel"}


def check_together(value: Mapping[str, Scalar]) -> tuple[str, str] | None:
    """What is wrong with settings that are right one by one: the key, and the sentence."""
    for key, others in _EXCLUSIVE.items():
        other = next((one for one in others if key in value and one in value), None)
        if other is not None:
            return key, f"{key} says what {other} says too; leave one of them out"
    other = next((one for one in _DISORDERLY if one in value), None)
    if other is not None and value.get("in-order") is True:
        return "in-order", f"in-order keeps the order that {other} is to change; leave one of them out"
    for key, needed in NEEDS.items():
        if _is_idle(key, value):
            words = " or ".join(_WORDS.get(one, one) for one in needed)
            return key, f"{key} belongs to {words}: add it, or leave {key} out"
    return None


def overridden(value: Mapping[str, Scalar], own: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Settings with others in their place: those that say the same in other words go, and so do those that then have
    nothing to belong to."""
    gone = {other for key in own for other in _rivals(key)}
    merged = {key: one for key, one in value.items() if key not in gone} | dict(own)
    return {key: one for key, one in merged.items() if key in own or not _is_idle(key, merged)}


def _rivals(key: str) -> set[str]:
    """What cannot stand beside a key."""
    found = set(_EXCLUSIVE.get(key, ())) | {one for one, others in _EXCLUSIVE.items() if key in others}
    return found | ({"in-order"} if key in _DISORDERLY else set())


def _is_idle(key: str, value: Mapping[str, Scalar]) -> bool:
    """Whether a setting has none of those that it belongs to."""
    return key in value and key in NEEDS and all(value.get(one) in _IDLE for one in NEEDS[key])
