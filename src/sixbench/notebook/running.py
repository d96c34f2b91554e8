"""Experiments that are run from Python: by the command line, in a process of its own.

So nothing of the calling process changes: no namespace is entered, no signal handler is set, and where a user without
privileges needs a user namespace, it is the other process that enters it.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..lab.own_process import call
from ..model.errors import CapabilityError, Interrupted, SixbenchError, UsageError
from ..model.exit_codes import Exit
from ..store import holds_run, new_directory
from .frames import Frames, check_frames
from .loaded import LoadedRun, load

_ERRORS: dict[int, type[SixbenchError]] = {
    Exit.USAGE: UsageError,
    Exit.CANNOT: CapabilityError,
    Exit.INTERRUPTED: Interrupted,
}


def run(
    experiment: str | Path | Mapping[str, Any],
    *,
    quick: bool = False,
    blocks: int | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | Sequence[str] = (),
    out: str | Path | None = None,
    capture: bool = False,
    kernels: Sequence[str] = (),
    quiet: bool = False,
    frames: Frames = "pandas",
) -> LoadedRun:
    """Runs an experiment, and loads the run. Takes as long as `sixbench run` does; interrupting it keeps its trials.

    Args:
        experiment: the file of an experiment, the name of a shipped one, the text of one, or a mapping of the same
            form: `{"topology": ..., "paths": ..., "workloads": ...}`.
        quick: whether to shorten it to a few minutes.
        blocks: exactly so many blocks.
        seed: of the random order.
        set: values to change, `{"blocks": 10, "topology.links.0.rate": "10Mbit"}`, or as the command line has them:
            `["blocks=10"]`.
        out: the run directory; None: `runs/NAME-DATE-TIME` in the current directory.
        capture: whether to keep the packets of every link.
        kernels: to run it on, in emulated machines; empty: on this machine.
        quiet: whether to say nothing of progress on standard error.
        frames: whose DataFrames to make: those of `pandas` or of `polars`.

    Returns:
        The run. Where some of its trials failed, `run.manifest.state` is `partial`.

    Raises:
        ExperimentError: the experiment has problems; one line each.
        UsageError: what was asked for cannot be done, such as an `out` that is not empty.
        CapabilityError: this machine cannot run it, or pandas or polars is missing.
        Interrupted: the run was interrupted; its directory is kept and can be resumed.
        SixbenchError: anything else went wrong; the message is that of the command.
    """
    from ..plan.changes import ExperimentChanges
    from ..plan.loading import default_directory, load_experiment

    check_frames(frames)
    assignments = [f"{key}={_value(value)}" for key, value in set.items()] if isinstance(set, Mapping) else [*set]
    changes = ExperimentChanges(
        assignments=tuple(assignments), quick=quick, blocks=blocks, seed=seed, kernels=tuple(kernels) or None
    )
    with _as_argument(experiment) as argument:
        planned = load_experiment(argument, changes)
        directory = Path(out) if out is not None else new_directory(default_directory(planned.name))
        options = [
            *changes.options(),
            *(["--capture"] if capture else []),
            *(["--quiet"] if quiet else []),
        ]
        code, text = call(["run", argument, "--out", str(directory), *options], quiet)
        if out is None and not holds_run(directory):
            with contextlib.suppress(OSError):
                directory.rmdir()
    if code not in (Exit.DONE, Exit.PARTLY):
        raise _ERRORS.get(code, SixbenchError)(text or f"sixbench run ended with {code} and printed no message")
    if not holds_run(directory):
        raise SixbenchError(f"sixbench run ended with {code} and left no run in {directory}: {text}")
    return load(directory, frames=frames)


@contextlib.contextmanager
def _as_argument(experiment: str | Path | Mapping[str, Any]) -> Iterator[str]:
    """The command line's argument for an experiment: a name or a file. Texts and mappings become a file for as long as
    it is needed."""
    is_text = isinstance(experiment, str) and "\n" in experiment
    if not is_text and not isinstance(experiment, Mapping):
        yield str(experiment)
        return
    import yaml

    text = yaml.safe_dump(dict(experiment), sort_keys=False) if isinstance(experiment, Mapping) else str(experiment)
    with tempfile.TemporaryDirectory(prefix="sixbench-") as folder:
        file = Path(folder) / "experiment.yaml"
        file.write_text(text)
        yield str(file)


def _value(value: Any) -> str:
    """A value as `--set` reads it: JSON is YAML too."""
    return json.dumps(value)
