"""A run of very many trials that never took place: written, opened, read, verified, analysed and reported,
each with its time and with the memory of the process.

    PYTHONPATH=src:tests python benches/sweep.py [TRIALS] [FOLDER]

Records are those of `tests/synthetic.py`, which have about a tenth of the size of measured ones. FOLDER should be in
memory (/dev/shm): each trial is flushed to the disk when it is written.
"""

from __future__ import annotations

import gc
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import synthetic
from table import show

from sixbench.analysis import analyse
from sixbench.model.parameter import Scalar
from sixbench.report import FORMATS
from sixbench.store import create_run, open_run, read_run, verify_run, write_derived

BLOCKS = 25
RATES = 20

Result = TypeVar("Result")


def main() -> None:
    """Prints a line for each step."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    folder = Path(tempfile.mkdtemp(dir=sys.argv[2] if len(sys.argv) > 2 else "/dev/shm"))
    try:
        sweep(trials, folder / "run")
    finally:
        shutil.rmtree(folder)


def sweep(trials: int, directory: Path) -> None:
    """Four paths in 25 blocks at as many combinations as make up the trials."""
    # In a process of its own, because it has all records in memory.
    writing = multiprocessing.Process(target=write, args=(trials, directory))
    writing.start()
    writing.join()
    show(f"run of {trials} trials", "s", "MiB", "", "")
    _step("opened to be resumed", lambda: _resumed(directory))
    run = _step("read", lambda: read_run(directory))
    problems = _step("verified", lambda: verify_run(run))
    assert not problems
    analysis = _step("analysed", lambda: analyse(run))
    for form in ("terminal", "json", "html"):
        text = _step(f"reported as {form}", lambda form=form: FORMATS[form].render(run, analysis))  # type: ignore[misc]
        show(f"  {form}, MB", f"{len(text.encode()) / 1e6:.2f}", "", "", "< 5" if form == "html" else "")
    _step("trials.parquet", lambda: write_derived(run, {}))


def _resumed(directory: Path) -> int:
    writer, run = open_run(directory)
    writer.close()
    return len(run.trials)


def write(trials: int, directory: Path) -> None:
    """Writes the run directory, a block at a time."""
    sizes: list[Scalar] = [2 + size for size in range(max(1, trials // (4 * BLOCKS * RATES)))]
    paths = (*synthetic.NATIVE, synthetic.replace(synthetic.NATIVE[2], name="ipv6-too"))
    experiment = synthetic.experiment(
        paths,
        [("tcp-rr", {"message_bytes": sizes})],
        links=[{"link_rate_bps": rate * 10**6} for rate in range(1, RATES + 1)],
        blocks=BLOCKS,
    )
    build = synthetic._build(experiment, BLOCKS)
    writer = create_run(directory, build.manifest)
    started = time.perf_counter()
    for trial in build.trials:
        writer.add_trial(trial, {})
    writer.save_manifest()
    show("written, ms a trial", f"{1e3 * (time.perf_counter() - started) / len(build.trials):.3f}", "", "", "")
    writer.close()


def _step(name: str, work: Callable[[], Result]) -> Result:
    gc.collect()
    started = time.perf_counter()
    result = work()
    took = time.perf_counter() - started
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    show(f"  {name}", f"{took:.2f}", f"{peak_mib:.0f}", "", "")
    return result


if __name__ == "__main__":
    main()
