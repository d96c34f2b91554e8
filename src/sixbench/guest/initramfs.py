"""The first programs in a guest. They find the file systems in memory, and run one command of sixbench in them.

An archive of the form that Linux takes (`newc`, Documentation/driver-api/early-userspace in its sources), made anew for
every start: it carries the command and its files.
"""

from __future__ import annotations

import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from .programs import find_program, libraries

UP = "sixbench-guest: up"
EXIT = "sixbench-guest: exit"
CLOCK = "sixbench-guest: clock"
"""The beginnings of lines on the console. UP: the guest has started. The others: the command has ended with the number
that follows, and its results are written; and, before that, the seconds of the clock since the start and the idle ones
among them."""

JOB = "/run/job"
"""The directory in the guest where the command's files are. Its content is the result."""

STDOUT = "stdout"
"""The file of the command's standard output, in that directory."""

_PROGRAMS = (
    *(("sh", "dash"), ("mount", "mount"), ("switch_root", "util-linux"), ("insmod", "kmod")),
    *(("mkdir", "coreutils"), ("cp", "coreutils"), ("sleep", "coreutils")),
)
_FOLDERS = ("dev", "proc", "sys", "new")
_DISKS_WAIT = 200
"""Longest time, in hundredths of a second, until the disks appear."""


def first_script(modules: Sequence[str]) -> str:
    """The script of process 1 until the file systems exist."""
    loads = "\n".join(f"insmod /modules/{name}.ko" for name in modules)
    return f"""#!/bin/sh
mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys
echo "{UP}"
{loads}
waited=0
while [ ! -b /dev/pmem2 ] && [ $waited -lt {_DISKS_WAIT} ]; do waited=$((waited + 1)); sleep 0.01; done
[ -b /dev/pmem2 ] || {{ echo "the guest's kernel has not made a disk of all three pieces of memory"; exit 1; }}
disk() {{ mount -t ext4 -o ro,dax "$1" "$2" || mount -t ext4 -o ro "$1" "$2"; }}
disk /dev/pmem0 /new && disk /dev/pmem1 /new/usr/lib/modules || exit 1
mount -t tmpfs -o mode=755 run /new/run
mkdir -p /new/run/tmp /new{JOB}
cp -a /job/. /new{JOB}/
cp /second /new/run/second
for folder in dev proc sys; do mount -n --move /$folder /new/$folder; done
exec switch_root /new /bin/sh /run/second
"""


def second_script(argv: Sequence[str], variables: Mapping[str, str], limit_s: int) -> str:
    """The script of process 1 from then on. Standard error goes to the console, through a pipe, because nobody looks at
    progress bars there. Results go to the third disk, which the host reads when the guest has ended."""
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())
    return f"""{exports}
ip link set lo up
cd /run
{{ timeout -s KILL {limit_s} {shlex.join(argv)} </dev/null >{JOB}/{STDOUT} 2>&3; echo $? >code; }} 3>&1 | cat
code=$(cat code)
tar -cf /dev/pmem2 -C {JOB} . && sync || code=results
read -r seconds idle </proc/uptime
echo "{CLOCK} $seconds $idle"
echo "{EXIT} $code"
echo b >/proc/sysrq-trigger
"""


def make_initramfs(boot_modules: Sequence[Path], second: str, files: Mapping[str, bytes]) -> bytes:
    """The archive. Raises `CapabilityError` where this machine lacks a program.

    Args:
        boot_modules: kernel modules in the order of loading.
        second: the second script.
        files: the files that the command finds in `JOB`, by name.
    """
    programs = {name: find_program(name, package) for name, package in _PROGRAMS}
    entries = {f"bin/{name}": path.resolve().read_bytes() for name, path in programs.items()}
    for library in sorted(libraries(path.resolve() for path in programs.values())):
        entries[str(library).lstrip("/")] = library.read_bytes()
    entries |= {f"modules/{path.name}": path.read_bytes() for path in boot_modules}
    entries |= {f"job/{name}": content for name, content in files.items()}
    entries |= {"init": first_script([path.stem for path in boot_modules]).encode(), "second": second.encode()}
    return archive(entries, (*_FOLDERS, "job"))


def archive(files: Mapping[str, bytes], empty: Sequence[str]) -> bytes:
    """An archive of files, which are all programs, by their places. `empty`: folders besides those of files."""
    places = [Path(name) / "file" for name in empty]
    folders = {str(parent) for path in (*map(Path, files), *places) for parent in path.parents} - {"."}
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in sorted(folders)]
    entries += [(name, stat.S_IFREG | 0o755, content) for name, content in sorted(files.items())]
    entries.append(("TRAILER!!!", 0, b""))
    archive = bytearray()
    for inode, (name, mode, content) in enumerate(entries, 1):
        fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name.encode()) + 1, 0)
        archive += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        archive += bytes(-len(archive) % 4) + content
        archive += bytes(-len(archive) % 4)
    return bytes(archive)
