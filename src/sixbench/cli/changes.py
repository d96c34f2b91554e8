"""The changes to an experiment that options of `run` and `plan` make."""

from __future__ import annotations

from pathlib import Path

from ..model.errors import UsageError
from ..model.kernels import is_kernel_name, no_such_kernel
from ..model.quoting import printable
from ..plan.changes import ExperimentChanges


def changes_of(
    set_: list[str],
    *,
    quick: bool,
    blocks: int | None,
    seed: int | None,
    hosts: Path | None,
    kernel: str | None = None,
    kernels: str | None = None,
    clock: str | None = None,
) -> ExperimentChanges:
    """The changes that options make to an experiment. Raises as `chosen_kernels` does."""
    return ExperimentChanges(
        assignments=tuple(set_),
        quick=quick,
        blocks=blocks,
        seed=seed,
        kernels=chosen_kernels(kernel, kernels),
        clock=clock,
        hosts=hosts,
    )


def chosen_kernels(kernel: str | None, kernels: str | None) -> tuple[str, ...] | None:
    """The kernels that the command line names; None if it names none. Raises `UsageError`, and `CapabilityError` for a
    name that no kernel has."""
    if kernel is not None and kernels is not None:
        raise UsageError("--kernel and --kernels were both given; use --kernels a,b for several kernels")
    if kernels is not None:
        names = tuple(name.strip() for name in kernels.split(","))
        if not all(names):
            raise UsageError(
                f"--kernels {printable(kernels)}: write it as a,b, such as --kernels debian-5.10,debian-6.1"
            )
    elif kernel is not None:
        names = (kernel,)
    else:
        return None
    for name in names:
        if not is_kernel_name(name):
            raise no_such_kernel(name)
    return names
