"""Changes to the file of an experiment: by options of `run` and `plan`, on the page, and in notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .yaml_source import Source


@dataclass(frozen=True, kw_only=True)
class ExperimentChanges:
    """Changes to the file of an experiment.

    Attributes:
        assignments: each `A.B=C`, as `--set` has them.
        quick: whether it is shortened to a few minutes.
        blocks: exactly so many; None: as the file says.
        seed: of the random order; None: as the file says.
        kernels: of emulated machines; None: as the file says.
        clock: of emulated machines: virtual unless this is `real`.
        hosts: a file that puts its nodes on machines.
    """

    assignments: tuple[str, ...] = ()
    quick: bool = False
    blocks: int | None = None
    seed: int | None = None
    kernels: tuple[str, ...] | None = None
    clock: str | None = None
    hosts: Path | None = None

    def apply_to(self, source: Source) -> Source:
        """The source with these changes. Raises `UsageError` or `ExperimentError` where they do not fit it."""
        from .hosts_override import apply_hosts
        from .overrides import apply, apply_quick, apply_set

        if self.hosts is not None:
            source = apply_hosts(source, self.hosts)
        if self.quick:
            is_in_guests = self.kernels is not None or (
                isinstance(source.data, dict) and bool(source.data.get("kernels"))
            )
            source = apply_quick(source, is_virtual=is_in_guests and self.clock != "real")
        source = apply_set(source, self.assignments)
        if self.blocks is not None:
            source = apply(source, "blocks", self.blocks, "--blocks")
        if self.seed is not None:
            source = apply(source, "seed", self.seed, "--seed")
        if self.kernels is not None:
            option = "--kernel" if len(self.kernels) == 1 else "--kernels"
            source = apply(source, "kernels", [*self.kernels], option)
        return source

    def options(self, *, joined: bool = False) -> list[str]:
        """The words of `sixbench run` that make the same changes.

        Args:
            joined: whether a value is one word with its option (`--blocks=3`), whatever it begins with.
        """
        words = ["--quick"] if self.quick else []
        for option, value in self._values():
            words += [f"{option}={value}"] if joined else [option, value]
        return words

    def _values(self) -> Iterator[tuple[str, str]]:
        if self.blocks is not None:
            yield "--blocks", str(self.blocks)
        if self.seed is not None:
            yield "--seed", str(self.seed)
        for assignment in self.assignments:
            yield "--set", assignment
        if self.kernels is not None:
            yield "--kernels", ",".join(self.kernels)
        if self.clock is not None:
            yield "--clock", self.clock
        if self.hosts is not None:
            yield "--hosts", str(self.hosts)


NO_CHANGES = ExperimentChanges()
"""The experiment as its file has it."""
