"""The files and links of this machine that a guest needs to run this very sixbench, at the places where they are here.

The same places, so that Python, its environment and editable installs find everything without being told.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from importlib.util import cache_from_source
from pathlib import Path

import sixbench

from ..model.errors import CapabilityError
from .programs import find_program, libraries

PROGRAMS = (
    *(
        ("sh", "dash"),
        ("mount", "mount"),
        ("switch_root", "util-linux"),
        ("modprobe", "kmod"),
        ("timeout", "coreutils"),
    ),
    *(("ip", "iproute2"), ("tc", "iproute2"), ("nft", "nftables"), ("ethtool", "ethtool"), ("sysctl", "procps")),
    *(("unshare", "util-linux"), ("nsenter", "util-linux"), ("setpriv", "util-linux"), ("tar", "tar")),
    *(("true", "coreutils"), ("cat", "coreutils"), ("mkdir", "coreutils"), ("sync", "coreutils")),
)
"""The programs that the guest's start and a run call, and the Debian packages that have them."""

DATA = ("/usr/lib/tc", "/usr/share/tc", "/etc/iproute2", "/usr/share/iproute2", "/usr/lib/iproute2")
"""Directories of the tables and distributions of iproute2 and netem, if there are any."""

REPORTS_ONLY = ("duckdb", "jinja2", "matplotlib")
"""Requirements of sixbench that only reports use, which are made outside the guest. A run notes their versions."""

_NOT_STANDARD = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "lib2to3",
    "site-packages",
    "dist-packages",
    "__pycache__",
)
_NOT_RUN = (".a", ".pyi", ".pxd", ".pyx", ".h", ".hpp", ".c", ".cpp")
_NOT_RUN_FOLDERS = ("/tests/", "/include/", "/__pycache__/")

Contents = dict[Path, Path]
"""The files and links here, by their place in the guest."""


def contents(agent: Path) -> Contents:
    """Everything that a guest needs. Raises `CapabilityError` where a program is missing here.

    Args:
        agent: the agent's program.
    """
    paths: Contents = {}
    programs = [find_program(name, package) for name, package in PROGRAMS]
    for path in (*programs, agent.resolve(), *_python()):
        _add(paths, path)
    for path in (*_distributions("sixbench"), *_package_files()):
        _add(paths, path)
    for folder in (*DATA, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")):
        for path in _files(Path(folder), _NOT_STANDARD):
            _add(paths, path)
    for path in sorted(libraries(path for path in list(paths.values()) if _may_load(path))):
        _add(paths, path)
    return paths


def bytecode(paths: Contents) -> Contents:
    """The compiled forms of the Python files, where they exist."""
    sources = ((place, path) for place, path in paths.items() if path.suffix == ".py")
    pairs = ((Path(cache_from_source(str(place))), Path(cache_from_source(str(path)))) for place, path in sources)
    return {place: path for place, path in pairs if path.exists()}


def digest(paths: Contents) -> str:
    """A name that differs for every other content, as far as sizes and times tell."""
    lines = []
    for place, path in sorted(paths.items()):
        about = path.lstat()
        lines.append(f"{place} {about.st_size} {about.st_mtime_ns} {about.st_mode}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _add(paths: Contents, path: Path) -> None:
    """Adds a file, and each link on the way to it. Its place is that of its folder without links."""
    for _ in range(40):
        paths[path.parent.resolve() / path.name] = path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / os.readlink(path)))
    raise CapabilityError(f"making the guest's file system: {path} is a link that leads in a circle")


def _python() -> Iterator[Path]:
    executable = Path(sys.executable)
    yield executable
    environment = Path(sys.prefix) / "pyvenv.cfg"
    if environment.exists():
        yield environment


def _package_files() -> Iterator[Path]:
    """The files of sixbench itself, wherever it runs from."""
    return _files(Path(sixbench.__file__).parent, ("__pycache__",))


def _files(folder: Path, but: Iterable[str]) -> Iterator[Path]:
    skipped = set(but)
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in skipped]
        yield from (Path(place) / name for name in names if not name.endswith(_NOT_RUN))


def _distributions(root: str) -> Iterator[Path]:
    """The files of what a distribution requires, and the names and versions of the rest and of itself."""
    todo, seen = [root], set[str]()
    while todo:
        name = todo.pop().lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        whole = name not in (root, *REPORTS_ONLY)
        for file in distribution.files or ():
            path = Path(str(distribution.locate_file(file)))
            words = f"/{file}"
            wanted = whole and not words.startswith("/..") and not any(part in words for part in _NOT_RUN_FOLDERS)
            if path.exists() and (file.name == "METADATA" or (wanted and not file.name.endswith(_NOT_RUN))):
                yield path
        if name not in REPORTS_ONLY:
            todo += [_name(line) for line in distribution.requires or () if "extra ==" not in line]


def _name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return match.group() if match else requirement


def _may_load(path: Path) -> bool:
    """True if it is a program or a library that a dynamic linker loads."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False
