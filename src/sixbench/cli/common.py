"""What several commands share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..model.paper import Paper


def note(text: str) -> None:
    """A message for people, on standard error."""
    print(text, file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """A result for programs, on standard output."""
    print(json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False))


def load_experiment(
    name: str,
    assignments: list[str],
    quick: bool,
    blocks: int | None,
    seed: int | None,
    kernels: list[str] | None = None,
    clock: str | None = None,
) -> Experiment:
    """Finds, reads and checks an experiment with what the command line changes in it.

    Args:
        clock: of its kernels, where it has any; virtual unless it is `real`.
    """
    from ..mechanisms import MECHANISMS
    from ..plan.experiment_file import read_experiment
    from ..plan.overrides import apply, apply_quick, apply_set
    from ..plan.shipped import find_experiment
    from ..plan.yaml_source import read_yaml

    source = read_yaml(find_experiment(name))
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
    return read_experiment(source, MECHANISMS)


def load_paper(name: str | None) -> Paper | None:
    """The paper that a shipped experiment reproduces; None for any other experiment."""
    from ..plan.paper_file import paper_beside
    from ..plan.shipped import EXPERIMENT_FILE, shipped_directory

    return None if name is None else paper_beside(shipped_directory() / name / EXPERIMENT_FILE)


def paper_name(experiment: str) -> str | None:
    """The name of the paper, if that experiment is a shipped one with published numbers."""
    from ..plan.shipped import PUBLISHED_FILE, find_experiment, shipped_directory

    path = find_experiment(experiment).resolve()
    published = path.parent / PUBLISHED_FILE
    return path.parent.name if published.is_file() and path.parent.parent == shipped_directory().resolve() else None


def default_directory(name: str) -> Path:
    """Where a run goes unless told otherwise: `runs/NAME-DATE-TIME`."""
    import time

    return Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
