"""Loads experiments by their names or files, with the changes that are asked for, and the papers beside them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from .changes import NO_CHANGES, ExperimentChanges

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..model.paper import Paper
    from .yaml_source import Source


def load_experiment(name: str, changes: ExperimentChanges = NO_CHANGES) -> Experiment:
    """Finds, reads and checks an experiment, with the changes that are asked for."""
    from ..mechanisms import MECHANISMS
    from .experiment_file import read_experiment

    return read_experiment(experiment_source(name, changes), MECHANISMS)


def experiment_source(name: str, changes: ExperimentChanges) -> Source:
    """The file of an experiment, with changes. Raises `UsageError` where it cannot be read, `ExperimentError` where it
    is not YAML."""
    from .shipped import find_experiment
    from .yaml_source import read_yaml

    return changes.apply_to(read_yaml(find_experiment(name)))


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
