"""Rules for the settings of one direction of a link: which settings need others, and which exclude each other."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.parameter import Scalar

NEEDS = {
    "overhead": ("rate",),
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
"""The settings that a setting needs. One of them is enough."""

_EXCLUSIVE = {
    "delay-file": ("delay", "jitter", "jitter-distribution"),
    "gilbert-elliott": ("loss", "loss-burst", "lost-packets"),
    "lost-packets": ("loss", "loss-burst"),
    "duplicated-packets": ("duplicate",),
}
_DISORDERLY = ("reorder", "late-packets")
_IDLE = (None, 0, "tail-drop")
"""Values that no other setting can build on."""
_WORDS = {"queue-discipline": "a queue-discipline of codel or fq_codel"}


def check_together(value: Mapping[str, Scalar]) -> tuple[str, str] | None:
    """The problem with settings that are each right on their own: the key, and the sentence."""
    for key, others in _EXCLUSIVE.items():
        other = next((name for name in others if key in value and name in value), None)
        if other is not None:
            return key, f"{key} and {other} set the same thing; leave one of them out"
    other = next((name for name in _DISORDERLY if name in value), None)
    if other is not None and value.get("in-order") is True:
        return "in-order", f"in-order keeps the order that {other} would change; leave one of them out"
    for key, needed in NEEDS.items():
        if _is_idle(key, value):
            words = " or ".join(_WORDS.get(name, name) for name in needed)
            return key, f"{key} needs {words}: add it, or leave {key} out"
    return None


def overridden(value: Mapping[str, Scalar], given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Settings with others put over them. Settings that say the same in another form are removed, and so are those that
    then lack what they need."""
    gone = {other for key in given for other in _rivals(key)}
    merged = {key: item for key, item in value.items() if key not in gone} | dict(given)
    return {key: item for key, item in merged.items() if key in given or not _is_idle(key, merged)}


def _rivals(key: str) -> set[str]:
    """The keys that a key excludes."""
    names = set(_EXCLUSIVE.get(key, ())) | {name for name, others in _EXCLUSIVE.items() if key in others}
    return names | ({"in-order"} if key in _DISORDERLY else set())


def _is_idle(key: str, value: Mapping[str, Scalar]) -> bool:
    """True if a setting lacks all the settings that it needs."""
    return key in value and key in NEEDS and all(value.get(need) in _IDLE for need in NEEDS[key])
