"""`--set a.b=c` and the `quick:` part of an experiment: values put in place of what the file says.

A dotted path walks mappings by key or by `*` (every value), and lists by number, by `*` (every element), by the one key
of an element (a workload's name), by an element's `name` or by its endpoints with a dash between (a link). What stands
between a number or `*` and a key of a workload's parameters, its name, may be left out: `workloads.*.duration`. Names
with dots cannot be walked.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from ..model.errors import ExperimentError, UsageError
from ..model.wording import printable, shown
from ..model.workloads import WORKLOADS
from .yaml_source import KeyPath, Source, parse_yaml

QUICK_BLOCKS = 3
"""Blocks of a quick run whose experiment says nothing of it: the least that give an interval worth the name."""

QUICK_DURATION = "1s"

MAX_QUICK = 100

QUICK, QUICK_VIRTUAL = "quick", "quick-virtual"
"""The parts of an experiment that say what `--quick` changes: on any clock, and beyond that on a virtual one."""


def apply_set(source: Source, assignments: list[str]) -> Source:
    """The source with each `a.b=c` put in. Raises `UsageError`, or `ExperimentError` where a value is not YAML."""
    for assignment in assignments:
        dotted, equals, text = assignment.partition("=")
        if not equals or not dotted:
            raise UsageError(f"--set {printable(assignment)}: write it as a.b=c, such as --set blocks=3")
        value = parse_yaml(text, f"--set {printable(dotted)}").data if text.strip() else None
        source = apply(source, dotted, value, f"--set {printable(assignment)}")
    return source


def apply_quick(source: Source, *, is_virtual: bool = False) -> Source:
    """The source as `--quick` runs it: by its own `quick:` part, or with fewer blocks and shorter trials; on a virtual
    clock also by its `quick-virtual:` part.

    Raises `ExperimentError` where those parts are wrong.
    """
    if not isinstance(source.data, dict):
        return source
    kept = {key: value for key, value in source.data.items() if key not in (QUICK, QUICK_VIRTUAL)}
    shortened = replace(source, data=kept)
    shortened = _put_all(shortened, source, QUICK) if QUICK in source.data else _default_quick(shortened)
    return _put_all(shortened, source, QUICK_VIRTUAL) if is_virtual and QUICK_VIRTUAL in source.data else shortened


def _put_all(shortened: Source, source: Source, part: str) -> Source:
    """What a part of the source puts into one that is being shortened."""
    own = source.data[part]
    if not isinstance(own, dict) or len(own) > MAX_QUICK:
        what = f"{len(own)} of them" if isinstance(own, dict) else shown(own)
        message = f"{part} must be a mapping from at most {MAX_QUICK} dotted paths to values, such as {{blocks: 3}}"
        raise ExperimentError([source.problem((part,), f"{message}, not {what}")])
    for dotted, value in own.items():
        problem = source.problem((part, dotted), "")
        where = f"{problem.file}:{problem.line}: {part}" if problem.line else f"{problem.file}: {part}"
        try:
            shortened = apply(shortened, dotted, value, where)
        except UsageError as error:
            message = str(error).removeprefix(f"{where}: ")
            raise ExperimentError([source.problem((part, dotted), message)]) from error
    return shortened


def apply(source: Source, dotted: str, value: Any, where: str) -> Source:
    """A copy of the source with `value` at a dotted path. Raises `UsageError` where the path leads nowhere.

    Args:
        where: who says so, for messages about the value.
    """
    data = copy.deepcopy(source.data)
    if not isinstance(data, dict):
        raise UsageError(f"{where}: {source.file} is no mapping, so nothing can be set in it")
    parts = dotted.split(".")
    targets: list[tuple[KeyPath, Any]] = [((), data)]
    for depth, part in enumerate(parts[:-1]):
        following = parts[depth + 1]
        targets = [
            ((*path, *step), child) for path, target in targets for step, child in _step(target, part, following)
        ]
        if not targets:
            raise UsageError(f'{where}: there is no "{printable(".".join(parts[: depth + 1]))}" in {source.file}')
    done = {(*path, key) for path, target in targets for key in _put(target, parts[-1], value)}
    if not done:
        raise UsageError(f'{where}: there is no "{printable(dotted)}" in {source.file}')
    kept = {path: who for path, who in source.overrides.items() if done.isdisjoint(_prefixes(path))}
    made = {prefix for path in done for prefix in _prefixes(path) if not _is_there(source.data, prefix)}
    return replace(source, data=data, overrides=kept | dict.fromkeys(done | made, where))


def _prefixes(path: KeyPath) -> list[KeyPath]:
    return [path[:length] for length in range(len(path) + 1)]


def _is_there(data: Any, path: KeyPath) -> bool:
    try:
        for part in path:
            data = data[part]
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _default_quick(source: Source) -> Source:
    """Fewer blocks and shorter trials; as long as ever where something happens in their midst."""
    workloads = [] if "events" in source.data else source.data.get("workloads")
    source = apply(source, "blocks", QUICK_BLOCKS, "--quick")
    for index, item in enumerate(workloads if isinstance(workloads, list) else []):
        if _is_timed(item):
            source = apply(source, f"workloads.{index}.duration", QUICK_DURATION, "--quick")
    return source


def _is_timed(item: Any) -> bool:
    """Whether a workload, as it is written, lasts for a time of its own."""
    if isinstance(item, str):
        item = {item: None}
    if not isinstance(item, dict) or len(item) != 1:
        return False
    [(name, parameters)] = item.items()
    if name in WORKLOADS and WORKLOADS[name].parameter("duration") is None:
        return False
    if not isinstance(parameters, dict):
        return parameters is None
    shared = str(parameters.get("duration")).startswith("$")
    return not shared and not parameters.keys() & {"bytes", "count"}


def _step(target: Any, part: str, following: str) -> list[tuple[KeyPath, Any]]:
    if isinstance(target, dict):
        keys = list(target) if part == "*" else [part]
        for key in keys:
            if target.get(key) is None:
                target[key] = {}
        return [((key,), target[key]) for key in keys]
    if isinstance(target, list):
        steps = (_within(target, index, part, following) for index in range(len(target)))
        return [step for step in steps if step is not None]
    return []


def _within(items: list[Any], index: int, part: str, following: str) -> tuple[KeyPath, Any] | None:
    """What a step into a list means at one of its elements; None where it does not match."""
    item = items[index]
    numbered = part in ("*", str(index))
    if isinstance(item, str) and (numbered or item == part):
        items[index] = item = {item: {}}
    if not isinstance(item, dict):
        return ((index,), item) if numbered else None
    if not numbered and part not in item:
        ends = item.get("endpoints")
        joined = "-".join(str(end) for end in ends) if isinstance(ends, list) else None
        return ((index,), item) if part in (item.get("name"), joined) else None
    name = part if not numbered else next(iter(item)) if len(item) == 1 else None
    if name is None or (numbered and following in (name, "*")):
        return (index,), item
    if item[name] is None:
        item[name] = {}
    if numbered and not isinstance(item[name], dict):
        return (index,), item
    return (index, name), item[name]


def _put(target: Any, part: str, value: Any) -> list[str | int]:
    """Puts a copy of the value there; the keys at which it is now."""
    keys: list[str | int] = []
    if isinstance(target, dict):
        keys = list(target) if part == "*" else [part]
    elif isinstance(target, list):
        keys = [index for index in range(len(target)) if part in ("*", str(index))]
    for key in keys:
        target[key] = copy.deepcopy(value)
    return keys
