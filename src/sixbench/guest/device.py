"""An emulated machine that is the device under test in a node: what QEMU is told, and the programs that it starts.

It has one processor, which QEMU emulates by this machine's clock. Kernel, first programs and modules come from the
cache; the commands are a small disk of their own. Its interfaces take no part of the work off the processor: the frames
that it sees are those of the wire, whole and with their checksums. QEMU has next to no rights (`confinement`), so its
files and taps are opened for it.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..model.errors import CapabilityError
from ..model.guest import GuestCommand, GuestPort
from ..model.quoting import printable
from . import start_opened
from .cache import cache_directory, forget_old, make_whole, one_at_a_time
from .confinement import confined, sandbox
from .contents import DATA
from .initramfs import archive
from .jool import PROGRAMS as JOOL_PROGRAMS
from .kernels import GuestKernel
from .machine import CPU, find_qemu, qemu_version
from .programs import find_program, libraries, run_program

READY = "sixbench: the guest is ready"
"""The line on its console once it forwards."""

CONSOLE, SETUP, START = "console", "setup", "start"
"""The files of the device's private directory: what was on the console, the commands, and what starts QEMU."""

_LAST = "sixbench: the end: "
"""The beginning of the line that tells why it cannot be ready."""

_START = """{command}
code=$?
grep -a -e '^{last}' -e 'Kernel panic' {console} | tail -n 1 | sed 's/^{last}//'
exit $code
"""
"""It says last why it has ended. Linux itself says on the console that it is reset."""

EMULATOR_BYTES = 1 << 30
"""Memory that QEMU itself may take beside the machine's: the code that it has translated, and its own."""

_PROGRAMS = (
    *(("sh", "dash"), ("mount", "mount"), ("umount", "mount")),
    *(("insmod", "kmod"), ("modprobe", "kmod"), ("rmmod", "kmod"), ("lsmod", "kmod")),
    *(("ip", "iproute2"), ("tc", "iproute2"), ("nft", "nftables"), ("ethtool", "ethtool"), ("sysctl", "procps")),
    *(("cat", "coreutils"), ("cp", "coreutils"), ("mkdir", "coreutils"), ("ls", "coreutils"), ("rm", "coreutils")),
    *(("sleep", "coreutils"), ("stty", "coreutils"), ("tail", "coreutils"), ("tr", "coreutils"), ("cut", "coreutils")),
    *(("uname", "coreutils"), ("true", "coreutils"), ("grep", "grep"), ("sed", "sed")),
)
"""The programs that commands may call, and the Debian packages that have them."""

OFFLOADS = (
    *("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo"),
    *("host_tso4", "host_tso6", "host_ecn", "host_ufo"),
)
"""Offloads of QEMU's interfaces, which would spare the guest's processor and are off."""

_ARCHIVE = "initramfs"
_FOLDERS = ("dev", "proc", "sys", "run", "tmp", "lib/modules", "usr/lib/modules")
_SECTOR_BYTES = 512
_TRANSLATED_MIB = 128

_MACHINE = "pc,hpet=on"
"""QEMU's microvm has no clock but the PIT, by which Linux cannot calibrate the time stamp counter on a busy machine: it
then hangs (seen with Linux 6.1 at a load of 7 for two processors)."""

_MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "ext4")
_PARAMETERS = (
    "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t nokaslr random.trust_cpu=on tsc=reliable mitigations=off "
    "no_timer_check"
)
"""Parameters of the kernel. Without the last one Linux panics where the timer is late at its start (seen at a load of
20 for two processors)."""

_INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:{jool} HOME=/run LC_ALL=C.UTF-8
mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs -o mode=755 run /run
stty -onlcr 2>/run/said
{loads}
waited=0
while [ ! -b /dev/vdb ] && [ $waited -lt 3000 ]; do waited=$((waited + 1)); sleep 0.01; done
[ -b /dev/vdb ] || {{ echo "{last}the guest's kernel has found no disk"; echo b >/proc/sysrq-trigger; }}
mount -t ext4 -o ro,noload /dev/vda /usr/lib/modules && mount --bind /usr/lib/modules /lib/modules
cd /run
exec sh /dev/vdb
"""

_COMMANDS = """
end() {{ echo "{last}$1"; echo b >/proc/sysrq-trigger; sleep infinity; }}
step() {{
    echo "$1"
    sh -c "$2" >/run/said 2>&1 </dev/null && {{ cat /run/said; return; }}
    code=$?
    cat /run/said
    end "$1 ended with $code: $(tr '\\n' ' ' </run/said | cut -c 1-150)"
}}
called() {{
    for folder in /sys/class/net/*; do
        read -r address <"$folder/address"
        [ "$address" = "$1" ] && {{ ip link set "${{folder##*/}}" name "$2"; return; }}
    done
    end "the guest has no interface $1"
}}
{names}
{steps}
for setting in ipv4/ip_forward ipv6/conf/all/forwarding; do
    read -r value </proc/sys/net/$setting
    [ "$value" = 1 ] || end "the guest does not forward after its setup: net/$setting is $value"
