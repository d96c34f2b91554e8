"""The command as tests start it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIXBENCH = (sys.executable, "-m", "sixbench")
WITHOUT_FIGURES = (sys.executable, "-P", str(Path(__file__).with_name("without_figures.py")))
"""Command whose report has no figures."""


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """`sixbench doctor`, once in words and once as JSON.

    Attributes:
        left_interfaces: those that are there afterwards and were not before.
    """

    shown: subprocess.CompletedProcess[str]
    data: subprocess.CompletedProcess[str]
    left_interfaces: set[str]


def with_exit(sixbench: Callable[..., Any]) -> Callable[..., Any]:
    """The command as `packets_through` knows it."""

    def run(*words: object) -> Any:
        done = sixbench(*words)
        done.exit = done.returncode
        return done

    return run
