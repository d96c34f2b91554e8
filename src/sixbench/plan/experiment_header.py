"""The parts of an experiment that do not depend on its network: one key gives each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from ..model.experiment import Blocks, Combination
from ..model.path import Path
from ..model.placement import Placement
from ..model.quoting import listed
from .experiment_keys import DEFAULT_NAME, DEFAULT_SEED, NOTE, NOTES
from .factors import Factors
from .key_reader import read_items, read_value
from .paths_file import aa_path
from .reader import Reader, as_name
from .size_limits import MAX_TRIALS


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


def check_until(reader: Reader, blocks: Blocks, paths: Sequence[Path]) -> None:
    """Notes a decision that is waited for where there is nothing to decide about."""
    if blocks.until is not None and len(paths) == 1:
        reader.problem(("blocks", "until"), "until: decided needs a path besides the baseline to decide about")


def check_factors_are_used(reader: Reader, factors: Factors) -> None:
    """Notes factors that nothing refers to."""
    for name in factors.unused():
        reader.problem(
            ("factors", name), f"the factor ${name} is declared, but nothing refers to it; use it or leave it out"
        )


def with_aa_path(paths: list[Path], baseline: str, *, is_wanted: bool) -> list[Path]:
    """The paths, with the A/A path of the baseline where it is wanted."""
    if not is_wanted:
        return paths
    return [*paths, aa_path(next(path for path in paths if path.name == baseline), {path.name for path in paths})]


def check_number_of_trials(
    reader: Reader, combinations: Sequence[Combination], paths: Sequence[Path], blocks: Blocks
) -> None:
    """Notes an experiment of too many trials."""
    trials = sum(combination.goes_over(path.name) for combination in combinations for path in paths) * blocks.maximum
    if trials > MAX_TRIALS:
        reader.problem(("blocks",), f"{trials} trials are more than {MAX_TRIALS}; run fewer blocks or levels")
