"""Jool's modules, built for a kernel of Debian from the package jool-dkms of the same suite, and its programs.

The headers name their own places, and the compiler that Debian used. Both are replaced: by the tree where they were
unpacked, and by this machine's gcc. Nothing is installed here. Modules and programs are kept beside the kernel's own
modules, in the file system that guests see as /usr/lib/modules.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from ..model.errors import CapabilityError
from .debian import dependencies, fetch_more
from .programs import find_program, run_program

FOLDER = "jool"
"""Name of the directory of the programs, beside the modules' own."""

PROGRAMS = f"/usr/lib/modules/{FOLDER}/bin"
"""Directory of the programs in a guest."""

PARTS = ("common", "nat64", "siit")
"""The directories of src/mod that are built, in order: the other modules need the symbols of the first."""

MODULES = ("jool_common", "jool", "jool_siit")

BUILDING_BYTES = 256 * 2**20
"""Room that headers and objects may take for a while."""

_SOURCE, _TOOLS = "jool-dkms", "jool-tools"
_COMMANDS = ("jool", "jool_siit")
_START = """#!/bin/sh
LD_LIBRARY_PATH=/usr/lib/modules/jool/lib exec /usr/lib/modules/jool/programs/{name} "$@"
"""
_TOOLCHAIN = (("gcc", "gcc"), ("make", "make"), ("ld", "binutils"))


def check_tools() -> None:
    """Raises `CapabilityError` naming the Debian package of a program that building needs."""
    for program, package in _TOOLCHAIN:
        find_program(program, package)


def build(scratch: Path, release: str, modules: Path) -> str:
    """Fetches and builds Jool for a kernel that was fetched with the same `scratch`. Raises `CapabilityError`.

    Args:
        release: of the kernel.
        modules: the directory of its modules, to which Jool's are added, and beside which its programs are put.

    Returns:
        the package that was built and its version.
    """
    doing = f"building Jool for {release}"
    if shutil.disk_usage(scratch).free < BUILDING_BYTES:
        raise CapabilityError(f"{doing}: {BUILDING_BYTES / 2**20:.0f} MiB are needed in {scratch.parent}; make room")
    headers = f"linux-headers-{release}"
    tree = scratch / "jool"
    packages = packages_of(headers, dependencies(scratch, headers, doing), dependencies(scratch, _TOOLS, doing))
    fetched = {item.package: item for item in fetch_more(scratch, packages, tree, doing)}
    source = next(iter(sorted((tree / "usr/src").glob("jool-*/src/mod"))), None)
    if source is None:
        raise CapabilityError(f"{doing}: {_SOURCE} {fetched[_SOURCE].version} holds no sources")
    relocate(tree, tree / "usr/src" / headers)
    for argv in commands(tree / "usr/src" / headers, source):
        run_program(argv, doing)
    keep(tree, source, modules, doing)
    return f"{_SOURCE} {fetched[_SOURCE].version}"


def packages_of(headers: str, of_headers: list[str], of_tools: list[str]) -> list[str]:
    """The packages that are fetched.

    Args:
        headers: the package of the kernel's headers.
        of_headers, of_tools: the packages that it, and Jool's programs, depend on.
    """
    of_kernel = [name for name in of_headers if name.startswith(("linux-headers-", "linux-kbuild-"))]
    return [headers, *of_kernel, _SOURCE, _TOOLS, *(name for name in of_tools if name.startswith("libnl-"))]


def relocate(tree: Path, headers: Path) -> None:
    """Makes the headers find each other below `tree`, and this machine's compiler."""
    makefile, variables = headers / "Makefile", headers / ".kernelvariables"
    makefile.write_text(makefile.read_text(encoding="utf-8").replace(" /usr/src/", f" {tree}/usr/src/"))
    if variables.exists():
        variables.write_text(re.sub(r"\bgcc-[0-9]+\b", "gcc", variables.read_text(encoding="utf-8")))


def commands(headers: Path, source: Path) -> list[list[str | Path]]:
    """The commands that build the modules, as dkms.conf of jool-dkms has them."""
    make = find_program("make", "make")
    at_once = f"-j{os.cpu_count() or 1}"
    return [[make, "-s", at_once, "-C", headers, f"M={source / part}", "modules"] for part in PARTS]


def keep(tree: Path, source: Path, modules: Path, doing: str) -> None:
    """Puts the modules among those of the kernel, and the programs with their libraries beside them. Raises
    `CapabilityError` where one was not made."""
    built = {path.stem: path for path in source.rglob("*.ko")}
    missing = [name for name in MODULES if name not in built]
    if missing:
        raise CapabilityError(f"{doing}: the compiler produced no {', '.join(missing)}")
    extra = modules / "extra"
    extra.mkdir(exist_ok=True)
    for name in MODULES:
        shutil.copyfile(built[name], extra / f"{name}.ko")
    target = modules.parent / FOLDER
    for folder in ("bin", "lib", "programs"):
        (target / folder).mkdir(parents=True, exist_ok=True)
    for name in _COMMANDS:
        shutil.copyfile(tree / "usr/bin" / name, target / "programs" / name)
        (target / "bin" / name).write_text(_START.format(name=name), encoding="utf-8")
        for place in ("programs", "bin"):
            (target / place / name).chmod(0o755)
    for path in tree.rglob("libnl-*.so.*"):
        if not path.is_symlink():
            shutil.copyfile(path, target / "lib" / re.sub(r"(\.so\.[0-9]+).*", r"\1", path.name))
