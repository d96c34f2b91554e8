"""The `kernels` part of an experiment: the kernels of the emulated machines in which the experiment runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..model.experiment import Combination
from ..model.kernels import COLUMN, DEBIAN_KERNELS, HOST_KERNEL, is_kernel_name
from ..model.parameter import Parameter
from ..model.quoting import listed, shown
from .key_reader import read_items
from .keys import ValueForms, ValueList
from .reader import Reader
from .yaml_source import KeyPath

MAX_KERNELS = 20
_KERNEL = Parameter(name="kernel", kind="kernel", doc="")
_SEVERAL = ValueList(what="kernels", item=_KERNEL, most=MAX_KERNELS, fewer="name fewer")
KERNELS = ValueForms((_KERNEL, _SEVERAL))


def read_kernels(reader: Reader, data: dict[str, Any]) -> tuple[str, ...]:
    """Reads the names of kernels, in order."""
    place: KeyPath = ("kernels",)
    value = data.get("kernels", [])
    names = read_items(reader, place, [value] if isinstance(value, str) else value, _SEVERAL)
    for index, name in enumerate(names):
        at = (*place, index) if isinstance(value, list) else place
        if not isinstance(name, str) or not is_kernel_name(name):
            known = listed([*DEBIAN_KERNELS, HOST_KERNEL])
            reader.problem(at, f"{shown(name)} is not a kernel; known are {known}, and FILE:MODULES")
        elif name in names[:index]:
            reader.problem(at, f"the kernel {shown(name)} is given twice; keep one")
    return tuple(map(str, names))


def on_kernels(combinations: Iterable[Combination], kernels: tuple[str, ...]) -> tuple[Combination, ...]:
    """Every combination on each of several kernels, with the kernel as one more level. With one kernel or none, the
    combinations as they are."""
    if len(kernels) < 2:
        return tuple(combinations)
    pairs = ((combination, kernel) for combination in combinations for kernel in kernels)
    return tuple(
        replace(combination, name=f"c{number:04d}", levels=combination.levels | {COLUMN: kernel})
        for number, (combination, kernel) in enumerate(pairs, 1)
    )
