"""The commands and kernels of an experiment that its paths and workloads run, for which whoever runs sixbench is
asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..model.experiment import Combination
from ..model.kernels import is_kernel_file
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.programs import commands as program_commands
from .guest import GUEST
from .program import PROGRAM
from .program_options import FILES, INTERFACE, KERNEL, READY, SETUP, START
from .shipped_programs import SHIPPED, SHIPPED_GUESTS


def commands_of(path: Path) -> tuple[str, ...]:
    """The commands of the experiment that a path runs: those of a program as whoever runs sixbench, those of a guest in
    it. Empty: none. Those that sixbench brings are no commands of the experiment."""
    if path.mechanism == PROGRAM.name and not _is_one_of(path, SHIPPED, (START, READY, FILES, INTERFACE)):
        return tuple(
            str(path.options[parameter.name]) for parameter in (START, READY) if parameter.name in path.options
        )
    if path.mechanism == GUEST.name and not _is_one_of(path, SHIPPED_GUESTS, (SETUP,)):
        return tuple(json.loads(str(path.options.get(SETUP.name, "[]"))))
    return ()


def commands_of_workloads(combinations: Iterable[Combination]) -> dict[str, tuple[str, ...]]:
    """The commands of the experiment that its workloads run as servers or clients, each once, by the workload's name.
    They run as whoever runs sixbench. Those that sixbench brings are no commands of the experiment."""
    by_workload: dict[str, dict[str, None]] = {}
    for combination in combinations:
        workload = combination.workload
        for command in program_commands(workload.params):
            by_workload.setdefault(workload.kind, {})[command] = None
    return {kind: tuple(texts) for kind, texts in by_workload.items()}


def kernel_file_of(path: Path) -> str | None:
    """The kernel that a path boots from files that its experiment names; None: it boots none, or one that sixbench has
    fetched, or this machine's."""
    name = str(path.options.get(KERNEL.name, ""))
    return name if path.mechanism == GUEST.name and is_kernel_file(name) else None


def _is_one_of(path: Path, shipped: Mapping[str, Mapping[str, Any]], options: Sequence[Parameter]) -> bool:
    """True if a path runs what sixbench brings, with its files."""
    return any(
        all(
            path.options.get(parameter.name)
            == (parameter.parse(options_of[parameter.name]) if parameter.name in options_of else None)
            for parameter in options
        )
        for options_of in shipped.values()
    )
