"""Imports matplotlib away from where the user stands.

It reads a file `matplotlibrc` of the current directory then, which may be anyone's: a wrong one would stop the import,
and a FIFO would keep it waiting. So this is imported before anything else of matplotlib.
"""

from __future__ import annotations

import os
from importlib import import_module


def _import_elsewhere() -> None:
    here = os.open(".", os.O_PATH | os.O_CLOEXEC)
    try:
        os.chdir("/")
        import_module("matplotlib")
    finally:
        os.fchdir(here)
        os.close(here)


_import_elsewhere()
