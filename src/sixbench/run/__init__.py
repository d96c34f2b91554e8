"""The scheduler: blocks, trials, evidence, validity, resume. The only layer where networks and agents meet.

`laboratory` builds a network out of agents; `trial` runs one trial in it; `proof` judges it by what was observed;
`scheduler` runs them all and stops.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """This package, which is also the function `sixbench.run` for notebooks: Python sets a package's attribute to a
    module whenever the module is imported, so that no function of this name could stay there."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """See `sixbench.notebook.run`."""
        return import_module("sixbench.notebook").run(*args, **options)


sys.modules[__name__].__class__ = _Callable