done
echo "{ready}"
exec sleep infinity
"""


@dataclass(frozen=True, kw_only=True)
class DeviceGuest:
    """The files from which a machine with a kernel starts.

    Attributes:
        version: of QEMU.
        initramfs: the archive of its first programs.
    """

    qemu: Path
    version: str
    kernel: GuestKernel
    initramfs: Path


def device_guest(kernel: GuestKernel) -> DeviceGuest:
    """Makes what is not there yet. Raises `CapabilityError` where QEMU or another program is missing, or the kernel
    has no module for disks and interfaces of QEMU."""
    qemu = find_qemu()
    programs = {name: find_program(name, package) for name, package in _PROGRAMS}
    data = [path for folder in DATA for path in sorted(Path(folder).rglob("*")) if path.is_file()]
    kept = cache_directory() / "devices"
    directory = kept / _digest(kernel, [*(path.resolve() for path in programs.values()), *data])
    with one_at_a_time(kept):
        if not (directory / _ARCHIVE).exists():
            packed = _packed(kernel, programs, data)

            def fill(path: Path) -> None:
                (path / _ARCHIVE).write_bytes(packed)

            make_whole(directory, fill)
            forget_old(directory)
    return DeviceGuest(qemu=qemu, version=qemu_version(qemu), kernel=kernel, initramfs=directory / _ARCHIVE)


def device_fields(
    guest: DeviceGuest,
    directory: str,
    ports: Sequence[GuestPort],
    commands: Sequence[GuestCommand],
    memory_bytes: int,
) -> dict[str, Any]:
    """The parameters of its `device-start`.

    Args:
        directory: the device's private one, as the device sees it.
        ports: its interfaces, in order.
        commands: what is done in it before it is ready.
        memory_bytes: the memory that it has.
    """
    console = f"{directory}/{CONSOLE}"
    command = shlex.join(start_line(guest, directory, ports, memory_bytes))
    start = _START.format(command=command, last=_LAST, console=shlex.quote(console))
    return {
        "name": f"the guest with {guest.kernel.name}",
        "argv": ["sh", f"{directory}/{START}"],
        "ready": ["grep", "-q", READY, console],
        "memory_bytes": memory_bytes + EMULATOR_BYTES,
        "files": {SETUP: script(ports, commands), START: start},
    }


def start_line(guest: DeviceGuest, directory: str, ports: Sequence[GuestPort], memory_bytes: int) -> list[str]:
    """The command line that opens what QEMU may not, and starts it without rights. Raises `CapabilityError`."""
    to_open = [*_files(guest, directory), *(("tap", port.tap) for port in ports)]
    launcher = [sys.executable, "-I", "-S", start_opened.__file__, json.dumps(to_open)]
    return [*launcher, *confined(), *command_line(guest, ports, memory_bytes)]


def _files(guest: DeviceGuest, directory: str) -> tuple[tuple[str, str], ...]:
    """Open flags of each of QEMU's files, in the order of `_DESCRIPTORS`."""
    return (
        ("append", f"{directory}/{CONSOLE}"),
        ("copy", str(guest.kernel.vmlinuz)),
        ("copy", str(guest.initramfs)),
        ("read", str(guest.kernel.modules_image)),
        ("read", f"{directory}/{SETUP}"),
    )


_DESCRIPTORS = _LOG, _KERNEL, _INITRAMFS, _MODULES_DISK, _SETUP_DISK = range(start_opened.FIRST, start_opened.FIRST + 5)
_FIRST_TAP = start_opened.FIRST + len(_DESCRIPTORS)


