"""Kernels of guests: named, given as files, kept, refused."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from sixbench.bench import emulated
from sixbench.guest import add_kernel, find_kernel, kept_kernels, remove_kernel
from sixbench.guest.cache import cache_directory, make_whole, unwritable
from sixbench.guest.debian import _own_apt
from sixbench.guest.kernels import BOOT_MODULES, FETCHING_BYTES
from sixbench.model.errors import CapabilityError, UsageError

pytestmark = pytest.mark.computes


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_directory()


def files_of(tmp_path: Path, modules: tuple[str, ...]) -> str:
    """A kernel's image and the tree of its modules, as `FILE:MODULES`."""
    tree = tmp_path / "6.9.9-test"
    (tree / "kernel").mkdir(parents=True)
    for name in modules:
        (tree / f"kernel/{name}.ko").write_bytes(name.encode())
    (tree / "modules.builtin").write_text("kernel/drivers/nvdimm/libnvdimm.ko\n")
    (tmp_path / "vmlinuz").write_bytes(bz_image("6.9.9-test"))
    return f"{tmp_path}/vmlinuz:{tree}"


def bz_image(release: str, rest: bytes = b"kernel") -> bytes:
    """The beginning of one: the magic of its header, where its version is, the version."""
    header = bytearray(0x300)
    header[0x202:0x206] = b"HdrS"
    header[0x20E:0x210] = (0x280 - 0x200).to_bytes(2, "little")
    version = f"{release} (somebody@somewhere) #1 SMP".encode()
    header[0x280 : 0x280 + len(version)] = version
    return bytes(header) + rest


def kept_by_hand(cache: Path, name: str) -> None:
    directory = cache / "kernels" / name
    directory.mkdir(parents=True)
    about = {"name": name, "release": "6.1.0-1", "origin": "linux-image 6.1.1", "sha256": "ab"}
    (directory / "kernel.json").write_text(json.dumps(about))


@pytest.mark.parametrize("name", ["debian-7", "", "vmlinuz", ":modules", "vmlinuz:"])
def test_a_name_that_is_none_is_refused_with_those_that_there_are(name: str) -> None:
    listed = r"there is no kernel .*debian-5.10, debian-6.1, debian-6.12, host, and FILE"
    with pytest.raises(CapabilityError, match=listed):
        find_kernel(name)


def test_only_debian_kernels_are_fetched() -> None:
    with pytest.raises(CapabilityError, match="there is no kernel host to fetch"):
        add_kernel("host")


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match="there is no /nowhere/vmlinuz"):
        find_kernel("/nowhere/vmlinuz:/nowhere/modules")
    (tmp_path / "vmlinuz").touch()
    with pytest.raises(CapabilityError, match="there is no /nowhere/modules"):
        find_kernel(f"{tmp_path}/vmlinuz:/nowhere/modules")


def test_a_file_that_is_no_kernel_is_refused(tmp_path: Path) -> None:
    name = files_of(tmp_path, BOOT_MODULES[1:])
    (tmp_path / "vmlinuz").write_bytes(b"\x7fELF" + bytes(4096))
    with pytest.raises(CapabilityError, match="vmlinuz is not a bzImage"):
        find_kernel(name)


def test_a_kernel_with_the_modules_of_another_is_refused(tmp_path: Path) -> None:
    name = files_of(tmp_path, BOOT_MODULES[1:])
    (tmp_path / "vmlinuz").write_bytes(bz_image("6.1.0-9"))
    with pytest.raises(
        CapabilityError, match=r"vmlinuz is Linux 6\.1\.0-9, and .*6\.9\.9-test is not the directory of"
    ):
        find_kernel(name)


def test_what_a_killed_one_left_half_made_is_removed(tmp_path: Path, cache: Path) -> None:
    (cache / "kernels/.making-abc/made").mkdir(parents=True)
    kernel = find_kernel(files_of(tmp_path, BOOT_MODULES[1:]))
    assert list((cache / "kernels").iterdir()) == [kernel.directory]


