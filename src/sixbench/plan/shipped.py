"""The experiments that come with sixbench: one directory each, with `experiment.yaml` and, for a paper,
`published.yaml`."""

from __future__ import annotations

from pathlib import Path

from ..model.errors import UsageError

EXPERIMENT_FILE = "experiment.yaml"
PUBLISHED_FILE = "published.yaml"


def shipped_directory() -> Path:
    """Where they are: in the installed package, or at the top of a source tree."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "experiments"
    return inside if inside.is_dir() else package.parent.parent / "experiments"


def shipped_names() -> list[str]:
    """Their names, sorted."""
    return sorted(path.parent.name for path in shipped_directory().glob(f"*/{EXPERIMENT_FILE}"))


def find_experiment(name: str) -> Path:
    """The file of an experiment: a path, or the name of one that is shipped. Raises `UsageError`."""
    path = Path(name)
    if path.is_dir() and (path / EXPERIMENT_FILE).is_file():
        return path / EXPERIMENT_FILE
    if path.exists() or "/" in name or path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise UsageError(f"there is no experiment file {name}")
        return path
    shipped = shipped_directory() / name / EXPERIMENT_FILE
    if not shipped.is_file():
        raise UsageError(
            f"there is no file {name} and no experiment of that name; "
            f"shipped with sixbench: {', '.join(shipped_names()) or 'none'}"
        )
    return shipped
