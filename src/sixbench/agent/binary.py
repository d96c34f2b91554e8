"""Search for the agent's binary."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ..model.errors import CapabilityError

ENVIRONMENT_VARIABLE = "SIXBENCH_AGENT"
NAME = "sixbench-agent"


def find_agent() -> Path:
    """The agent to run: `$SIXBENCH_AGENT`, else beside this Python, else on the PATH. Raises `CapabilityError`."""
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        path = Path(named)
        if not os.access(path, os.X_OK):
            raise CapabilityError(f"${ENVIRONMENT_VARIABLE} names {path}, which cannot be executed")
        return path
    beside = Path(sys.executable).parent / NAME
    if os.access(beside, os.X_OK):
        return beside
    text = shutil.which(NAME)
    if text:
        return Path(text)
    raise CapabilityError(
        f"the program {NAME} is neither beside {sys.executable} nor on the PATH; install it with: make install, "
        "or install its wheel"
    )


def held_agent() -> int | None:
    """The agent to run, held open: a process that gives up the right to find it by its path can start it as
    `/proc/self/fd/N`. None: there is no agent."""
    try:
        return os.open(find_agent(), os.O_RDONLY | os.O_CLOEXEC)
    except (CapabilityError, OSError):
        return None


def agent_version(path: Path) -> str:
    """The version that it prints. Raises `CapabilityError` where it does not run."""
    try:
        return subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise CapabilityError(f"running {path} --version: {error}") from error
