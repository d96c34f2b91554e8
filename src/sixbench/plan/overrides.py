"""`--set a.b=c` and the `quick:` part of an experiment: values that replace those of the file.

A dotted path goes into mappings by a key, or by `*` for every value. It goes into lists by a number, by `*` for every
element, by the only key of an element (the name of a workload), by an element's `name`, or by its endpoints with a dash
between (a link). The name of a workload may be left out after a number or `*`: `workloads.*.duration`. Names with dots
cannot be reached. For a path that leads nowhere the error lists the names that are there, such as the links. Paths and
what they make of an experiment are held within `size_limits` before any of it is made.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from ..model.errors import ExperimentError, UsageError
from ..model.quoting import listed, printable, shown, visible
from ..model.workloads import WORKLOADS
from .size_limits import MAX_DEPTH, MAX_DOTTED_CHARACTERS, MAX_LOOKS, MAX_STEPS, size_of, too_large
from .yaml_source import KeyPath, Source, parse_yaml

QUICK_BLOCKS = 3
"""Number of blocks of a quick run if its experiment gives none. Fewer give no usable interval."""

QUICK_DURATION = "1s"

MAX_QUICK = 100

QUICK, QUICK_VIRTUAL = "quick", "quick-virtual"
"""The parts of an experiment that say what `--quick` changes: on any clock, and what it changes as well on a virtual
one."""

NAMED: frozenset[tuple[str, ...]] = frozenset({("paths",), ("topology", "nodes"), ("factors",), ("profiles",)})
"""Mappings from names to things of one kind. A whole one can be added (`paths.tunnel=6in4`). A part of one that is not
there (`paths.tunnell.mtu=1400`) is a mistake."""


def apply_set(source: Source, assignments: Sequence[str]) -> Source:
    """The source with each `a.b=c` put in. Raises `UsageError`, or `ExperimentError` where a value is not YAML."""
    changed = ChangedSource(source)
    for assignment in assignments:
        dotted, equals, text = assignment.partition("=")
        where = f"--set {_short(assignment)}"
        if not equals or not dotted:
            raise UsageError(f"{where}: write it as a.b=c, such as --set blocks=3")
        steps_of(dotted, where)
        value = parse_yaml(text, f"--set {_short(dotted)}").data if text.strip() else None
        changed.put(dotted, value, where)
    return changed.source()


def _short(text: str) -> str:
    """The setting, for messages about it: as it was written, where it is not as long as a file."""
    return printable(text if len(text) <= MAX_DOTTED_CHARACTERS else f"{text[:MAX_DOTTED_CHARACTERS]}...")


def steps_of(dotted: str, where: str) -> list[str]:
    """The steps of a dotted path. Raises `UsageError` where it is longer than any path of an experiment."""
    if len(dotted) > MAX_DOTTED_CHARACTERS:
        raise UsageError(
            f'{where}: the path "{visible(dotted)}" has {len(dotted)} characters; '
            f"give one of at most {MAX_DOTTED_CHARACTERS}"
        )
    steps = dotted.split(".")
    if len(steps) > MAX_STEPS:
        raise UsageError(
            f'{where}: the path "{visible(dotted)}" has {len(steps)} steps; give one of at most {MAX_STEPS}'
        )
    return steps


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
    """The shortened source, with what a part of the full source puts into it."""
    part_data = source.data[part]
    if not isinstance(part_data, dict) or len(part_data) > MAX_QUICK:
        what = f"{len(part_data)} of them" if isinstance(part_data, dict) else shown(part_data)
        message = f"{part} must be a mapping from at most {MAX_QUICK} dotted paths to values, such as {{blocks: 3}}"
        raise ExperimentError([source.problem((part,), f"{message}, not {what}")])
    changed = ChangedSource(shortened)
    for dotted, value in part_data.items():
        problem = source.problem((part, dotted), "")
        where = f"{problem.file}:{problem.line}: {part}" if problem.line else f"{problem.file}: {part}"
        try:
            changed.put(dotted, value, where)
        except UsageError as error:
            message = str(error).removeprefix(f"{where}: ")
            raise ExperimentError([source.problem((part, dotted), message)]) from error
    return changed.source()


def apply(source: Source, dotted: str, value: Any, where: str) -> Source:
    """A copy of the source with `value` at a dotted path. Raises `UsageError` where the path leads nowhere.

    Args:
        where: what sets the value, for messages about it.
    """
    changed = ChangedSource(source)
    changed.put(dotted, value, where)
    return changed.source()


class ChangedSource:
    """A copy of a source into which values are put. Many of them take time in proportion to their number."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._data = copy.deepcopy(source.data)
        size = size_of(self._data)
        self._values, self._characters, self._looks = size.values, size.characters, 0
        self._overrides = dict(source.overrides)
        self._above = Counter(prefix for path in self._overrides for prefix in _prefixes(path))
        """Number of overrides at a path or below it."""

    def source(self) -> Source:
        """The source with all that was put in."""
        return replace(self._source, data=self._data, overrides=self._overrides)

    def put(self, dotted: str, value: Any, where: str) -> None:
        """Puts a value at a dotted path. Raises `UsageError` as `apply`."""
        if not isinstance(self._data, dict):
            raise UsageError(f"{where}: {self._source.file} is not a mapping, so nothing can be set in it")
        parts = steps_of(dotted, where)
        targets: list[tuple[KeyPath, Any]] = [((), self._data)]
        for depth, part in enumerate(parts[:-1]):
            following = parts[depth + 1]
            if tuple(parts[:depth]) in NAMED and any(_lacks(target, part) for _, target in targets):
                raise _nothing_there(where, self._source, parts[: depth + 1], targets)
            before = targets
            self._look_at(sum(_looks(target, part) for _, target in targets), where)
            targets = [
                ((*path, *step), child) for path, target in targets for step, child in _step(target, part, following)
            ]
            if not targets:
                raise _nothing_there(where, self._source, parts[: depth + 1], before)
        self._make_room(targets, parts[-1], value, where)
        done = {(*path, key) for path, target in targets for key in _put(target, parts[-1], value)}
        if not done:
            raise _nothing_there(where, self._source, parts, targets)
        self._replaced(done, where)

    def _look_at(self, number: int, where: str) -> None:
        """Counts values that a path comes by. Raises `UsageError` where all paths together come by too many."""
        self._looks += number
        if self._looks > MAX_LOOKS:
            raise UsageError(
                f"{where}: these settings pass more than {MAX_LOOKS} values in all; set less at once, or change the "
                "file itself"
            )

    def _make_room(self, targets: list[tuple[KeyPath, Any]], part: str, value: Any, where: str) -> None:
        """Raises `UsageError` where the values that are about to be put in are too many, too long or too deep."""
        number = sum(_looks(target, part) for _, target in targets)
        self._look_at(number, where)
        size = size_of(value)
        if any(len(path) + 1 + size.depth > MAX_DEPTH for path, _ in targets):
            raise UsageError(f"{where}: values would be nested more than {MAX_DEPTH} levels deep")
        self._values += number * size.values
        self._characters += number * (size.characters + len(part))
        limit = too_large(self._values, self._characters)
        if limit is not None:
            raise UsageError(f"{where}: with these settings, {limit}; set less")

    def put_in(self, part: str, index: int, key: str, value: Any, where: str) -> None:
        """Puts a value into one element of a list, as `put` does at `part.index.key`, without a look at the others."""
        step = _within(self._data[part], index, str(index), key)
        assert step is not None, f"{part} has no mapping at {index}"
        path, target = step
        self._replaced({(part, *path, done) for done in _put(target, key, value)}, where)

    def _replaced(self, done: set[KeyPath], where: str) -> None:
        """Notes what the values at these paths, and what was made to hold them, come from."""
        if any(self._above[path] for path in done):
            self._look_at(len(self._overrides), where)
            for path in [path for path in self._overrides if not done.isdisjoint(_prefixes(path))]:
                del self._overrides[path]
                self._above.subtract(_prefixes(path))
        results = {prefix for path in done for prefix in _prefixes(path) if not _is_there(self._source.data, prefix)}
        for path in results | done:
            if path not in self._overrides:
                self._overrides[path] = where
                self._above.update(_prefixes(path))


