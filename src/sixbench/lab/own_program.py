"""Starts sixbench again: from its own files, whatever stands where the user does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_START = _PACKAGE / "isolated.py"


def own_command(*arguments: str) -> list[str]:
    """The command line that runs this sixbench with these arguments.

    Python is isolated (`-I`) and puts no path before its own (`-P`). It is told where this process found its libraries,
    less the current directory, where anyone's files may be.
    """
    return [sys.executable, "-P", "-I", str(_START), os.pathsep.join(_import_path()), *arguments]


def _import_path() -> list[str]:
    here = os.path.realpath("/proc/self/cwd")  # exists even if the directory was removed
    others = [place for place in sys.path if os.path.isabs(place) and os.path.realpath(place) != here]
    return list(dict.fromkeys([str(_PACKAGE.parent), *others]))
