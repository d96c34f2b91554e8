"""`--set a.b=c` and the `quick:` part of an experiment: values put in place of what the file says.

A dotted path walks mappings by key and lists by number, by `*` (every element), by the key of a one-key mapping (a
workload's name) or by the element's `name` (a link). Names with dots cannot be walked.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from ..model.errors import UsageError
from .yaml_source import Source, parse_yaml

QUICK_BLOCKS = 3
"""Blocks of a quick run whose experiment says nothing of it: the least that give an interval worth the name."""

QUICK_DURATION = "1s"


def apply_set(source: Source, assignments: list[str]) -> Source:
    """The source with each `a.b=c` put in. Raises `UsageError`."""
    for assignment in assignments:
        dotted, equals, text = assignment.partition("=")
        if not equals or not dotted:
            raise UsageError(f"--set {assignment}: write it as a.b=c, such as --set blocks=3")
        value = parse_yaml(text, f"--set {dotted}").data if text.strip() else None
        source = apply(source, dotted, value, f"--set {assignment}")
    return source


def apply_quick(source: Source) -> Source:
    """The source as `--quick` runs it: its own `quick:` part, or fewer blocks and shorter trials."""
    data = source.data
    if not isinstance(data, dict):
        return source
    own = data.get("quick")
    if own is not None:
        if not isinstance(own, dict):
            return source
        for dotted, value in own.items():
            source = apply(source, dotted, value, f"{source.file}: quick: {dotted}")
        return source
    source = apply(source, "blocks", QUICK_BLOCKS, "--quick")
    workloads = data.get("workloads")
    for index, item in enumerate(workloads if isinstance(workloads, list) else []):
        if isinstance(item, str):
            source = apply(source, f"workloads.{index}", {item: {"duration": QUICK_DURATION}}, "--quick")
        elif isinstance(item, dict) and len(item) == 1:
            [(name, parameters)] = item.items()
            if parameters is None or (isinstance(parameters, dict) and not parameters.keys() & {"bytes", "count"}):
                source = apply(
                    source, f"workloads.{index}", {name: {**(parameters or {}), "duration": QUICK_DURATION}}, "--quick"
                )
    return source


def apply(source: Source, dotted: str, value: Any, where: str) -> Source:
    """A copy of the source with `value` at a dotted path. Raises `UsageError` where the path leads nowhere."""
    data = copy.deepcopy(source.data)
    if not isinstance(data, dict):
        raise UsageError(f"{where}: {source.file} is no mapping, so nothing can be set in it")
    parts = dotted.split(".")
    targets: list[Any] = [data]
    for depth, part in enumerate(parts[:-1]):
        targets = [child for target in targets for child in _step(target, part)]
        if not targets:
            walked = ".".join(parts[: depth + 1])
            raise UsageError(f'{where}: there is no "{walked}" in {source.file}')
    done = False
    for target in targets:
        done = _put(target, parts[-1], value) or done
    if not done:
        raise UsageError(f'{where}: there is no "{dotted}" in {source.file}')
    return replace(source, data=data)


def _step(target: Any, part: str) -> list[Any]:
    if isinstance(target, dict):
        if part not in target or target[part] is None:
            target[part] = {}
        return [target[part]]
    if isinstance(target, list):
        return [value for value in (_within(target, index, part) for index in range(len(target))) if value is not None]
    return []


def _within(items: list[Any], index: int, part: str) -> Any:
    """What a step into a list means at one of its elements; None where it does not match."""
    item = items[index]
    if part in ("*", str(index)):
        return item
    if item == part:
        items[index] = item = {part: {}}
    if isinstance(item, dict):
        if part in item:
            item[part] = {} if item[part] is None else item[part]
            return item[part]
        if item.get("name") == part or "-".join(str(end) for end in item.get("endpoints") or []) == part:
            return item
    return None


def _put(target: Any, part: str, value: Any) -> bool:
    if isinstance(target, dict):
        target[part] = copy.deepcopy(value)
        return True
    if isinstance(target, list):
        matched = [index for index in range(len(target)) if part in ("*", str(index))]
        for index in matched:
            target[index] = copy.deepcopy(value)
        return bool(matched)
    return False
