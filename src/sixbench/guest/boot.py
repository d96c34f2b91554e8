"""Running a command of sixbench in a guest, from its files to its results."""

from __future__ import annotations

import json
import os
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Literal

import sixbench

from ..model.errors import CapabilityError
from ..model.quoting import shown
from .image import find_image
from .initramfs import STDOUT, make_initramfs, second_script
from .jool import PROGRAMS
from .kernels import GuestKernel
from .kvm import KVM_ANSWER_S, why_no_kvm
from .machine import (
    INSTRUCTION_NS,
    Accelerator,
    End,
    Pace,
    Silent,
    Start,
    find_qemu,
    last_lines,
    qemu_version,
    run_machine,
)
from .memory import Disk, anonymous, anonymous_copy, lay_out, make_memory, open_results, parameters, total_bytes

Clock = Literal["real", "virtual"]

KILLED = 137
"""The exit code of a command that was still running when its time was over."""


_EMULATED = "the guest is emulated, on the real clock"


@dataclass(frozen=True, kw_only=True)
class GuestTask:
    """The task of a guest.

    Attributes:
        arguments: of sixbench. `JOB` is the directory of its files.
        files: those, by name.
        agent: the agent's program.
        clock: the guest's.
        seed: of the guest's random numbers, where the clock is virtual.
        limit_s: how long the command may take on the guest's clock.
        silence_s: how long it may be silent on ours.
    """

    arguments: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    agent: Path
    clock: Clock = "virtual"
    seed: int = 1
    limit_s: int
    silence_s: float = 600.0


@dataclass(frozen=True, kw_only=True)
class GuestResult:
    """The result of a guest: the exit code, standard output, the lines of standard error, the files of `JOB` by name,
    and how the guest's clock went, where it reported that."""

    exit: int
    stdout: str
    stderr_lines: list[str]
    files: dict[str, bytes]
    pace: Pace | None = None


def boot(
    kernel: GuestKernel, command: GuestTask, report: Callable[[str], None], stop: threading.Event | None = None
) -> GuestResult:
    """Runs a command of sixbench in a guest with this kernel.

    Args:
        kernel: the kernel that it boots.
        command: its task.
        report: is called with each line of the command's standard error, as it arrives.
        stop: ends the guest early when it is set.

    Raises:
        CapabilityError: QEMU or a program is missing, the image cannot be made, or the guest panics or hangs.
    """
    qemu = find_qemu()
    version = qemu_version(qemu)
    disks = lay_out(find_image(command.agent), kernel.modules_image)
    for accelerator in _accelerators(command.clock, qemu, kernel.vmlinuz, report):
        with _prepared(kernel, command, version, accelerator, disks) as start:
            try:
                end = run_machine(qemu, start, command.silence_s, report, stop or threading.Event())
                with open_results(start.memory, disks) as disk:
                    return _result(kernel, command, end, disk)
            except Silent as error:
                if accelerator == "tcg" or error.was_up:
                    doing = f"said nothing for {command.silence_s:.0f} s" if error.was_up else "did not come up"
                    raise CapabilityError(
                        f"the guest with {kernel.name} {doing}; {last_lines(error.console)}"
                    ) from None
                report(f"it does not come up by KVM within {KVM_ANSWER_S:.0f} s: {_EMULATED}")
    raise AssertionError("the last accelerator returns or raises")


@contextmanager
def _prepared(
    kernel: GuestKernel, command: GuestTask, version: str, accelerator: Accelerator, disks: list[Disk]
) -> Iterator[Start]:
    """The files that QEMU starts with, open until the end. Raises `CapabilityError` where they cannot be made."""
    with ExitStack() as held:

        def kept(descriptor: int) -> int:
            held.callback(os.close, descriptor)
            return descriptor

        yield Start(
            parameters=parameters(disks),
            memory=kept(make_memory(disks)),
            kernel=kept(anonymous_copy(kernel.vmlinuz)),
            initramfs=kept(anonymous("sixbench-initramfs", _initramfs(kernel, command, version, accelerator))),
            memory_bytes=total_bytes(disks),
            accelerator=accelerator,
            is_virtual=command.clock == "virtual",
            seed=command.seed,
        )


def _accelerators(clock: Clock, qemu: Path, vmlinuz: Path, report: Callable[[str], None]) -> tuple[Accelerator, ...]:
    """The accelerators in the order in which they are tried."""
    if clock == "virtual":
        return ("tcg",)
    refusal = why_no_kvm(qemu, vmlinuz)
    if refusal is None:
        return ("kvm", "tcg")
    report(f"{refusal}: {_EMULATED}")
    return ("tcg",)


def _initramfs(kernel: GuestKernel, command: GuestTask, version: str, accelerator: Accelerator) -> bytes:
    is_virtual = command.clock == "virtual"
    guest = {
        "kernel": kernel.name,
        "emulator": version,
        "accelerator": accelerator,
        "instruction_ns": INSTRUCTION_NS if is_virtual else None,
        "seed": command.seed if is_virtual else None,
    }
    executable = Path(sys.executable)
    variables = {
        "PATH": f"{executable.parent}:/usr/sbin:/usr/bin:{PROGRAMS}",
        "HOME": "/run",
        "TMPDIR": "/run/tmp",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(Path(sixbench.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "SIXBENCH_AGENT": str(command.agent.resolve()),
        "SIXBENCH_GUEST": json.dumps(guest),
    }
    argv = [str(executable), "-P", "-m", "sixbench", *command.arguments]
    return make_initramfs(kernel.boot_modules, second_script(argv, variables, command.limit_s), command.files)


def _result(kernel: GuestKernel, command: GuestTask, end: End, disk: IO[bytes]) -> GuestResult:
    if end.exit == KILLED:
        raise CapabilityError(
            f"the guest with {kernel.name} was still busy after {command.limit_s} s of its clock; "
            f"{last_lines(end.console)}"
        )
    try:
        files = _files_of(disk)
    except (tarfile.TarError, OSError, ValueError, OverflowError) as error:
        raise CapabilityError(f"reading the results of the guest with {kernel.name}: {error}") from error
    if STDOUT not in files:
        raise CapabilityError(f"the guest with {kernel.name} left no results; {last_lines(end.console)}")
    stdout = files.pop(STDOUT).decode(errors="replace")
    return GuestResult(exit=end.exit, stdout=stdout, stderr_lines=end.stderr_lines, files=files, pace=end.pace)


def _files_of(archive: IO[bytes]) -> dict[str, bytes]:
    """The regular files of a tar archive, by name. Those whose names lead out of a directory are left out.

    A guest may have written anything, so holes are refused: they would be bytes in this machine's memory. Raises
    `tarfile.TarError`, `OSError`, `ValueError` and `OverflowError`.
    """
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=archive, mode="r|") as members:
        for member in members:
            if member.issparse():
                raise tarfile.ReadError(f"the file {shown(member.name)} has holes")
            content = members.extractfile(member) if member.isfile() else None
            name = PurePosixPath(member.name)
            if content is not None and name.parts and not name.is_absolute() and ".." not in name.parts:
                files[str(name)] = content.read()
    return files
