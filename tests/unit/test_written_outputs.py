"""Outputs that users name: a file is replaced whole, a FIFO or a character device is written to, nothing else is."""

from __future__ import annotations

import os
import pty
import socket
import stat
import subprocess
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import synthetic
from ip_packets import ipv6, pcap

from sixbench.lab.own_program import own_command
from sixbench.model.errors import WriteError
from sixbench.model.finding import Analysis
from sixbench.report import write_figures
from sixbench.store import create_file, read_run, replacing, write_file

Command = Callable[..., Any]

BEFORE = "what was there before\n"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.small().write(tmp_path_factory.mktemp("reported") / "run").directory


@pytest.fixture(params=["translate", "report"])
def writing(request: pytest.FixtureRequest, tmp_path: Path, directory: Path) -> list[str | Path]:
    """A command whose last word is to be its output."""
    if request.param == "report":
        return ["report", directory, "--format", "md", "--out"]
    (tmp_path / "in.pcap").write_bytes(pcap([ipv6(bytes(32))]))
    ends = ("--local", "192.0.2.1", "--remote", "192.0.2.2")
    return ["translate", "6in4", *ends, "--in", tmp_path / "in.pcap", "--out"]


@contextmanager
def read_meanwhile(descriptor: int) -> Iterator[list[bytes]]:
    """The bytes that come out of a descriptor until its other end is closed."""
    parts: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # a terminal whose other end is closed
            while part := os.read(descriptor, 2**16):
                parts.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    yield parts
    reader.join(timeout=60)
    assert not reader.is_alive()


def content_of(sixbench: Command, writing: list[str | Path], place: Path) -> bytes:
    assert sixbench(*writing, place).exit == 0
    return place.read_bytes()


def test_a_file_is_replaced_whole(sixbench: Command, writing: list[str | Path], tmp_path: Path) -> None:
    content = content_of(sixbench, writing, tmp_path / "new")
    out = tmp_path / "old"
    out.write_text(BEFORE)
    with out.open() as held:
        assert sixbench(*writing, out).exit == 0
        assert held.read() == BEFORE  # whoever had it open has what it was
    assert out.read_bytes() == content


def test_a_fifo_is_written_to(sixbench: Command, writing: list[str | Path], tmp_path: Path) -> None:
    content = content_of(sixbench, writing, tmp_path / "new")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reading, True)
    keeping_open = os.open(fifo, os.O_WRONLY)
    with read_meanwhile(reading) as parts:
        done = sixbench(*writing, fifo)
        os.close(keeping_open)
    assert done.exit == 0, done.stderr
    assert b"".join(parts) == content
    assert stat.S_ISFIFO(fifo.lstat().st_mode)


