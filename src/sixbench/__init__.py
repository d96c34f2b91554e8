"""sixbench: the bench for IPv4, IPv6 and everything between.

From Python, such as in a notebook::

    import sixbench

    run = sixbench.load("runs/quickstart-20261122-104500")  # a run that was made
    run = sixbench.run("quickstart", quick=True)            # or one that is made now
    run.trials, run.findings, run.estimates                 # pandas or polars DataFrames

`docs/notebooks.md` tells more. Everything else in this package is internal: a folder is a layer, and
`docs/design.md` has the map of them.
"""

# First of all imports: it sets the search path of the others.
from . import search_path  # noqa: F401 # isort: skip

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model.errors import SixbenchError
    from .notebook import LoadedRun, load, run

__version__ = "0.1.0"

__all__ = ["LoadedRun", "SixbenchError", "load", "run"]


def __getattr__(name: str) -> Any:
    """The package's public names, imported at the first use, so that `import sixbench` is quick."""
    from importlib import import_module

    if name in ("LoadedRun", "load", "run"):
        return getattr(import_module(".notebook", __name__), name)
    if name == "SixbenchError":
        return import_module(".model.errors", __name__).SixbenchError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
