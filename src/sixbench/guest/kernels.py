"""Kernels by name: fetched, or given as files; kept in the cache directory in the form that a guest boots."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import platform
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from ..model.errors import CapabilityError, UsageError
from ..model.kernels import DEBIAN_KERNELS, HOST_KERNEL, no_such_kernel
from ..model.quoting import listed, printable
from . import debian, jool
from .cache import HALF_MADE, cache_directory, make_whole, no_space, one_at_a_time, unwritable
from .filesystem import make_filesystem
from .programs import find_program, run_program

BOOT_MODULES = ("libnvdimm", "nd_btt", "nd_pmem", "nd_e820")
"""The modules that a guest needs to see its memory as disks, in the order of loading. They exist from Linux 4.0 on."""

FETCHING_BYTES = 512 * 2**20
"""Room that fetching a kernel may take for a while: apt's lists, the package, its files and the image of its
modules."""

_ABOUT = "kernel.json"
_SETUP_BYTES = 66 * 1024
"""Furthest place of the version in a bzImage."""


@dataclass(frozen=True, kw_only=True)
class GuestKernel:
    """A kernel that guests can boot.

    Attributes:
        name: on the command line.
        release: such as `6.1.0-50-cloud-amd64`.
        origin: its package and version, or the file that it is.
        sha256: of the package's file, or of that file.
        built: the modules that were built for it, each as package and version.
    """

    name: str
    release: str
    origin: str
    sha256: str
    built: tuple[str, ...] = ()

    @property
    def directory(self) -> Path:
        return _directory(self.name)

    @property
    def vmlinuz(self) -> Path:
        """The file that QEMU loads."""
        return self.directory / "vmlinuz"

    @property
    def modules_image(self) -> Path:
        """A file system with the tree of modules below `RELEASE`."""
        return self.directory / "modules.img"

    @property
    def boot_modules(self) -> list[Path]:
        """The modules that are loaded before anything else, without those that are built in."""
        return [path for name in BOOT_MODULES if (path := self.directory / f"{name}.ko").exists()]


def add_kernel(name: str, with_jool: bool = False) -> GuestKernel:
    """Fetches a kernel and keeps it. Raises `CapabilityError` where there is none of that name, or it cannot be fetched
    or kept.

    Args:
        with_jool: whether Jool's modules are built for it.
    """
    if name not in DEBIAN_KERNELS:
        raise CapabilityError(f"there is no kernel {printable(name)} to fetch; there are {listed(DEBIAN_KERNELS)}")
    with one_at_a_time(_root()):
        return _fetch(name, with_jool)


def _fetch(name: str, with_jool: bool) -> GuestKernel:
    if with_jool:
        jool.check_tools()
    try:
        if shutil.disk_usage(_root()).free < FETCHING_BYTES:
            # apt waits for ever if it cannot write.
            raise no_space(cache_directory())
        with tempfile.TemporaryDirectory(dir=_root(), prefix=HALF_MADE) as scratch:
            fetched = debian.fetch(DEBIAN_KERNELS[name], Path(scratch))
            vmlinuz = next(iter(sorted((fetched.tree / "boot").glob("vmlinuz-*"))), None)
            if vmlinuz is None:
                raise CapabilityError(f"fetching {name}: {fetched.package} holds no kernel")
            release = vmlinuz.name.removeprefix("vmlinuz-")
            places = (fetched.tree / place / release for place in ("lib/modules", "usr/lib/modules"))
            modules = next((place for place in places if place.is_dir()), None)
            if modules is None:
                raise CapabilityError(f"fetching {name}: {fetched.package} holds no modules")
            origin = f"{fetched.package} {fetched.version}"
            built = (jool.build(Path(scratch), release, modules),) if with_jool else ()
            kernel = GuestKernel(name=name, release=release, origin=origin, sha256=fetched.sha256, built=built)
            return _keep(kernel, vmlinuz, modules)
    except OSError as error:
        raise unwritable(cache_directory(), error) from error


def find_kernel(name: str) -> GuestKernel:
    """A kernel by its name. Nothing is fetched: only `add_kernel` uses the network.

    Args:
        name: one of `DEBIAN_KERNELS`, `host`, or `FILE:MODULES`: a bzImage, and the directory `lib/modules/RELEASE` of
            its modules.

    Raises:
        CapabilityError: it is none of these, or it is not kept here or cannot be booted.
    """
    if name in DEBIAN_KERNELS:
        kept = _kept(name)
        if kept is None:
            raise CapabilityError(not_kept(name))
        return kept
    if name == HOST_KERNEL:
        release = platform.release()
        return _from_files(HOST_KERNEL, Path(f"/boot/vmlinuz-{release}"), Path(f"/lib/modules/{release}"))
    file, colon, modules = name.rpartition(":")
    if colon and file and modules:
        return _from_files(name, Path(file), Path(modules))
    raise no_such_kernel(name)


def not_kept(name: str) -> str:
    """The words about a kernel that can be fetched and is not kept yet."""
    return f"the kernel {printable(name)} is not kept here yet; fetch it by: sixbench kernels add {printable(name)}"


def kept_kernels() -> list[GuestKernel]:
    """The kernels in the cache, by name."""
    kernels = (_read(path) for path in sorted(_root().glob(f"*/{_ABOUT}")))
    return sorted((kernel for kernel in kernels if kernel is not None), key=lambda kernel: kernel.name)


def remove_kernel(name: str) -> None:
    """Removes a kernel from the cache. Raises `UsageError` where none of that name is kept."""
    if _kept(name) is None:
        kept = listed(kernel.name for kernel in kept_kernels())
        raise UsageError(f"no kernel {printable(name)} is kept here; kept: {kept}")
    shutil.rmtree(_directory(name), ignore_errors=True)


def _root() -> Path:
    return cache_directory() / "kernels"


def _directory(name: str) -> Path:
    directory_name = name if name in DEBIAN_KERNELS else hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return _root() / directory_name


def _kept(name: str) -> GuestKernel | None:
    return _read(_directory(name) / _ABOUT)


def _read(path: Path) -> GuestKernel | None:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        return GuestKernel(**about | {"built": tuple(about.get("built", ()))})
    except (OSError, ValueError, TypeError):
        return None


def _from_files(name: str, vmlinuz: Path, modules: Path) -> GuestKernel:
    for what, there in ((vmlinuz, vmlinuz.is_file()), (modules, modules.is_dir())):
        if not there:
            raise CapabilityError(f"the kernel {printable(name)}: there is no {what}")
    try:
        with open(vmlinuz, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            release = _release(file.read(_SETUP_BYTES))
    except OSError as error:
        raise CapabilityError(f"reading the kernel {printable(name)}: {error.strerror or error}") from error
    if release is None:
        raise CapabilityError(f"the kernel {printable(name)}: {vmlinuz} is not a bzImage such as /boot/vmlinuz-RELEASE")
    if release != modules.resolve().name:
        raise CapabilityError(
            f"the kernel {printable(name)}: {vmlinuz} is Linux {printable(release)}, and {modules} is not the "
            "directory of its modules, whose name is that release"
        )
    with one_at_a_time(_root()):
        kept = _kept(name)
        if kept is not None and kept.sha256 == digest:
            return kept
        return _keep(GuestKernel(name=name, release=release, origin=str(vmlinuz), sha256=digest), vmlinuz, modules)


def _release(setup: bytes) -> str | None:
    """The release that the beginning of a bzImage gives (Documentation/arch/x86/boot.rst, `kernel_version`); None where
    it is no bzImage."""
    if setup[0x202:0x206] != b"HdrS":
        return None
    start = int.from_bytes(setup[0x20E:0x210], "little") + 0x200
    words = setup[start : start + 256].split(b"\0")[0].split()
    return words[0].decode(errors="replace") if words else None


def _keep(kernel: GuestKernel, vmlinuz: Path, modules: Path) -> GuestKernel:
    def fill(directory: Path) -> None:
        shutil.copyfile(vmlinuz, directory / "vmlinuz")
        root = directory / "root"
        tree = root / "lib/modules" / kernel.release
        shutil.copytree(modules, tree, symlinks=True, ignore=shutil.ignore_patterns("build", "source"))
        if kernel.built:
            shutil.copytree(modules.parent / jool.FOLDER, tree.parent / jool.FOLDER)
        _decompress(tree)
        _take_boot_modules(kernel.name, tree, directory)
        run_program([find_program("depmod", "kmod"), "-b", root, kernel.release], f"keeping the kernel {kernel.name}")
        make_filesystem(tree.parent, directory / "modules.img")
        shutil.rmtree(root)
        (directory / _ABOUT).write_text(json.dumps(asdict(kernel), indent=1), encoding="utf-8")

    make_whole(kernel.directory, fill)
    return kernel


def _decompress(tree: Path) -> None:
    """Unpacks modules once here, rather than in every guest."""
    for packed in tree.rglob("*.ko.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()


def _take_boot_modules(name: str, tree: Path, directory: Path) -> None:
    builtin = tree / "modules.builtin"
    built_in = set(re.findall(r"([^/\n]+)\.ko$", builtin.read_text() if builtin.exists() else "", re.MULTILINE))
    paths = {path.stem: path for path in tree.rglob("*.ko") if path.stem in BOOT_MODULES}
    missing = [module for module in BOOT_MODULES if module not in paths and module not in built_in]
    if missing:
        raise CapabilityError(
            f"the kernel {printable(name)} cannot see memory as disks: it has no module {listed(missing)} "
            "(CONFIG_X86_PMEM_LEGACY, CONFIG_BLK_DEV_PMEM)"
        )
    for module, path in paths.items():
        shutil.copyfile(path, directory / f"{module}.ko")
        os.chmod(directory / f"{module}.ko", 0o644)
