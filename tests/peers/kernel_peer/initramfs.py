"""File system that the peer boots from: busybox, Debian's dash, ip, tc, ping and iperf3 with their libraries, and
kernel modules.

Made once and kept in the cache directory, under a name that changes with whatever is in it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sixbench.lab import netem

from .process import PeerError

LINUX = "linux.uml"
MODULE_TREES = Path("/usr/lib/uml/modules")
TOOLS = ("dash", "ip", "tc", "ping", "tracepath", "iperf3")
"""Programs that are taken along beside busybox. Its own shell would take its own `ip` and `ping` before these: so
dash."""
MODULES = (
    *("ipv6", "sit", "ip6_tunnel", "ipip", "ip_gre", "ip6_gre", "vxlan"),
    *("sch_netem", "sch_fq", "sch_tbf", "sch_codel", "sch_fq_codel", "dummy", "veth"),
)
TABLES = tuple(sorted(netem.TABLES.glob("*.dist")))
"""The distributions that tc gives to netem."""
INIT = Path(__file__).with_name("init.sh")

_PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
_DEBIAN_PACKAGES = {
    LINUX: "user-mode-linux",
    "busybox": "busybox-static",
    "dash": "dash",
    "ip": "iproute2",
    "tc": "iproute2",
    "ping": "iputils-ping",
    "tracepath": "iputils-tracepath",
    "iperf3": "iperf3",
    "tcpdump": "tcpdump",
    "tshark": "tshark",
}


@dataclass(frozen=True, kw_only=True)
class Initramfs:
    """An archive to boot from."""

    path: Path
    module_files: dict[str, tuple[str, ...]]
    """For each module the files in /modules to load, in that order, itself last."""


def missing_programs() -> str | None:
    """Programs that the peer lacks on this machine, and what would help; None where nothing is missing."""
    missing = [name for name in _DEBIAN_PACKAGES if shutil.which(name, path=_PATH) is None]
    packages = sorted({_DEBIAN_PACKAGES[name] for name in missing})
    if packages:
        return f"there is no {', '.join(missing)} here; install it with: apt-get install {' '.join(packages)}"
    if _dynamic(_program("busybox")):
        return "busybox is not the static one; install it with: apt-get install busybox-static"
    if not list(MODULE_TREES.glob("*/modules.dep")):
        return f"{LINUX} has no modules in {MODULE_TREES}; install them with: apt-get install user-mode-linux"
    return None


@functools.cache
def initramfs() -> Initramfs:
    """The archive, made where the cache has none. Raises `PeerError`."""
    tree = _module_tree()
    sources = _modules_in_order(tree)
    module_files = {name: tuple(path.name for path in paths) for name, paths in sources.items()}
    files = _files({path for paths in sources.values() for path in paths})
    path = cache_directory() / f"initramfs-{_digest(files)}.cpio"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            archive = Path(scratch) / "cpio"
            archive.write_bytes(_archive(files, Path(scratch)))
            archive.rename(path)
    return Initramfs(path=path, module_files=module_files)


def cache_directory() -> Path:
    """Where archives are kept: `$XDG_CACHE_HOME/sixbench-peers`, or below ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sixbench-peers"


def _program(name: str) -> Path:
    place = shutil.which(name, path=_PATH)
    if place is None:
        raise PeerError(f"there is no {name} here; install the Debian package {_DEBIAN_PACKAGES[name]}")
    return Path(place)


def _module_tree() -> Path:
    trees = sorted(path.parent for path in MODULE_TREES.glob("*/modules.dep"))
    if not trees:
        raise PeerError(f"there are no modules of {LINUX} in {MODULE_TREES}")
    return trees[-1]


def _modules_in_order(tree: Path) -> dict[str, list[Path]]:
    """For each of `MODULES` its files, what it depends on first."""
    dependencies = {}
    for line in (tree / "modules.dep").read_text().splitlines():
        file, _, needs = line.partition(":")
        dependencies[Path(file).name.removesuffix(".ko")] = [*reversed(needs.split()), file]
    absent = [name for name in MODULES if name not in dependencies]
    if absent:
        raise PeerError(f"{tree} has no module {', '.join(absent)}")
    return {name: [tree / file for file in dependencies[name]] for name in MODULES}


def _dynamic(program: Path) -> list[Path]:
    """The shared libraries that a program loads, the dynamic linker among them; none where it is static."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    words = [word for line in done.stdout.splitlines() for word in line.split() if word.startswith("/")]
    return [Path(word) for word in words]


def _files(modules: set[Path]) -> dict[str, Path]:
    """Path in the archive to the file that it is made of."""
    files = {"bin/busybox": _program("busybox"), "init": INIT}
    for name in TOOLS:
        program = _program(name)
        files[f"bin/{name}"] = program
        files |= {str(library).lstrip("/"): library for library in _dynamic(program)}
    files |= {f"distributions/{table.name}": table for table in TABLES}
    return files | {f"modules/{path.name}": path for path in modules}


def _digest(files: dict[str, Path]) -> str:
    """Another one for every other content, as far as sizes and times tell."""
    status = {name: path.stat() for name, path in sorted(files.items())}
    lines = [f"{name} {files[name]} {it.st_size} {it.st_mtime_ns}" for name, it in status.items()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _archive(files: dict[str, Path], scratch: Path) -> bytes:
    """A cpio archive of the form that the kernel takes (`newc`, Documentation/driver-api/early-userspace)."""
    folders = {str(parent) for name in files for parent in Path(name).parents} - {"."}
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in sorted(folders | {"dev", "proc", "sys", "run", "tmp"})]
    entries += [(name, stat.S_IFREG | 0o755, _content(path, scratch)) for name, path in sorted(files.items())]
    entries.append(("TRAILER!!!", 0, b""))
    archive = bytearray()
    for inode, (name, mode, content) in enumerate(entries, 1):
        fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        archive += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        archive += bytes(-len(archive) % 4)
        archive += content
        archive += bytes(-len(archive) % 4)
    return bytes(archive)


def _content(path: Path, scratch: Path) -> bytes:
    """A file; a module without what only a debugger reads, which is most of it."""
    strip = shutil.which("strip")
    if path.suffix != ".ko" or strip is None:
        return path.read_bytes()
    stripped = scratch / path.name
    subprocess.run([strip, "--strip-debug", "-o", stripped, path], check=True)
    return stripped.read_bytes()
