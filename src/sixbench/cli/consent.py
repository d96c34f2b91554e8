"""Consent to the commands of an experiment: those of programs under test, which may be anyone's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..model.quoting import visible
from .options import ALLOW_FLAG, MEAN_IT_FLAG

if TYPE_CHECKING:
    from ..model.path import Path

MAX_SHOWN = 100


def commands_by_path(paths: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """The commands that an experiment would run, by the name of the path, each once."""
    from ..mechanisms import commands_of

    return {path.name: commands for path in paths if path.aa_of is None and (commands := commands_of(path))}


def require_consent(paths: Iterable[Path], *, allowed: bool) -> None:
    """Raises `UsageError` where an experiment has commands that the command line does not allow. A run directory never
    has the consent: whoever goes on with it gives it again."""
    from ..model.errors import UsageError

    found = commands_by_path(paths)
    if allowed or not found:
        return
    name, commands = next(iter(found.items()))
    shown = visible(commands[0])[:MAX_SHOWN]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise UsageError(
        f"paths.{name}{more} runs a program of the experiment, with all rights of whoever runs sixbench: {shown}. "
        f"Read it as you would read a script (sixbench plan shows all of it), then allow it with {ALLOW_FLAG}"
    )


def refuse_programs_in_guests(paths: Iterable[Path]) -> None:
    """Raises `UsageError` where a path has a program under test: an emulated machine has none of this one's programs
    but sixbench's own."""
    from ..mechanisms.program import PROGRAM
    from ..model.errors import UsageError

    found = next((path.name for path in paths if path.mechanism == PROGRAM.name), None)
    if found is not None:
        raise UsageError(
            f"paths.{found} is a program under test, which an emulated machine does not have; leave the kernels out, "
            "or this path"
        )


def without_consent(arguments: Sequence[str]) -> list[str]:
    """A command line as run directories keep it: whoever repeats it decides anew."""
    return [argument for argument in arguments if argument not in (ALLOW_FLAG, MEAN_IT_FLAG)]
