"""Running sixbench as a user who is nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest

from sixbench.agent import find_agent

NOBODY = 65534
_AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
_IN_A_NAMESPACE = [*_AS_NOBODY, "unshare", "--user", "--map-root-user"]


def run_as_nobody(
    directory: Path, *arguments: str | Path, within: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """The command, by a user who may make user namespaces and nothing else. Skips where there is none such, or no
    Python of this version that everyone may run.

    Args:
        directory: the user's own (`nobodys_directory`).
        within: the words before the command that lead to another network namespace.
        variables: more of the environment's.
    """
    if os.geteuid() != 0 or not _succeeds([*_IN_A_NAMESPACE, "--net", "true"]):
        pytest.skip("this kernel lets no user make namespaces, or this test is not root")
    same = f"{sys.version_info.major}.{sys.version_info.minor}"
    pythons = [sys.executable, f"/usr/bin/python{same}"]
    python = next((name for name in pythons if _succeeds([*_IN_A_NAMESPACE, name, "-V"])), None)
    if python is None:
        pytest.skip(f"no Python {same} on this machine can be run by anyone but root")
    agent = directory / "sixbench-agent"
    if not agent.exists():  # what an earlier command started may still run from it
        shutil.copy(find_agent(), agent)
    own_library = sysconfig.get_path("stdlib")  # the other Python has one too
    paths = [path for path in sys.path if os.path.isdir(path) and path != own_library and "lib-dynload" not in path]
    packages = {path: str(directory / f"packages-{n}") for n, path in enumerate(paths)}
    fields = {"HOME": str(directory), "PYTHONPATH": os.pathsep.join(packages.values()), "SIXBENCH_AGENT": str(agent)}
    return subprocess.run(
        [
            *within,
            *_with_mounts(packages),
            *_AS_NOBODY,
            python,
            "-m",
            "sixbench",
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=directory,
        env={**os.environ, **fields, **variables},
    )


def _with_mounts(places: dict[str, str]) -> list[str]:
    """The words before a command for which each directory is also at another place. The packages of these tests may be
    in root's home, which nobody else may enter."""
    script = 'while [ "$1" != -- ]; do mkdir -p "$2"; mount --bind "$1" "$2"; shift 2; done; shift; exec "$@"'
    pairs = [path for pair in places.items() for path in pair]
    return ["unshare", "--mount", "sh", "-e", "-c", script, "sh", *pairs, "--"]


def _succeeds(words: list[str]) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0
