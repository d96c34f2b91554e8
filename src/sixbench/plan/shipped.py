"""The experiments that come with sixbench: one directory each, with `experiment.yaml` and, for a paper,
`published.yaml`."""

from __future__ import annotations

import os
from pathlib import Path

from ..model.errors import UsageError
from ..model.quoting import listed, printable

EXPERIMENT_FILE = "experiment.yaml"
PUBLISHED_FILE = "published.yaml"


def shipped_directory() -> Path:
    """The folder of these experiments: in the installed package, or at the top of a source tree."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "experiments"
    return inside if inside.is_dir() else package.parent.parent / "experiments"


def shipped_names() -> list[str]:
    """The names of the shipped experiments, sorted."""
    return sorted(path.parent.name for path in shipped_directory().glob(f"*/{EXPERIMENT_FILE}"))


def find_experiment(name: str) -> Path:
    """The file of an experiment, given as the name of a shipped one or as a path. Raises `UsageError`.

    A shipped name always means the shipped experiment, whatever is in the current directory: `./quickstart` names a
    file or folder there.
    """
    if name in shipped_names():
        return shipped_directory() / name / EXPERIMENT_FILE
    path, shown = Path(name), printable(name)
    if os.path.isdir(name):
        inside = path / EXPERIMENT_FILE
        if not os.path.exists(inside):
            raise UsageError(f"{shown} is a directory without {EXPERIMENT_FILE}; name a file")
        return inside
    if os.path.exists(name):
        return path
    if not name or "/" in name or path.suffix in (".yaml", ".yml"):
        raise UsageError(f"there is no experiment file {shown or 'without a name'}")
    raise UsageError(
        f"there is no file {shown} and no experiment of that name; sixbench comes with {listed(shipped_names())}"
    )
