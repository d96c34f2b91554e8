"""`sixbench verify`."""

from __future__ import annotations

from pathlib import Path

import typer

from ..model.exit_codes import Exit
from . import completions
from .common import print_json, say
from .options import JSON

VERIFY_SCHEMA = "sixbench.verification/1"


def verify(
    directory: Path = typer.Argument(help="A run directory.", autocompletion=completions.run_directories),
    json: bool = JSON,
) -> int:
    """Check that every file of a run's trials is as it was recorded.

    It tells which trials are missing, copied, damaged or changed, and ends with 1 where there are any. It also says
    who else may write in the directory. It is no protection against someone who changes the hashes as well.
    """
    from ..store import others_who_may_write, read_run, verify_run

    run = read_run(directory)
    problems = verify_run(run)
    recorded = sum(trial.key in run.manifest.accepted for trial in run.trials)
    others = others_who_may_write(directory)
    if json:
        summary = {"trials": len(run.trials), "recorded": recorded, "problems": problems, "others_may_write": others}
        print_json({"schema": VERIFY_SCHEMA, "directory": str(directory), **summary})
    else:
        for problem in problems:
            say(problem)
        if not problems:
            count = "1 trial" if len(run.trials) == 1 else f"{len(run.trials)} trials"
            say(f"{directory}: {count}, {_what_is_known(len(run.trials), recorded)}")
        if others is not None:
            say(f"{directory}: {others}, so that what is in it may change at any time")
    return Exit.CHECK_FAILED if problems else Exit.DONE


def _what_is_known(trials: int, recorded: int) -> str:
    if recorded == trials:
        return "every file as it was recorded"
    if recorded == 0:
        return "of which no hashes were recorded: an earlier version of sixbench ran them"
    return f"every file of {recorded} of them as it was recorded, and of the others no hashes were"
