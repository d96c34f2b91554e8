"""The parts of an experiment that do not depend on its network: one key gives each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from ..model.path import Path
from ..model.placement import Placement
from ..model.quoting import listed
from .experiment_keys import DEFAULT_NAME, DEFAULT_SEED, NOTE, NOTES
from .key_reader import read_items, read_value
from .reader import Reader, as_name


class ExperimentHeader(TypedDict):
    """The values of these keys."""

    name: str
    title: str
    description: str
    notes: tuple[str, ...]
    seed: int
    bottleneck: Literal["any", "path"]
    placement: Placement | None
    keep_awake: bool | None


def read_header(reader: Reader, data: dict[str, Any], read: dict[str, Any]) -> ExperimentHeader:
    """The parts of an experiment that one key each gives."""
    name = read.get("experiment", DEFAULT_NAME)
    notes = read_items(reader, ("notes",), data.get("notes", []), NOTES)
    words = [read_value(reader, ("notes", index), note, NOTE) for index, note in enumerate(notes)]
    return ExperimentHeader(
        name=name,
        title=read.get("title", name),
        description=read.get("description", "").strip(),
        notes=tuple(str(note) for note in words if note is not None),
        seed=read.get("seed", DEFAULT_SEED),
        bottleneck=read.get("bottleneck", "any"),
        placement=read.get("placement"),
        keep_awake=read.get("keep-awake"),
    )


def read_baseline(
    reader: Reader, data: dict[str, Any], paths: list[Path], standing_for: Mapping[str, Sequence[str]]
) -> str:
    """The name of the baseline: the first path unless it is given. What is wrong with it is noted."""
    names = [path.name for path in paths]
    if not names:
        return ""
    name = as_name(data.get("baseline", names[0]))
    levels = standing_for.get(name, ()) if isinstance(name, str) else ()
    if len(levels) > 1:
        message = f"{name} is {len(levels)} paths, one for each level of its options"
        reader.problem(("baseline",), f"{message}; give one of {listed(levels)}")
        return names[0]
    return reader.one_of(("baseline",), name, "path", names) or names[0]
