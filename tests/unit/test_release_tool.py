"""`tools/release`: what is in the way of a release, and what it packs, in a repository made for the test."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.computes

TOOL = Path(__file__).parents[2] / "tools" / "release"
CHANGELOG = """\
# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-01

### Added

- A thing.

### Fixed

- Another thing.

## [0.1.0] - 2026-11-01

### Added

- The first thing.
"""
NO_SIGNATURES = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(top: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run(
        ["git", *identity, *arguments], cwd=top, check=True, capture_output=True, env=os.environ | NO_SIGNATURES
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of version 0.2.0 that can be released."""
    top = tmp_path / "repository"
    top.mkdir()
    (top / "pyproject.toml").write_text('[project]\nname = "sixbench"\nversion = "0.2.0"\n')
    (top / "Cargo.toml").write_text('[workspace.package]\nversion = "0.2.0"\n')
    (top / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.2.0\n")
    (top / "CHANGELOG.md").write_text(CHANGELOG)
    git(top, "init", "--quiet")
    commit(top)
    return top


def commit(top: Path) -> None:
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "a state")


def release(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, *arguments], cwd=top, capture_output=True, text=True, check=False)


def replace(top: Path, name: str, old: str, new: str) -> None:
    text = (top / name).read_text()
    assert old in text
    (top / name).write_text(text.replace(old, new, 1))


def test_a_commit_without_obstacles_can_be_released(repository: Path) -> None:
    done = release(repository, "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        (
            "Cargo.toml",
            "0.2.0",
            "0.1.0",
            "the versions differ: pyproject.toml has 0.2.0, Cargo.toml has 0.1.0, CITATION.cff has 0.2.0",
        ),
        (
            "CITATION.cff",
            "version: 0.2.0",
            "title: x",
            "the versions differ: pyproject.toml has 0.2.0, Cargo.toml has 0.2.0, CITATION.cff has none",
        ),
        (
            "CHANGELOG.md",
            "## [0.2.0] - 2026-12-01",
            "## [0.2.0]",
            "the section [0.2.0] of CHANGELOG.md has no date: write `## [0.2.0] - YYYY-MM-DD`",
        ),
        (
            "CHANGELOG.md",
            "2026-12-01",
            "2026-02-30",
            "the section [0.2.0] - 2026-02-30 of CHANGELOG.md has no date: write `## [0.2.0] - YYYY-MM-DD`",
        ),
        (
            "CHANGELOG.md",
            "## [0.2.0] - 2026-12-01\n",
            "",
            "CHANGELOG.md has changes under [Unreleased]: move them to a section `## [0.2.0] - YYYY-MM-DD`\n"
            "release: CHANGELOG.md has no section `## [0.2.0] - YYYY-MM-DD`",
        ),
        (
            "CHANGELOG.md",
            "### Added\n\n- A thing.\n\n### Fixed\n\n- Another thing.\n",
            "",
            "the section [0.2.0] - 2026-12-01 of CHANGELOG.md is empty",
        ),
    ],
)
def test_what_is_in_the_way_is_named(repository: Path, name: str, old: str, new: str, sentence: str) -> None:
    replace(repository, name, old, new)
    commit(repository)
    done = release(repository, "check")
    assert (done.returncode, done.stderr) == (1, f"release: {sentence}\n")


def test_a_version_is_released_once_and_from_a_clean_tree(repository: Path) -> None:
    git(repository, "tag", "v0.2.0")
    (repository / "notes").write_text("")
    done = release(repository, "check")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "release: the tree has changes that are not committed, such as notes: commit or remove them",
        "release: the tag v0.2.0 exists: give pyproject.toml, Cargo.toml and CITATION.cff a new version",
    ]


def test_a_version_stays_below_1(repository: Path) -> None:
    for name in ("pyproject.toml", "Cargo.toml", "CITATION.cff", "CHANGELOG.md"):
        replace(repository, name, "0.2.0", "1.0.0")
    commit(repository)
    done = release(repository, "check")
    assert done.stderr == "release: 1.0.0 is no version of the form 0.MINOR.PATCH (CONTRIBUTING.md, Releases)\n"


def test_a_release_has_archive_checksums_and_the_text_of_its_tag(repository: Path, tmp_path: Path) -> None:
    wheels = {
        name: tmp_path / name
        for name in ("sixbench-0.2.0-py3-none-any.whl", "sixbench_agent-0.2.0-py3-none-manylinux_2_36_x86_64.whl")
    }
    for wheel in wheels.values():
        wheel.write_bytes(wheel.name.encode())
    done = release(repository, "pack", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")

    with tarfile.open(tmp_path / "sixbench-0.2.0.tar.gz") as archive:
        assert "sixbench-0.2.0/CHANGELOG.md" in archive.getnames()
    sums = (tmp_path / "SHA256SUMS").read_text()
    assert dict(reversed(line.split("  ")) for line in sums.splitlines()) == {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in (*wheels, "sixbench-0.2.0.tar.gz")
    }
    text = (tmp_path / "TAG").read_text()
    changes = "Added:\n\n- A thing.\n\nFixed:\n\n- Another thing."
    assert text == f"sixbench 0.2.0\n\n{changes}\n\nSHA-256:\n\n{sums}"
    assert done.stdout == f"{text}\nTo tag: git tag --sign --cleanup=verbatim --file {tmp_path / 'TAG'} v0.2.0\n"


def test_a_release_needs_both_wheels_of_its_version_and_no_others(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "sixbench-0.2.0-py3-none-any.whl").write_bytes(b"")
    (tmp_path / "sixbench_agent-0.1.0-py3-none-any.whl").write_bytes(b"")
    done = release(repository, "pack", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"release: {tmp_path} has no wheel of sixbench_agent 0.2.0: `make release` builds it",
        f"release: {tmp_path} has wheels of other versions (sixbench_agent-0.1.0-py3-none-any.whl): remove them",
    ]
    assert not (tmp_path / "SHA256SUMS").exists()


def test_another_command_is_answered_with_the_usage(repository: Path) -> None:
    done = release(repository, "publish")
    assert (done.returncode, done.stderr) == (2, "usage: tools/release check | tools/release pack FOLDER\n")
