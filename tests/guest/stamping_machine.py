"""An emulated machine with interfaces whose hardware stamps frames: a driver of our own, `stamping/stamping.c`."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any

import sixbench
from sixbench.agent import find_agent
from sixbench.guest import JOB, GuestKernel, find_kernel, find_qemu
from sixbench.guest.debian import dependencies, fetch, fetch_more
from sixbench.guest.image import find_image
from sixbench.guest.initramfs import make_initramfs, second_script
from sixbench.guest.jool import relocate
from sixbench.guest.machine import Start, run_machine
from sixbench.guest.memory import lay_out, make_memory, open_results, parameters, total_bytes
from sixbench.guest.programs import find_program, libraries, run_program

HERE = Path(__file__).parent / "stamping"
SUITE = "bookworm"
"""Its kernel is 6.1, for which the driver is written."""
LIMIT_S = 600


def kernel_with_driver(scratch: Path) -> GuestKernel:
    """A kernel of Debian with the driver among its modules."""
    doing = "building a driver for tests"
    fetched = fetch(SUITE, scratch)
    [vmlinuz] = (fetched.tree / "boot").glob("vmlinuz-*")
    release = vmlinuz.name.removeprefix("vmlinuz-")
    [modules] = [path for place in ("lib", "usr/lib") if (path := fetched.tree / place / "modules" / release).is_dir()]
    headers = f"linux-headers-{release}"
    wanted = [
        dependency
        for dependency in dependencies(scratch, headers, doing)
        if dependency.startswith(("linux-headers-", "linux-kbuild-"))
    ]
    tree = scratch / "headers"
    fetch_more(scratch, [headers, *wanted], tree, doing)
    relocate(tree, tree / "usr/src" / headers)
    source = scratch / "stamping"
    shutil.copytree(HERE, source)
    make = find_program("make", "make")
    run_program([make, "-s", "-C", tree / "usr/src" / headers, f"M={source}", "modules"], doing)
    (modules / "extra").mkdir(exist_ok=True)
    shutil.copyfile(source / "stamping.ko", modules / "extra" / "stamping.ko")
    return find_kernel(f"{vmlinuz}:{modules}")


def job_files() -> dict[str, bytes]:
    """Files that the machine has in `JOB`, besides those of guests. There is no /var, so pmc is told where ptp4l is."""
    asks = f'#!/bin/sh\nexec {JOB}/pmc-itself -s /run/ptp4l-eth2 -i /run/pmc.$$ "$@"\n'
    programs = {name: find_program(name, "linuxptp").read_bytes() for name in ("ptp4l", "pmc")}
    inside = (HERE / "inside.py").read_bytes()
    ss = find_program("ss", "iproute2").resolve()
    needed = {path.name: path.read_bytes() for path in libraries([ss]) if not path.name.startswith(("ld-", "libc."))}
    job_files = {"inside.py": inside, "ptp4l": programs["ptp4l"], "pmc-itself": programs["pmc"], "pmc": asks.encode()}
    return job_files | needed | {"ss": ss.read_bytes()}


def run_inside(kernel: GuestKernel) -> dict[str, bytes]:
    """Runs `inside.py` in a machine with this kernel, on its clock of instructions. Gives the files of its job."""
    agent, executable = find_agent().resolve(), Path(sys.executable)
    disks = lay_out(find_image(agent), kernel.modules_image)
    variables = {
        "PATH": f"{JOB}:{executable.parent}:/usr/sbin:/usr/bin",
        "LD_LIBRARY_PATH": JOB,
        "HOME": "/run",
        "TMPDIR": "/run/tmp",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(Path(sixbench.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SIXBENCH_AGENT": str(agent),
    }
    second = second_script([str(executable), f"{JOB}/inside.py"], variables, LIMIT_S)
    first = make_initramfs(kernel.boot_modules, second, job_files())
    memory, initramfs = make_memory(disks), os.memfd_create("sixbench-initramfs", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(initramfs), "wb") as file:
            file.write(first)
        start: dict[str, Any] = {"kernel": kernel.vmlinuz, "parameters": parameters(disks), "initramfs": initramfs}
        start |= {
            "memory": memory,
            "memory_bytes": total_bytes(disks),
            "accelerator": "tcg",
            "is_virtual": True,
            "seed": 1,
        }
        end = run_machine(find_qemu(), Start(**start), LIMIT_S, lambda line: None, threading.Event())
        assert end.exit == 0, end.console[-40:]
        with open_results(memory, disks) as disk, tarfile.open(fileobj=disk, mode="r|") as archive:
            return {item.name.removeprefix("./"): archive.extractfile(item).read() for item in archive if item.isfile()}  # type: ignore[union-attr]
    finally:
        os.close(memory)
        os.close(initramfs)
