"""A guest's memory, its first programs, and how its end is told; QEMU is a script here."""

from __future__ import annotations

import importlib
import io
import os
import re
import tarfile
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from sixbench.guest import GuestKernel, GuestTask, boot, machine
from sixbench.guest.boot import _result
from sixbench.guest.confinement import SANDBOX
from sixbench.guest.initramfs import first_script, make_initramfs, second_script
from sixbench.guest.machine import End, Silent, Start, command_line, run_machine
from sixbench.guest.memory import (
    ALIGNMENT_BYTES,
    MAX_BYTES,
    lay_out,
    make_memory,
    open_results,
    parameters,
    total_bytes,
)
from sixbench.model.errors import CapabilityError

MIB = 2**20
WITH_THIS_PROCESS = ("setpriv", "--pdeathsig", "KILL")


@pytest.fixture(autouse=True)
def as_this_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts that play QEMU are in folders of this user."""
    monkeypatch.setattr(machine, "confined", lambda groups: [*WITH_THIS_PROCESS])
    monkeypatch.setattr(machine, "sandbox", lambda qemu: SANDBOX)


@pytest.fixture
def start() -> Start:
    return Start(
        kernel=os.memfd_create("vmlinuz"),
        parameters="memmap=1!2",
        initramfs=os.memfd_create("initramfs"),
        memory=os.memfd_create("memory"),
        memory_bytes=2048 * MIB,
        accelerator="tcg",
        is_virtual=True,
        seed=7,
    )


def script(tmp_path: Path, lines: str) -> Path:
    """A program that writes to the console it is given, as QEMU would."""
    program = tmp_path / "qemu"
    console = 'for word; do case $word in file:*) exec >"${word#file:}";; esac; done'
    program.write_text(f"#!/bin/sh\n{console}\n{lines}\n")
    program.chmod(0o755)
    return program


def test_disks_stand_one_after_another_in_memory(tmp_path: Path) -> None:
    root, modules = tmp_path / "root.img", tmp_path / "modules.img"
    root.write_bytes(b"root" * 1000)
    modules.write_bytes(b"modules")
    disks = lay_out(root, modules)
    assert all(disk.start % ALIGNMENT_BYTES == 0 for disk in disks)
    assert [disk.start for disk in disks[1:]] == [disk.start + disk.size_bytes for disk in disks[:-1]]
    assert parameters(disks).count("memmap=") == 3
    memory = make_memory(disks)
    assert os.fstat(memory).st_size == total_bytes(disks) <= MAX_BYTES
    behind = total_bytes(disks) - disks[2].start - disks[2].size_bytes
    assert behind >= MIB, "QEMU takes the last page for itself"
    assert os.pread(memory, 8, disks[0].start) == b"rootroot"
    assert os.pread(memory, 7, disks[1].start) == b"modules"
    os.pwrite(memory, b"results", disks[2].start)
    with open_results(memory, disks) as results:
        assert results.read(7) == b"results"
    os.close(memory)


def test_a_guest_whose_kernel_cannot_be_read_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, modules = tmp_path / "root.img", tmp_path / "modules.img"
    root.write_bytes(b"root")
    modules.write_bytes(b"modules")
    module = importlib.import_module("sixbench.guest.boot")
    monkeypatch.setattr(module, "find_qemu", lambda: Path("/bin/true"))
    monkeypatch.setattr(module, "qemu_version", lambda _: "QEMU 9")
    monkeypatch.setattr(module, "find_image", lambda _: root)
    kernel = SimpleNamespace(name="none", modules_image=modules, vmlinuz=tmp_path / "vmlinuz")
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(CapabilityError, match=r"reading .*/vmlinuz: No such file"):
        boot(kernel, GuestTask(arguments=(), agent=root, limit_s=1), print)  # type: ignore[arg-type]
    assert set(os.listdir("/proc/self/fd")) <= before


def test_an_image_that_the_memory_cannot_hold_is_refused(tmp_path: Path) -> None:
    root, modules = tmp_path / "root.img", tmp_path / "modules.img"
    modules.touch()
    with open(root, "wb") as file:
        file.truncate(2000 * MIB)
    with pytest.raises(CapabilityError, match=r"3072 MiB is too small for its file systems of 2000 MiB and 0 MiB"):
        lay_out(root, modules)


def with_a_hole(size_bytes: int) -> bytes:
    """A tar archive of one file that is nothing but a hole (GNU tar, "Old GNU Format" of sparse files)."""
    member = tarfile.TarInfo("trials.bin")
    member.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"\x80" + size_bytes.to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


def test_results_that_would_fill_the_memory_are_refused() -> None:
    kernel = GuestKernel(name="debian-6.1", release="6", origin="", sha256="")
    command = GuestTask(arguments=("doctor",), agent=Path("agent"), limit_s=1)
    end = End(exit=0, stderr_lines=[], console=[], pace=None)
    with pytest.raises(CapabilityError, match=r'the results of the guest with debian-6\.1: the file "trials.bin" has'):
        _result(kernel, command, end, io.BytesIO(with_a_hole(2**50)))


def entries(archive: bytes) -> dict[str, bytes]:
    """The files of a `newc` archive, read by its definition."""
    entries, at = {}, 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        size, name_size = fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        at = -(-(at + 110 + name_size) // 4) * 4
        if name == "TRAILER!!!":
            return entries
        entries[name] = archive[at : at + size]
        at = -(-(at + size) // 4) * 4


def test_the_first_archive_carries_the_command_its_files_and_what_runs_them(tmp_path: Path) -> None:
    module = tmp_path / "nd_pmem.ko"
    module.write_bytes(b"module")
    second = second_script(["python", "-m", "sixbench", "run", "a b"], {"HOME": "/run"}, 90)
    actual_entries = entries(make_initramfs([module], second, {"manifest.json": b"{}"}))
    assert actual_entries["job/manifest.json"] == b"{}"
    assert actual_entries["modules/nd_pmem.ko"] == b"module"
    assert actual_entries["init"].decode() == first_script(["nd_pmem"])
    assert "insmod /modules/nd_pmem.ko" in first_script(["nd_pmem"])
    assert actual_entries["bin/sh"].startswith(b"\x7fELF")
    assert any(name.startswith("lib") and "libc.so" in name for name in actual_entries)
    assert "timeout -s KILL 90 python -m sixbench run 'a b' " in actual_entries["second"].decode()
    assert "export HOME=/run\n" in actual_entries["second"].decode()


def test_the_virtual_clock_counts_instructions_and_takes_nothing_from_outside(start: Start) -> None:
    line = " ".join(command_line(Path("/usr/bin/qemu"), start, 9))
    assert "-accel tcg,tb-size=512" in line
    assert "-icount shift=0,sleep=off -rtc base=2026-01-01,clock=vm -seed 7" in line
    assert "-smp 1" in line
    assert not re.search(r"-(drive|device|netdev|nic)\b", line)
    assert line.endswith("memmap=1!2")


def test_the_commands_end_and_what_it_said_are_read_from_the_console(tmp_path: Path, start: Start) -> None:
    lines = "\n".join(
        f"echo '{line}'"
        for line in (
            "early",
            "sixbench-guest: up",
            "[    1.5] kernel words",
            "1 of 4 trials",
            "sixbench-guest: clock 14.25 4.00",
            "sixbench-guest: exit 4",
        )
    )
    collected: list[str] = []
    end = run_machine(script(tmp_path, lines), start, 60, collected.append, threading.Event())
    assert end.exit == 4
    assert collected == end.stderr_lines == ["1 of 4 trials"]
    assert end.pace is not None
    assert str(end.pace).startswith("14.2 s of its clock, 10.2 s of them busy, took ")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "echo 'sixbench-guest: up'; echo '[ 2.0] Kernel panic - not syncing: dead'",
            "the guest panicked; .*not syncing",
        ),
        ("echo 'mount: no such disk'", "the guest ended before its command did; .*last lines: mount: no such disk"),
        ("echo 'sixbench-guest: exit results'", "the guest could not write its results"),
        ("echo 'no such machine' >&2; exit 1", "QEMU could not start the guest: no such machine"),
    ],
)
def test_an_end_without_a_result_says_what_happened(tmp_path: Path, start: Start, lines: str, message: str) -> None:
    with pytest.raises(CapabilityError, match=message):
        run_machine(script(tmp_path, lines), start, 60, lambda line: None, threading.Event())


def test_a_guest_that_hangs_is_killed(tmp_path: Path, start: Start) -> None:
    hangs = script(tmp_path, f"echo $$ >{tmp_path}/pid; echo 'sixbench-guest: up'; exec sleep 1000")
    with pytest.raises(Silent) as silent:
        run_machine(hangs, start, 0.5, lambda line: None, threading.Event())
    assert silent.value.was_up
    assert silent.value.console == ["sixbench-guest: up"]
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_guest_can_be_stopped(tmp_path: Path, start: Start) -> None:
    stop = threading.Event()
    with pytest.raises(CapabilityError, match="the guest was stopped"):
        run_machine(
            script(tmp_path, "echo 'sixbench-guest: up'; echo words; exec sleep 1000"),
            start,
            600,
            lambda line: stop.set(),
            stop,
        )


def test_a_console_that_is_written_to_for_ever_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "MOST_CONSOLE_BYTES", 2**17)
    console = os.memfd_create("console")
    os.write(console, b"x" * 2**20)
    reader = machine._Console(console)
    with pytest.raises(CapabilityError, match="the guest wrote more than 131072 bytes to its console"):
        reader.read()
    os.close(console)
    assert len(reader._rest) <= 2**17
