"""sixbench from Python: runs as DataFrames, and experiments that are run from a notebook.

`load` reads a run directory, `run` makes one by the command line in a process of its own. Beside `cli`, which nothing
here imports: this layer prints nothing and ends no process. Public by way of `sixbench.load` and `sixbench.run`.
"""

from .loaded import LoadedRun, load
from .running import run

__all__ = ["LoadedRun", "load", "run"]