def test_a_character_device_is_written_to(sixbench: Command, writing: list[str | Path], tmp_path: Path) -> None:
    content = content_of(sixbench, writing, tmp_path / "new")
    controller, terminal = pty.openpty()
    tty.setraw(terminal)
    device = Path(os.ttyname(terminal))
    before = device.lstat()
    with read_meanwhile(controller) as parts:
        done = sixbench(*writing, device)
        os.close(terminal)
    os.close(controller)
    assert done.exit == 0, done.stderr
    assert b"".join(parts) == content
    assert stat.S_ISCHR(before.st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_a_device_node_that_stays_one_takes_what_is_written(
    sixbench: Command, writing: list[str | Path], tmp_path: Path
) -> None:
    null = tmp_path / "null"
    os.mknod(null, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    before = null.lstat()
    done = sixbench(*writing, null)
    after = null.lstat()
    assert (after.st_mode, after.st_rdev, after.st_ino) == (before.st_mode, before.st_rdev, before.st_ino)
    assert done.exit in (0, 3), done.stderr  # a file system without devices refuses to open it
    assert "null.partial" not in os.listdir(tmp_path)


def test_a_descriptor_of_a_shell_is_written_to(writing: list[str | Path], tmp_path: Path, sixbench: Command) -> None:
    content = content_of(sixbench, writing, tmp_path / "new")
    reading, writing_end = os.pipe()
    try:
        words = own_command(*map(str, writing), f"/dev/fd/{writing_end}")
        done = subprocess.run(words, pass_fds=[writing_end], capture_output=True, check=False)
    finally:
        os.close(writing_end)
    assert done.returncode == 0, done.stderr
    with open(reading, "rb") as stream:
        assert stream.read() == content


@pytest.mark.parametrize("kind", ["link to a file", "dangling link", "link to itself", "directory", "socket"])
def test_anything_else_is_refused(sixbench: Command, writing: list[str | Path], tmp_path: Path, kind: str) -> None:
    target, out = tmp_path / "target", tmp_path / "out"
    target.write_text(BEFORE)
    listening = socket.socket(socket.AF_UNIX)
    if kind == "directory":
        out.mkdir()
    elif kind == "socket":
        listening.bind(str(out))
    else:
        out.symlink_to({"link to a file": target, "dangling link": tmp_path / "nowhere"}.get(kind, out))
    before = sorted((name, os.lstat(tmp_path / name)) for name in os.listdir(tmp_path))
    done = sixbench(*writing, out)
    listening.close()
    assert (done.exit, done.stdout) == (3, "")
    words = "a symbolic link" if "link" in kind else f"a {kind}"
    assert f"sixbench: writing {out}: it is {words}; name a file, a FIFO or a character device" in done.stderr
    assert sorted((name, os.lstat(tmp_path / name)) for name in os.listdir(tmp_path)) == before


def test_nothing_half_made_is_left(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text(BEFORE)

    def write_half() -> None:
        with replacing(out) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    with pytest.raises(WriteError, match="No such file or directory"):
        write_file(tmp_path / "no" / "such", "x")
    assert os.listdir(tmp_path) == ["out"]
    assert out.read_text() == BEFORE


@pytest.mark.parametrize("command", [["new", "--template", "tunnel"], ["key"]], ids=["new", "key"])
@pytest.mark.parametrize("kind", ["file", "dangling link", "FIFO", "directory"])
def test_what_is_made_once_replaces_nothing(sixbench: Command, command: list[str], tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out.yaml"
    if kind == "dangling link":
        out.symlink_to(tmp_path / "elsewhere")
    elif kind == "FIFO":
        os.mkfifo(out)
    else:
        out.mkdir() if kind == "directory" else out.write_text(BEFORE)
    done = sixbench(*command, out)
    assert done.exit == 2
    assert f"{out} exists, and " in done.stderr
    assert os.listdir(tmp_path) == ["out.yaml"]
    assert kind != "file" or out.read_text() == BEFORE


def test_a_file_that_could_not_be_written_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sixbench.store.folder.os.fsync", refuse)
    for write in (create_file, write_file):
        with pytest.raises(WriteError, match="No space left on device"):
            write(tmp_path / "out", "x")
    assert os.listdir(tmp_path) == []


def test_figures_replace_what_has_their_names_and_open_none_of_it(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = SimpleNamespace(name="one", draw=lambda width_in: None)
    monkeypatch.setattr("sixbench.report.figures.catalogue.drawings", lambda run, analysis: [drawing])
    monkeypatch.setattr("sixbench.report.figures.save.render", lambda picture, kind, titled: kind.encode())
    target = tmp_path / "target"
    target.write_text(BEFORE)
    figures = tmp_path / "figures"
    figures.mkdir()
    (figures / "one.svg").symlink_to(target)
    os.mkfifo(figures / "one.pdf")
    (figures / "one.png").symlink_to(tmp_path / "nowhere")
    write_figures(read_run(directory), Analysis(estimates=[], findings=[]), figures)
    for kind in ("svg", "pdf", "png"):
        assert stat.S_ISREG((figures / f"one.{kind}").lstat().st_mode)
        assert (figures / f"one.{kind}").read_text() == kind
    assert target.read_text() == BEFORE
    assert not (tmp_path / "nowhere").exists()
