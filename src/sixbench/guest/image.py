"""The guest's file system, made of `contents` and kept in the cache until one of its files changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .cache import cache_directory, forget_old, make_whole, one_at_a_time
from .contents import Contents, bytecode, contents, digest
from .filesystem import make_filesystem

_FOLDERS = (
    "proc",
    "sys",
    "dev",
    "run",
    "tmp",
    "etc",
    "root",
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib64",
    "usr/lib/modules",
)
_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "group": "root:x:0:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
}


def find_image(agent: Path) -> Path:
    """The file system with this sixbench and this agent in it. It is made where the cache has none. Raises
    `CapabilityError`."""
    paths = contents(agent)
    images = cache_directory() / "images"
    directory = images / digest(paths)
    with one_at_a_time(images):
        if not (directory / "root.img").exists():
            make_whole(directory, lambda path: _make(paths, path))
            forget_old(directory)
    return directory / "root.img"


def _make(paths: Contents, directory: Path) -> None:
    tree = directory / "tree"
    for name in _FOLDERS:
        (tree / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (tree / name).symlink_to(f"usr/{name}")
    for place, path in (paths | bytecode(paths)).items():
        _put(path, tree / str(place).lstrip("/"))
    for name, text in _ETC.items():
        (tree / "etc" / name).write_text(text, encoding="utf-8")
    # Some files of packages are broken on purpose. A file that cannot be compiled here is not imported in the guest.
    compile_all = [sys.executable, "-I", "-m", "compileall", "-q", "-j0", "-s", str(tree), "-p", "/", str(tree)]
    subprocess.run(compile_all, capture_output=True, check=False)
    make_filesystem(tree, directory / "root.img")
    shutil.rmtree(tree)


def _put(path: Path, place: Path) -> None:
    if os.path.lexists(place):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        place.symlink_to(os.readlink(path))
        return
    try:
        os.link(path, place)
    except OSError:  # another file system, or another user's file
        shutil.copy2(path, place)
