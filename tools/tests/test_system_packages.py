"""`tools/system-packages`, with programs that are missing and an apt-get that is made up."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "system-packages"
AS_ROOT = ("unshare", "--user", "--map-root-user") if os.geteuid() != 0 else ()

APT_GET = """#!/bin/sh
echo "$*" >> "{calls}"
case "$*" in *{refused}*) ;; *) exit 0 ;; esac
[ $(grep -c -e "{refused}" "{calls}") -gt 2 ] && exit 0
echo "{message}" >&2
exit 100
"""

Machine = Callable[..., Path]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A folder of programs to be the PATH: those of this machine without some of them, and an apt-get of the test."""

    def make(*without: str, refused: str = "nothing", message: str = "") -> Path:
        programs = tmp_path / "bin"
        programs.mkdir()
        for program in Path("/usr/bin").iterdir():
            if program.name not in (*without, "apt-get", "cargo"):
                (programs / program.name).symlink_to(program)
        apt_get = APT_GET.format(calls=tmp_path / "calls", refused=refused, message=message)
        for name, script in (("apt-get", apt_get), ("cargo", "#!/bin/sh\necho cargo 1.99.0\n")):
            (programs / name).write_text(script)
            (programs / name).chmod(0o755)
        return programs

    return make


@pytest.fixture(autouse=True)
def may_be_root() -> None:
    if AS_ROOT and subprocess.run([*AS_ROOT, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("packages are installed by root, and this kernel lets this user make no namespace to be root in")


def system_packages(programs: Path, *groups: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*AS_ROOT, TOOL, *groups], env={"PATH": str(programs)}, capture_output=True, text=True, timeout=60, check=False
    )


def asked_to_install(calls: Path) -> set[str]:
    [line] = {line for line in calls.read_text().splitlines() if "install" in line}
    return set(line.partition("--no-install-recommends ")[2].split())


@pytest.mark.parametrize(
    ("program", "package", "group"),
    [
        ("ping", "iputils-ping", "test"),
        ("chromium", "chromium", "test"),
        ("pdflatex", "texlive-latex-base", "test"),
        ("qemu-system-x86_64", "qemu-system-x86", "guest"),
        ("mmdebstrap", "mmdebstrap", "fresh"),
    ],
)
def test_what_a_group_needs_is_installed(
    machine: Machine, tmp_path: Path, program: str, package: str, group: str
) -> None:
    done = system_packages(machine(program), group)
    assert done.returncode == 0, done.stderr
    assert package in asked_to_install(tmp_path / "calls")
    assert package in done.stderr


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        ("update", "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)"),
        ("install", "E: Could not get lock /var/cache/apt/archives/lock. It is held by process 1 (apt-get)"),
        ("install", "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process?"),
    ],
)
def test_another_apt_get_is_waited_for(machine: Machine, tmp_path: Path, refused: str, message: str) -> None:
    done = system_packages(machine("ping", refused=refused, message=message), "test")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("another apt-get is at work here; waiting for it") == 1
    calls = (tmp_path / "calls").read_text()
    assert re.search("DPkg::Lock::Timeout=[1-9]", calls), "dpkg's lock is waited for by apt-get itself"


def test_what_apt_get_refuses_otherwise_is_told_at_once(machine: Machine) -> None:
    done = system_packages(machine("ping", refused="install", message="E: Unable to locate package"), "test")
    assert done.returncode == 3
    assert "E: Unable to locate package" in done.stderr
    assert "apt-get install --no-install-recommends" in done.stderr
    assert "waiting" not in done.stderr


def test_the_tests_of_rust_begin_when_the_programs_of_the_tests_are_there() -> None:
    done = subprocess.run(["make", "--dry-run", "test"], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    rust = next(line for line in lines if line.startswith("cargo test --workspace"))
    assert lines.index("tools/system-packages test") < lines.index(rust)