def _looks(target: Any, part: str) -> int:
    """Number of values that a step into a value passes."""
    if isinstance(target, list):
        return len(target)
    return len(target) if isinstance(target, dict) and part == "*" else 1


def _lacks(target: Any, name: str) -> bool:
    return isinstance(target, dict) and name != "*" and name not in target


def _nothing_there(where: str, source: Source, parts: list[str], targets: list[tuple[KeyPath, Any]]) -> UsageError:
    """The problem with a dotted path whose last part leads nowhere, with the names that would lead somewhere.

    Args:
        targets: where its parts before the last one lead.
    """
    above, asked = ".".join(parts[:-1]), printable(".".join(parts))
    text = f'{where}: there is no "{asked}" in {source.file}'
    holders = [target for _, target in targets if isinstance(target, dict | list)]
    if not holders:
        value = next((target for _, target in targets), None)
        return UsageError(f"{text}: {printable(above)} is {shown(value)} there, so set all of it")
    known = list(dict.fromkeys(name for target in holders for name in _names(target)))
    close = get_close_matches(parts[-1][:100], known, n=1)
    meant = f'; did you mean "{visible(close[0])}"?' if close else ""
    return UsageError(f"{text}{meant or ';'} {printable(above)} has {listed(known)}")


def _names(target: Any) -> list[str]:
    """The names by which a step can go into a mapping or a list."""
    if isinstance(target, dict):
        return [str(key) for key in target]
    return [_name_of(index, item) for index, item in enumerate(target)]


