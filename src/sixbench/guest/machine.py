"""QEMU: its command line, its console, its end.

It is started without rights (`confinement`), dies with this process however that ends, and is killed by its own number.
Its files are anonymous ones, which it inherits.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..model.errors import CapabilityError
from .confinement import confined, sandbox
from .initramfs import CLOCK, EXIT, UP
from .kvm import KVM_ANSWER_S, KVM_CPU, kvm_groups
from .programs import find_program

INSTRUCTION_NS = 1
"""QEMU's `-icount shift=0`: every instruction takes a nanosecond, as on a machine of a billion instructions a
second."""

CPU = "max,la57=off,erms=off,fsrm=off"
"""The processor: all that QEMU can emulate, but with page tables of four levels, as most machines have, and without
fast string instructions. With them Linux copies by `rep movsb`, of which QEMU counts every byte as an instruction, and
the clock would show little but copies (TCP at 2.3 Gbit/s rather than 8.8). Without, a copy is 8 bytes an
instruction."""

PARAMETERS = (
    "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t nokaslr norandmaps random.trust_cpu=on tsc=reliable "
    "mitigations=off softlockup_panic=1 hung_task_panic=1"
)
"""Parameters of the kernel. The places of code and data are not random. A guest that hangs panics, and one that panics
ends."""

BOOT_S = 120.0
"""Longest time that a guest may take to start; it takes some 5 s here."""

SHOWN_LINES = 8
MOST_CONSOLE_BYTES = 2**26
"""The most that a guest may write to its console, which is memory of this machine. A run writes some kilobytes."""
_POLL_S = 0.1
_KERNEL_LINE = re.compile(r"\s*\[ *\d+\.\d+\] ")
_QEMU, _PACKAGE = "qemu-system-x86_64", "qemu-system-x86"

Accelerator = Literal["tcg", "kvm"]


@dataclass(frozen=True, kw_only=True)
class Start:
    """The parts with which a guest starts.

    Attributes:
        parameters: of the kernel, beside `PARAMETERS`.
        kernel, initramfs, memory: descriptors of anonymous files.
        memory_bytes: the size of the latter.
        is_virtual: whether its clock counts instructions.
        seed: of its random numbers.
    """

    parameters: str
    kernel: int
    initramfs: int
    memory: int
    memory_bytes: int
    accelerator: Accelerator
    is_virtual: bool
    seed: int


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The pace of a guest's clock: how long it ran by its own clock, how much of that it was busy, and how long by
    ours."""

    clock_s: float
    busy_s: float
    took_s: float

    def __str__(self) -> str:
        return f"{self.clock_s:.1f} s of its clock, {self.busy_s:.1f} s of them busy, took {self.took_s:.0f} s"


@dataclass(frozen=True, kw_only=True)
class End:
    """The end of a guest.

    Attributes:
        exit: the exit code of its command.
        stderr_lines: the lines that the command wrote to its standard error.
        console: everything that was on its console.
        pace: of its clock; None where it did not report that.
    """

    exit: int
    stderr_lines: list[str]
    console: list[str]
    pace: Pace | None


class Silent(Exception):
    """A guest was silent for so long that it must be taken for dead. `was_up`: it had started its programs."""

    def __init__(self, was_up: bool, console: list[str]) -> None:
        super().__init__("silent")
        self.was_up = was_up
        self.console = console


def find_qemu() -> Path:
    """The program QEMU. Raises `CapabilityError` where there is none."""
    return find_program(_QEMU, _PACKAGE)


def qemu_version(program: Path) -> str:
    """QEMU's version, such as `qemu 7.2.22`. Raises `CapabilityError` where it does not run."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise CapabilityError(f"running {program} --version: {error}") from error
    match = re.search(r"version (\S+)", done.stdout)
    unfiltered = "" if sandbox(program) else ", without filters of system calls"
    return f"qemu {match[1] if match else 'unknown'}{unfiltered}"


def command_line(qemu: Path, start: Start, console: int) -> list[str]:
    """QEMU's command line. Files are given by their descriptors, which it inherits."""
    size = f"{start.memory_bytes // 2**20}M"
    argv = [str(qemu), *sandbox(qemu), "-M", "microvm,pcie=on,rtc=on,memory-backend=ram"]
    accelerator, cpu = ("kvm", KVM_CPU) if start.accelerator == "kvm" else ("tcg,tb-size=512", CPU)
    argv += ["-accel", accelerator, "-cpu", cpu, "-smp", "1", "-m", size]
    argv += ["-object", f"memory-backend-file,id=ram,size={size},mem-path=/proc/self/fd/{start.memory},share=on"]
    if start.is_virtual:
        argv += ["-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01,clock=vm", "-seed", str(start.seed)]
    argv += ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none"]
    argv += ["-serial", f"file:/proc/self/fd/{console}"]
    argv += ["-kernel", f"/proc/self/fd/{start.kernel}", "-initrd", f"/proc/self/fd/{start.initramfs}"]
    return [*argv, "-append", f"{PARAMETERS} {start.parameters}"]


