"""Content of a guest's file system, and changes that make it anew."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import sixbench
from sixbench.guest.cache import forget_old
from sixbench.guest.contents import contents, digest
from sixbench.guest.image import _make

PACKAGE = Path(sixbench.__file__).parent


@pytest.fixture(scope="module")
def files_in_image(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    agent = tmp_path_factory.mktemp("agent") / "sixbench-agent"
    agent.write_bytes(b"agent")
    return contents(agent)


def names(files_in_image: dict[Path, Path]) -> set[str]:
    return {place.name for place in files_in_image}


def test_a_guest_has_this_sixbench_its_python_its_agent_and_the_programs_that_it_calls(
    files_in_image: dict[Path, Path],
) -> None:
    assert PACKAGE.resolve() / "__main__.py" in files_in_image
    executable = Path(sys.executable)
    assert executable.parent.resolve() / executable.name in files_in_image
    assert {"sixbench-agent", "ip", "tc", "nft", "ethtool", "modprobe", "libc.so.6", "pyvenv.cfg"} <= names(
        files_in_image
    )
    assert any(place.match("numpy/__init__.py") for place in files_in_image)


def test_what_only_reports_need_stays_outside_but_its_version_is_known(files_in_image: dict[Path, Path]) -> None:
    assert not any(place.match("matplotlib/*.py") or "_duckdb" in place.name for place in files_in_image)
    assert any(place.match("matplotlib-*/METADATA") for place in files_in_image)


def test_a_change_of_the_code_makes_another_image(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text("1")
    before = digest({file: file})
    assert digest({file: file}) == before
    file.write_text("22")
    assert digest({file: file}) != before


def test_an_image_is_a_file_system_of_the_files_at_their_places(tmp_path: Path) -> None:
    program, link = tmp_path / "program", tmp_path / "link"
    program.write_bytes(b"\x7fELF")
    link.symlink_to("program")
    folder = tmp_path / "made"
    folder.mkdir()
    _make({Path("/usr/bin/program"): program, Path("/usr/bin/link"): link}, folder)
    assert [path.name for path in folder.iterdir()] == ["root.img"]
    image = (folder / "root.img").read_bytes()
    assert image[1080:1082] == b"\x53\xef"  # ext4's magic number
    assert image.count(b"\x7fELF") == 1


def test_old_images_are_forgotten(tmp_path: Path) -> None:
    for age, name in enumerate(("newest", "before", "old", "older")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    (tmp_path / "young").mkdir()
    forget_old(tmp_path / "newest")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["newest", "young"]
