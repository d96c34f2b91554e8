"""Programs of this machine, or the Debian packages that have them; and the libraries that they load."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..model.errors import CapabilityError
from ..model.program_path import with_usual_places

PATH = with_usual_places(os.environ.get("PATH", ""))
"""The folders of ip, tc and mke2fs, which not every user has in the PATH."""

LIMIT_S = 900
"""Time that a program may run: several times what fetching a kernel over a slow line takes."""

_LIBRARY = re.compile(r"(?:=> |^\s+)(/\S+) \(0x", re.MULTILINE)


def find_program(name: str, package: str) -> Path:
    """The path of a program. Raises `CapabilityError`, which names its package."""
    text = shutil.which(name, path=PATH)
    if text is None:
        raise CapabilityError(f"there is no {name} here; install it with: apt-get install {package}")
    return Path(text)


def run_program(
    argv: list[str | Path], doing: str, cwd: Path | None = None, variables: Mapping[str, str] | None = None
) -> str:
    """Runs a program and gives its standard output. Raises `CapabilityError`, with its last words, where it fails or
    takes longer than `LIMIT_S`.

    Args:
        argv: the program and its arguments.
        doing: for the message, such as `making a file system`.
        cwd: where it runs.
        variables: set in its environment.
    """
    environment = os.environ | {"PATH": PATH, "LC_ALL": "C"} | dict(variables or {})
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            cwd=cwd,
            check=False,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise CapabilityError(f"{doing}: {Path(argv[0]).name} took longer than {LIMIT_S} s") from error
    except OSError as error:
        raise CapabilityError(f"{doing}: {argv[0]}: {error.strerror or error}") from error
    if done.returncode != 0:
        words = " ".join((done.stderr or done.stdout).split())[-400:]
        raise CapabilityError(f"{doing}: {Path(argv[0]).name} ended with {done.returncode}: {words}")
    return done.stdout


def libraries(files: Iterable[Path]) -> set[Path]:
    """The shared libraries that programs and libraries load, the dynamic linker among them. Raises `CapabilityError`
    where there is no ldd."""
    names = [str(file) for file in files]
    if not names:
        return set()
    done = subprocess.run([find_program("ldd", "libc-bin"), *names], capture_output=True, text=True, check=False)
    return {Path(result) for result in _LIBRARY.findall(done.stdout)}