def test_a_full_cache_is_told_also_where_a_tree_was_copied(tmp_path: Path) -> None:
    full = f"[Errno {errno.ENOSPC}] {os.strerror(errno.ENOSPC)}: 'b'"
    error = unwritable(tmp_path, shutil.Error([("a", "b", full), ("c", "d", full)]))
    assert str(error).startswith(f"writing {tmp_path}: no space left there; make some")


def test_a_kernel_that_cannot_see_memory_as_disks_is_refused_and_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(CapabilityError, match="has no module nd_pmem "):
        find_kernel(files_of(tmp_path, ("nd_btt", "nd_e820")))
    assert list((cache / "kernels").iterdir()) == []


def test_a_kernel_of_files_is_kept_with_its_modules_until_it_changes(tmp_path: Path) -> None:
    name = files_of(tmp_path, BOOT_MODULES[1:])
    kernel = find_kernel(name)
    assert kernel.release == "6.9.9-test"
    assert kernel.vmlinuz.read_bytes() == bz_image("6.9.9-test")
    assert [path.stem for path in kernel.boot_modules] == ["nd_btt", "nd_pmem", "nd_e820"]
    assert kernel.modules_image.stat().st_size > 0
    assert kept_kernels() == [kernel]
    made_ns = kernel.modules_image.stat().st_mtime_ns
    assert find_kernel(name).modules_image.stat().st_mtime_ns == made_ns
    (tmp_path / "vmlinuz").write_bytes(bz_image("6.9.9-test", b"another"))
    assert find_kernel(name).sha256 != kernel.sha256


def test_kernels_are_listed_and_removed(cache: Path) -> None:
    kept_by_hand(cache, "debian-6.1")
    assert [kernel.release for kernel in kept_kernels()] == ["6.1.0-1"]
    assert find_kernel("debian-6.1").origin == "linux-image 6.1.1"
    remove_kernel("debian-6.1")
    assert kept_kernels() == []
    with pytest.raises(UsageError, match=r"no kernel debian-6\.1 is kept here; kept: none"):
        remove_kernel("debian-6.1")


def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def half(directory: Path) -> None:
        (directory / "begun").touch()
        raise OSError(28, "No space left on device")

    with pytest.raises(CapabilityError, match=r"no space left there; make some"):
        make_whole(tmp_path / "kept/it", half)
    assert list((tmp_path / "kept").iterdir()) == []
    assert "name a writable place with XDG_CACHE_HOME" in str(
        unwritable(tmp_path, PermissionError(13, "Permission denied"))
    )


def test_apt_has_its_own_directories_and_one_signed_source(tmp_path: Path) -> None:
    config = _own_apt(tmp_path, "http://mirror.example/debian/", "trixie").read_text()
    assert f'Dir::State "{tmp_path}/apt"' in config
    assert 'Dir::Etc::SourceParts "/dev/null"' in config
    source = (tmp_path / "apt/sources.list").read_text()
    assert source.startswith("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/")
    assert source.endswith(" trixie main\n")


def test_nothing_is_fetched_into_a_cache_that_is_nearly_full(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """apt waits for ever where it cannot write."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=FETCHING_BYTES - 1))
    with pytest.raises(CapabilityError, match="no space left there; make some, with `sixbench kernels remove`"):
        add_kernel("debian-6.1")
    assert list(cache.rglob("*")) == [cache / "kernels"]


def test_a_kernel_that_is_not_kept_is_an_error_and_never_fetched(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setattr("sixbench.guest.debian.fetch", lambda *_: pytest.fail("it was fetched"))
    words = "the kernel debian-6.1 is not kept here yet; fetch it by: sixbench kernels add debian-6.1"
    with pytest.raises(CapabilityError, match=words):
        find_kernel("debian-6.1")
    with pytest.raises(CapabilityError, match=words):
        emulated.guest_files("debian-6.1")
