"""Debian's kernels for virtual machines, fetched by apt from the suite that has them.

apt is given a directory of its own with one source in it, so that neither the machine's sources nor its packages are
touched, and no privilege is needed. The mirror is that of the machine's own sources. apt checks the signatures
and the sums.
"""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..model.errors import CapabilityError
from .programs import find_program, run_program

META_PACKAGE = "linux-image-cloud-amd64"
"""The package that depends on a suite's newest kernel for virtual machines."""

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_CONFIG = "apt.conf"


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A package that was fetched.

    Attributes:
        tree: its unpacked files.
        package, version: as Debian calls it.
        sha256: of the package's file.
    """

    tree: Path
    package: str
    version: str
    sha256: str


def fetch(suite: str, scratch: Path) -> Fetched:
    """Fetches the kernel of a suite and unpacks it below `scratch`. Raises `CapabilityError`."""
    apt_get, apt_cache = find_program("apt-get", "apt"), find_program("apt-cache", "apt")
    if platform.machine() != "x86_64":
        raise CapabilityError(
            f"fetching a kernel of {suite}: they are for x86_64, and this machine is {platform.machine()}"
        )
    variables = {"APT_CONFIG": str(_own_apt(scratch, _mirror(apt_get), suite))}
    doing = f"fetching the kernel of Debian {suite}"
    run_program([apt_get, "update", "-q=2"], doing, variables=variables)
    about = run_program([apt_cache, "show", "--no-all-versions", META_PACKAGE], doing, variables=variables)
    depends = re.search(r"^Depends: (linux-image-\S+)", about, re.MULTILINE)
    if depends is None:
        raise CapabilityError(f"{doing}: the suite has no {META_PACKAGE} that names a kernel")
    return _unpack(scratch, depends[1], scratch / "tree", doing)


def dependencies(scratch: Path, package: str, doing: str) -> list[str]:
    """The names of the packages that a package of the suite depends on. `fetch` must have been there before. Raises
    `CapabilityError`."""
    about = run_program(
        [find_program("apt-cache", "apt"), "show", "--no-all-versions", package],
        doing,
        variables=_apt_variables(scratch),
    )
    depends = re.search(r"^Depends: (.*)", about, re.MULTILINE)
    return re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]+)", depends[1]) if depends else []


def fetch_more(scratch: Path, packages: Iterable[str], tree: Path, doing: str) -> list[Fetched]:
    """Fetches other packages of the suite that `fetch` has asked, and unpacks them into one tree. Raises
    `CapabilityError`."""
    return [_unpack(scratch, package, tree, doing) for package in packages]


def _apt_variables(scratch: Path) -> dict[str, str]:
    return {"APT_CONFIG": str(scratch / "apt" / _CONFIG)}


def _unpack(scratch: Path, name: str, tree: Path, doing: str) -> Fetched:
    run_program(
        [find_program("apt-get", "apt"), "download", "-q=2", name],
        doing,
        cwd=scratch,
        variables=_apt_variables(scratch),
    )
    package = next(scratch.glob(f"{name}_*.deb"), None)
    if package is None:
        raise CapabilityError(f"{doing}: apt-get download brought no {name}")
    run_program([find_program("dpkg-deb", "dpkg"), "-x", package, tree], doing)
    version = re.search(r"_([^_]+)_[a-z0-9]+\.deb$", package.name)
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    return Fetched(tree=tree, package=name, version=version[1] if version else "unknown", sha256=digest)


def _mirror(apt_get: Path) -> str:
    """The archive that this machine's own sources name for its suite."""
    template = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    targets = run_program([apt_get, "indextargets", "--format", template, "Created-By: Packages"], "asking apt")
    suites = {"stable", "oldstable", "testing", _own_suite()}
    for line in targets.splitlines():
        uri, release, component = (*line.split(), "", "", "")[:3]
        if release in suites and component == "main":
            return uri
    raise CapabilityError(
        "this machine's apt sources name no archive of Debian to fetch a kernel from; "
        "give a kernel of your own as FILE:MODULES"
    )


def _own_suite() -> str:
    try:
        about = platform.freedesktop_os_release()
    except OSError:
        return ""
    return about.get("VERSION_CODENAME", "") if about.get("ID") == "debian" else ""


def _own_apt(scratch: Path, mirror: str, suite: str) -> Path:
    """Makes apt's directory. Returns its configuration."""
    root = scratch / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (root / name).mkdir(parents=True)
    (root / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror} {suite} main\n")
    config = root / _CONFIG
    config.write_text(
        f"""Dir::Etc::SourceList "{root}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "{root}";
Dir::State::Lists "{root}/lists";
Dir::State::status "/dev/null";
Dir::Cache "{root}/cache";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Sandbox::User "";
Acquire::Languages "none";
"""
    )
    return config