def command_line(guest: DeviceGuest, ports: Sequence[GuestPort], memory_bytes: int) -> list[str]:
    """QEMU's command line. Files and taps are descriptors that it inherits."""
    argv = [str(guest.qemu), *sandbox(guest.qemu), "-M", _MACHINE]
    argv += [
        "-accel",
        f"tcg,tb-size={_TRANSLATED_MIB}",
        "-cpu",
        CPU,
        "-smp",
        "1",
        "-m",
        f"{memory_bytes >> 20}M",
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
    ]
    argv += ["-display", "none", "-monitor", "none"]
    argv += ["-add-fd", f"fd={_LOG},set={_LOG}"]
    argv += ["-chardev", f"stdio,id=console,signal=off,logfile=/dev/fdset/{_LOG},logappend=on"]
    argv += ["-serial", "chardev:console"]
    argv += ["-kernel", f"/proc/self/fd/{_KERNEL}", "-initrd", f"/proc/self/fd/{_INITRAMFS}"]
    argv += ["-append", _PARAMETERS]
    for name, descriptor in (("modules", _MODULES_DISK), (SETUP, _SETUP_DISK)):
        argv += ["-add-fd", f"fd={descriptor},set={descriptor}"]
        argv += ["-drive", f"if=none,id={name},format=raw,readonly=on,file=/dev/fdset/{descriptor}"]
        argv += ["-device", f"virtio-blk-pci,drive={name}"]
    for number, port in enumerate(ports):
        argv += ["-netdev", f"tap,id=port{number},fd={_FIRST_TAP + number}"]
        features = ",".join(f"{name}=off" for name in OFFLOADS)
        argv += [
            "-device",
            f"virtio-net-pci,netdev=port{number},mac={port.address},host_mtu={port.mtu_bytes},romfile=,{features}",
        ]
    return argv


def script(ports: Sequence[GuestPort], commands: Sequence[GuestCommand]) -> str:
    """The commands as a disk, filled up to whole sectors."""
    # In two steps, because a name may at first belong to another interface.
    names = [f"called {port.address} port{number}" for number, port in enumerate(ports)]
    names += [f"called {port.address} {shlex.quote(port.name)}" for port in ports]
    steps = [f"step {shlex.quote(command.label)} {shlex.quote(command.line)}" for command in commands]
    text = _COMMANDS.format(names="\n".join(names), steps="\n".join(steps), ready=READY, last=_LAST)
    return text + "\n" * (-len(text.encode()) % _SECTOR_BYTES)


def _digest(kernel: GuestKernel, files: Sequence[Path]) -> str:
    """A name that differs for every other content, as far as sizes and times tell."""
    lines = [f"{kernel.sha256} {kernel.built} {_INIT}"]
    for path in files:
        about = path.stat()
        lines.append(f"{path} {about.st_size} {about.st_mtime_ns}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _packed(kernel: GuestKernel, programs: Mapping[str, Path], data: Sequence[Path]) -> bytes:
    """The archive of the first programs."""
    files = {f"usr/bin/{name}": path.resolve().read_bytes() for name, path in programs.items()}
    files["bin/sh"] = files["usr/bin/sh"]
    loaded = sorted(libraries(path.resolve() for path in programs.values()))
    files |= {str(path).lstrip("/"): path.read_bytes() for path in (*loaded, *data)}
    modules = _modules(kernel)
    files |= {f"modules/{number}.ko": content for number, content in enumerate(modules)}
    loads = "\n".join(f"insmod /modules/{number}.ko" for number in range(len(modules)))
    files["init"] = _INIT.format(loads=loads, last=_LAST, jool=JOOL_PROGRAMS).encode()
    return archive(files, _FOLDERS)


def _modules(kernel: GuestKernel) -> list[bytes]:
    """The modules without which it sees neither disks nor interfaces, in the order of loading."""
    with tempfile.TemporaryDirectory(prefix="sixbench-") as scratch:

        def read(path: str) -> bytes:
            copy = Path(scratch) / "copy"
            dump = f"dump /{kernel.release}/{path} {copy}"
            command: list[str | Path] = [find_program("debugfs", "e2fsprogs"), "-R", dump, kernel.modules_image]
            run_program(command, f"reading the modules of {kernel.name}")
            return copy.read_bytes() if copy.exists() else b""

        depends = dict(line.split(":", 1) for line in read("modules.dep").decode().splitlines() if ":" in line)
        built_in = {_module(line) for line in read("modules.builtin").decode().splitlines()}
        by_name = {_module(path): path for path in depends}
        order: list[str] = []
        for name in _MODULES:
            if name in by_name:
                wanted = (*reversed(depends[by_name[name]].split()), by_name[name])
                order += [path for path in wanted if path not in order]
            elif name not in built_in:
                raise CapabilityError(
                    f"the kernel {printable(kernel.name)} has no module {name}, without which it cannot be a device"
                )
        return [read(path) for path in order]


def _module(path: str) -> str:
    """The name of a module, from its place."""
    return PurePosixPath(path).stem.replace("-", "_")
