"""The rights that QEMU keeps, and what is opened for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sixbench.guest import confinement, start_opened
from sixbench.guest.confinement import FIRST_UID, confined, group_that_opens, sandbox
from sixbench.model.errors import CapabilityError


def status(*words: str) -> dict[str, str]:
    """The status of a process that is started so."""
    done = subprocess.run([*words, "cat", "/proc/self/status"], capture_output=True, text=True, check=True)
    return {name: value.strip() for name, value in (line.split(":", 1) for line in done.stdout.splitlines())}


def test_it_has_no_capability_and_gets_none() -> None:
    actual_status = status(*confined())
    assert actual_status["NoNewPrivs"] == "1"
    assert {int(actual_status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}


@pytest.mark.skipif(os.geteuid() != 0, reason="it has the rights of its caller where that is not root")
def test_it_is_a_user_whom_nobody_else_is() -> None:
    first, second = status(*confined([7])), status(*confined())
    users = [{int(user) for user in item["Uid"].split()} for item in (first, second)]
    assert all(len(each) == 1 and min(each) >= FIRST_UID for each in users)
    assert users[0] != users[1]
    assert (first["Groups"], second["Groups"], second["CapBnd"]) == ("7", "", "0" * 16)


def test_where_there_is_nobody_else_it_keeps_its_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "uid_map").write_text("         0       1000          1\n")
    monkeypatch.setattr(confinement, "_USER_NAMESPACE", tmp_path / "uid_map")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    words = confined()
    assert not any(word.startswith(("--reuid", "--groups")) for word in words)
    assert "--bounding-set=-all" in words


def test_a_qemu_without_filters_is_started_without(tmp_path: Path) -> None:
    for name, code in (("with", 0), ("without", 1)):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\nexit {code}\n")
        program.chmod(0o755)
    assert "spawn=deny" in sandbox(tmp_path / "with")[1]
    assert sandbox(tmp_path / "without") == ()


def test_a_qemu_that_does_not_answer_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "ANSWER_S", 0.2)
    (tmp_path / "silent").write_text("#!/bin/sh\nexec sleep 1000\n")
    (tmp_path / "silent").chmod(0o755)
    for name in ("silent", "nowhere"):
        with pytest.raises(CapabilityError, match=f"asking {tmp_path}/{name} whether it filters its system calls: "):
            sandbox(tmp_path / name)


def test_the_group_of_a_device_is_no_use_where_it_is_roots_or_may_not_write(tmp_path: Path) -> None:
    device = tmp_path / "kvm"
    device.touch(0o600)
    assert group_that_opens(device) is None


def test_files_are_opened_for_the_program_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "kernel").write_text("a kernel")
    (tmp_path / "disk").write_text("a disk")
    to_open = [["copy", f"{tmp_path}/kernel"], ["read", f"{tmp_path}/disk"], ["append", f"{tmp_path}/log"]]
    copied, read, log = range(start_opened.FIRST, start_opened.FIRST + 3)
    program = f"cat <&{read}; cat /proc/self/fd/{copied}; echo ready >&{log}"
    argv = [sys.executable, "-I", "-S", start_opened.__file__, json.dumps(to_open), "/bin/bash", "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("a diska kernel", "", 0)
    assert (tmp_path / "log").read_text() == "ready\n"


def test_a_file_that_is_not_there_is_told() -> None:
    argv = [sys.executable, "-I", "-S", start_opened.__file__, '[["read", "/nowhere"]]', "/bin/true"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "opening /nowhere: No such file or directory\n")
