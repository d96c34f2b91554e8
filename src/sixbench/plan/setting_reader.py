"""Reads one key of a link, or of an event of a link: a constant or a factor, and the files that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..model.parameter import Scalar
from .emulation_settings import read_delays
from .factors import Constant, Factors, Setting, Varying
from .link_settings import LINK_SETTINGS, is_per_link, mtu_at, parse_mtu_profile
from .profile_file import Profile, Profiles
from .reader import Reader
from .yaml_source import KeyPath


class NamedFiles:
    """The files with delays and the profiles that the settings of a link name, and what was read from them."""

    def __init__(self, *, reader: Reader, profiles: Profiles) -> None:
        self.reader = reader
        self.profiles = profiles
        self.delays_ns: dict[str, tuple[int, ...]] = {}
        self.chosen: dict[str, Profile] = {}

    def read(self, kind: str, name: str) -> None:
        """Reads the file or profile that a setting of this kind names. Raises `ValueError`."""
        if kind == "file" and name not in self.delays_ns:
            self.delays_ns[name] = read_delays(Path(self.reader.source.file).parent / name)
        if kind == "profile":
            profile = self.profiles.find(name)
            if profile is not None:
                self.chosen[name] = profile


def read_setting(
    factors: Factors, path: KeyPath, value: Any, files: NamedFiles, number: int | None = None
) -> Setting | None:
    """Reads one key, the last of its path. `forward` or `reverse` can stand before it.

    Args:
        number: the number of the link in a row of links; None outside of one.
    """
    key = str(path[-1])
    if key == "mtu" and any(is_per_link(level) for level in factors.levels_of(value)):
        return _mtu_per_link(factors, path, value, files.reader, number)
    setting = LINK_SETTINGS[key]
    owner, within = ("event", path[2:]) if path[0] == "events" else ("link", path[3:])
    column = "_".join((owner, *map(str, within[:-1]), setting.column))

    def parse(level: object) -> Scalar:
        parsed = setting.parse(level)
        files.read(setting.kind, str(parsed))
        return parsed

    return factors.setting(path, value, parse, setting.suffix, ((owner, *within), column))


def _mtu_per_link(factors: Factors, path: KeyPath, value: Any, reader: Reader, number: int | None) -> Setting | None:
    if number is None:
        reader.problem(path, "an MTU per link is for a chain, whose links follow one another; give whole bytes")
        return None
    read = factors.setting(path, value, parse_mtu_profile, "", (("link", "mtu_profile"), "mtu_profile"))
    if isinstance(read, Constant):
        return Constant(value=mtu_at(read.value, number))
    return None if read is None else Varying(factor=read.factor, derive=lambda level: mtu_at(level, number))
