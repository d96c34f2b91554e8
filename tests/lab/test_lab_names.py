"""`sixbench lab exec`: names of nodes resolve in nodes, and nowhere else."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.unprivileged import run_as_nobody

TEXT = """\
nodes: {client: host, router: router, server: host}
links:
  - {endpoints: [client, router]}
  - {endpoints: [router, server]}
"""

NAME = "names-of-nodes"


def mounts_of_hosts() -> list[str]:
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if " /etc/hosts " in line]


@pytest.fixture
def lab(sixbench: Any, tmp_path: Path) -> Iterator[None]:
    file = tmp_path / "network.yaml"
    file.write_text(TEXT)
    before = Path("/etc/hosts").read_bytes(), mounts_of_hosts()
    up = sixbench("lab", "up", file, "--lab", NAME)
    assert up.returncode == 0, up.stderr
    assert f"lab exec --lab {NAME} client ping server" in up.stdout
    yield
    assert sixbench("lab", "down", "--lab", NAME).returncode == 0
    assert (Path("/etc/hosts").read_bytes(), mounts_of_hosts()) == before
    assert not list(Path("/run/sixbench").glob(f"{NAME}*"))


def test_names_resolve_in_both_families(lab: None, sixbench: Any) -> None:
    for family, address in (("4", "198.18.1.2"), ("6", "2001:2:0:1::2")):
        done = sixbench("lab", "exec", "--lab", NAME, "client", "ping", f"-{family}", "-c", "1", "server")
        assert done.returncode == 0, done.stderr
        assert address in done.stdout
    of_an_interface = sixbench("lab", "exec", "--lab", NAME, "server", "getent", "ahosts", "router-eth1")
    assert {line.split()[0] for line in of_an_interface.stdout.splitlines()} == {"198.18.1.1", "2001:2:0:1::1"}


def test_the_exit_code_the_input_and_the_directory_are_those_of_the_command(
    lab: None, sixbench: Any, tmp_path: Path
) -> None:
    script = "pwd; cat; exit 7"
    done = sixbench("lab", "exec", "--lab", NAME, "client", "--", "sh", "-c", script, input="said\n", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (7, f"{tmp_path}\nsaid\n", "")


def test_the_machines_own_names_stay_as_they_are(lab: None) -> None:
    assert subprocess.run(["getent", "hosts", "router-eth1"], capture_output=True, check=False).returncode != 0


def test_a_user_who_is_not_root_has_names_too(nobodys_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(nobodys_directory))
    file = nobodys_directory / "network.yaml"
    file.write_text(TEXT)
    up = run_as_nobody(nobodys_directory, "lab", "up", file, "--lab", NAME)
    assert up.returncode == 0, up.stderr
    try:
        done = run_as_nobody(nobodys_directory, "lab", "exec", "--lab", NAME, "client", "getent", "ahosts", "server")
        assert (done.returncode, done.stderr) == (0, "")
        assert {line.split()[0] for line in done.stdout.splitlines()} == {"198.18.1.2", "2001:2:0:1::2"}
    finally:
        assert run_as_nobody(nobodys_directory, "lab", "down", "--lab", NAME).returncode == 0
        assert list((nobodys_directory / "sixbench").iterdir()) == []


TRANSLATED = """\
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {siit: {siit: [r1]}}
workloads: [ping]
"""


def test_across_a_translator_each_host_reaches_the_other_by_its_name(sixbench: Any, tmp_path: Path) -> None:
    file = tmp_path / "translated.yaml"
    file.write_text(TRANSLATED)
    up = sixbench("lab", "up", file, "--path", "siit", "--lab", NAME)
    assert up.returncode == 0, up.stderr
    try:
        for node, other, address in (("h1", "h2", "2001:db8:64::c612:102"), ("h2", "h1", "192.0.2.1")):
            done = sixbench("lab", "exec", "--lab", NAME, node, "ping", "-c", "1", other)
            assert done.returncode == 0, done.stderr
            assert address in done.stdout
    finally:
        assert sixbench("lab", "down", "--lab", NAME).returncode == 0