def run_machine(
    qemu: Path, start: Start, silence_s: float, report: Callable[[str], None], stop: threading.Event
) -> End:
    """Starts a guest and waits for its end; whatever happens, it is gone then.

    Args:
        qemu: its program.
        start: what it starts with.
        silence_s: how long it may be silent, by this machine's clock.
        report: is called with each line that the command in the guest writes to its standard error.
        stop: ends it early when it is set.

    Raises:
        CapabilityError: it could not be started, was stopped, or ended without its command having ended.
        Silent: it hangs.
    """
    console = os.memfd_create("sixbench-console", 0)
    groups = kvm_groups() if start.accelerator == "kvm" else ()
    argv = [*confined(groups), *command_line(qemu, start, console)]
    started_s = time.monotonic()
    inherited = (start.kernel, start.initramfs, start.memory, console)
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=inherited
        )
    except OSError as error:
        os.close(console)
        raise CapabilityError(f"starting {qemu}: {error.strerror or error}") from error
    try:
        boot_s = KVM_ANSWER_S if start.accelerator == "kvm" else BOOT_S
        lines, names = _watch(process, console, (boot_s, silence_s), report, stop)
        complaint = process.stderr.read(2000).decode(errors="replace") if process.stderr else ""
        return _end(lines, names, complaint, time.monotonic() - started_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()
        os.close(console)


def last_lines(console: list[str]) -> str:
    """The last lines of a console, for a message."""
    shown = [" ".join(line.split()) for line in console if line.strip()][-SHOWN_LINES:]
    return "its console's last lines: " + " | ".join(shown) if shown else "it wrote nothing to its console"


class _Console:
    """The lines of a console, as they arrive."""

    def __init__(self, descriptor: int) -> None:
        self.lines: list[str] = []
        self._descriptor = descriptor
        self._position = 0
        self._rest = b""

    def read(self) -> list[str]:
        """The whole lines that are new."""
        fresh: list[str] = []
        while chunk := os.pread(self._descriptor, 65536, self._position):
            self._position += len(chunk)
            if self._position > MOST_CONSOLE_BYTES:
                raise CapabilityError(f"the guest wrote more than {MOST_CONSOLE_BYTES} bytes to its console")
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            fresh += [line.decode(errors="replace").rstrip("\r") for line in whole]
        self.lines += fresh
        return fresh


def _watch(
    process: subprocess.Popen[bytes],
    descriptor: int,
    patience_s: tuple[float, float],
    report: Callable[[str], None],
    stop: threading.Event,
) -> tuple[list[str], list[str]]:
    """All lines, and those of the command. `patience_s`: with silence, before the guest is up and from then on."""
    console = _Console(descriptor)
    names: list[str] = []
    is_up = False
    heard_s = time.monotonic()
    while True:
        has_ended = process.poll() is not None
        for line in console.read():
            heard_s = time.monotonic()
            if is_up and not line.startswith((CLOCK, EXIT)) and not _KERNEL_LINE.match(line):
                names.append(line)
                report(line)
            is_up = is_up or line.startswith(UP)
        if has_ended:
            return console.lines, names
        if time.monotonic() - heard_s > patience_s[is_up]:
            raise Silent(is_up, console.lines)
        if stop.wait(_POLL_S):
            raise CapabilityError("the guest was stopped")


def _end(lines: list[str], names: list[str], complaint: str, took_s: float) -> End:
    code = next((line.removeprefix(EXIT).strip() for line in reversed(lines) if line.startswith(EXIT)), None)
    if code is not None and code.isdigit():
        return End(exit=int(code), stderr_lines=names, console=lines, pace=_pace(lines, took_s))
    if code is not None:
        raise CapabilityError(
            "the guest could not write its results: they are larger than it has room for; run fewer trials"
        )
    if not lines and complaint:
        raise CapabilityError(f"QEMU could not start the guest: {' '.join(complaint.split())[-400:]}")
    panic = next((number for number, line in enumerate(lines) if "Kernel panic" in line), None)
    if panic is not None:
        # The lines after the panic are registers.
        raise CapabilityError(f"the guest panicked; {last_lines(lines[: panic + 1])}")
    raise CapabilityError(f"the guest ended before its command did; {last_lines(lines)}")


def _pace(lines: list[str], took_s: float) -> Pace | None:
    names = next((line.removeprefix(CLOCK).split() for line in reversed(lines) if line.startswith(CLOCK)), [])
    try:
        clock_s, idle_s = map(float, names)
    except ValueError:
        return None
    return Pace(clock_s=clock_s, busy_s=clock_s - idle_s, took_s=took_s)