def _name_of(index: int, item: Any) -> str:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        return str(index)
    ends = item.get("endpoints")
    if isinstance(item.get("name"), str):
        return str(item["name"])
    if isinstance(ends, list):
        return "-".join(str(end) for end in ends)
    return str(next(iter(item))) if len(item) == 1 else str(index)


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
    """The source with fewer blocks and shorter trials. Trials with events keep their length."""
    workloads = [] if "events" in source.data or "servers" in source.data else source.data.get("workloads")
    changed = ChangedSource(source)
    changed.put("blocks", QUICK_BLOCKS, "--quick")
    for index, item in enumerate(workloads if isinstance(workloads, list) else []):
        if _is_timed(item):
            changed.put_in("workloads", index, "duration", QUICK_DURATION, "--quick")
        count = _quick_count(item)
        if count is not None:
            changed.put_in("workloads", index, "count", count, "--quick")
    return changed.source()


def _quick_count(item: Any) -> int | None:
    """The count of a workload that is too large for a quick run, as it is written; None: it is not."""
    if not isinstance(item, dict) or len(item) != 1:
        return None
    [(name, parameters)] = item.items()
    most = WORKLOADS[name].quick_count if name in WORKLOADS else None
    count = parameters.get("count") if isinstance(parameters, dict) else None
    return most if most is not None and isinstance(count, int) and count > most else None


def _is_timed(item: Any) -> bool:
    """True if a workload, as it is written, has a duration of its own."""
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
    """The step into one element of a list, and what it leads to; None if the step does not mean this element."""
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
    """Puts a copy of the value there. Returns the keys that have it now."""
    keys: list[str | int] = []
    if isinstance(target, dict):
        keys = list(target) if part == "*" else [part]
    elif isinstance(target, list):
        keys = [index for index in range(len(target)) if part in ("*", str(index))]
    for key in keys:
        target[key] = copy.deepcopy(value)
    return keys
