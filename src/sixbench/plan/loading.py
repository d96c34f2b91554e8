"""Loads experiments by their names or files, with the changes that are asked for, and the papers beside them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..model.paper import Paper
    from .yaml_source import Source


def load_experiment(
    name: str,
    assignments: list[str],
    quick: bool,
    blocks: int | None,
    seed: int | None,
    kernels: list[str] | None = None,
    clock: str | None = None,
    hosts: Path | None = None,
) -> Experiment:
    """Finds, reads and checks an experiment, with the changes that are asked for.

    Args:
        clock: the clock of its emulated machines, if it has any: virtual unless this says `real`.
        hosts: a file that puts its nodes on machines.
    """
    from ..mechanisms import MECHANISMS
    from .experiment_file import read_experiment

    return read_experiment(experiment_source(name, assignments, quick, blocks, seed, kernels, clock, hosts), MECHANISMS)


def experiment_source(
    name: str,
    assignments: list[str],
    quick: bool,
    blocks: int | None,
    seed: int | None,
    kernels: list[str] | None = None,
    clock: str | None = None,
    hosts: Path | None = None,
) -> Source:
    """The file of an experiment, with the changes that `load_experiment` makes. Raises `UsageError` where it cannot be
    read, `ExperimentError` where it is not YAML."""
    from .hosts_override import apply_hosts
    from .overrides import apply, apply_quick, apply_set
    from .shipped import find_experiment
    from .yaml_source import read_yaml

    source = read_yaml(find_experiment(name))
    if hosts is not None:
        source = apply_hosts(source, hosts)
    if quick:
        is_in_guests = kernels is not None or (isinstance(source.data, dict) and bool(source.data.get("kernels")))
        source = apply_quick(source, is_virtual=is_in_guests and clock != "real")
    source = apply_set(source, assignments)
    if blocks is not None:
        source = apply(source, "blocks", blocks, "--blocks")
    if seed is not None:
        source = apply(source, "seed", seed, "--seed")
    if kernels is not None:
        source = apply(source, "kernels", kernels, "--kernel" if len(kernels) == 1 else "--kernels")
    return source


@lru_cache(maxsize=16)  # a list of runs needs the same paper many times, and reading takes some 10 ms
def load_paper(name: str | None) -> Paper | None:
    """The paper that a shipped experiment reproduces; None for any other experiment."""
    from .paper_file import paper_beside
    from .shipped import EXPERIMENT_FILE, shipped_directory

    return None if name is None else paper_beside(shipped_directory() / name / EXPERIMENT_FILE)


def paper_name(experiment: str) -> str | None:
    """The name of the paper, if that experiment is a shipped one with published numbers."""
    from .shipped import PUBLISHED_FILE, find_experiment, shipped_directory

    path = find_experiment(experiment).resolve()
    published = path.parent / PUBLISHED_FILE
    return path.parent.name if published.is_file() and path.parent.parent == shipped_directory().resolve() else None


def default_directory(name: str) -> Path:
    """The directory of a run unless another is given: `runs/NAME-DATE-TIME`."""
    import time

    return Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
