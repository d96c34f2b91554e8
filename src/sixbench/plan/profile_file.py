"""Access profiles: the settings of a link of an access network, by name.

A profile is a mapping of a title, an MTU, the settings `down` (towards the customer) and `up`, and the source of each
number. Profiles that come with sixbench are files in `sixbench/profiles`. An experiment may have its own under
`profiles`, or name a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..model.emulation import WAYS
from ..model.errors import ExperimentError, UsageError
from ..model.parameter import Scalar
from ..model.quoting import shown
from .link_settings import DEFAULT_MTU_BYTES, DIRECTION_SETTINGS, LINK_SETTINGS, check_direction
from .reader import Reader, suggest
from .yaml_source import KeyPath, read_yaml

SIDES = ("up", "down")
"""The directions of an access link, in the order of `WAYS`. The first of its endpoints is the customer's."""

PROFILE_KEYS = ("title", "mtu", *SIDES, "sources")
SIDE_KEYS = tuple(key for key in DIRECTION_SETTINGS if key != "delay-file")
SUFFIXES = (".yaml", ".yml")
MAX_PROFILES = 100

_DIRECTORY = Path(__file__).resolve().parent.parent / "profiles"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The settings of an access network.

    Attributes:
        mtu_bytes: None if the profile does not say.
        directions: by key, the settings for packets from the customer, and for packets to the customer.
        sources: where the numbers come from, by key; `note` has further remarks.
    """

    name: str
    title: str
    mtu_bytes: int | None
    directions: tuple[dict[str, Scalar], dict[str, Scalar]]
    sources: dict[str, str]

    def way(self, way: str) -> dict[str, Scalar]:
        """The settings of a direction of a link, `forward` or `reverse`."""
        return self.directions[WAYS.index(way)]


class Profiles:
    """The profiles that an experiment may name. Files are read when they are first named."""

    def __init__(self, reader: Reader, data: dict[str, Any]) -> None:
        """Reads the profiles of the experiment itself."""
        self.reader = reader
        self._found: dict[str, Profile] = {}
        self._broken: set[str] = set()
        own = reader.mapping(("profiles",), data["profiles"], "profiles") if "profiles" in data else {}
        if len(own) > MAX_PROFILES:
            reader.problem(("profiles",), f"{len(own)} profiles are more than {MAX_PROFILES}; leave some out")
            own = {}
        for name, value in own.items():
            if name in shipped_profiles() or name.endswith(SUFFIXES):
                words = "comes with sixbench" if name in shipped_profiles() else "would be a file"
                reader.problem(("profiles", name), f"a profile named {shown(name)} {words}; give it another name")
            self._keep(name, read_profile(reader, ("profiles", name), name, value))

    def names(self) -> list[str]:
        """The names that can be used, besides files."""
        return [*shipped_profiles(), *self._found, *self._broken]

    def find(self, name: str) -> Profile | None:
        """The profile of that name, or in the file of that name; None if it is broken, which has been noted. Raises
        `ValueError` if there is none."""
        if name in self._broken:
            return None
        if name in self._found:
            return self._found[name]
        if name.endswith(SUFFIXES):
            self._keep(name, self._read_file(name))
            return self._found.get(name)
        if name not in shipped_profiles():
            raise ValueError(f"there is no profile {shown(name)}; {suggest(name, self.names())}")
        return shipped_profiles()[name]

    def _read_file(self, name: str) -> Profile | None:
        try:
            return read_profile_file(self.reader.source.directory / name, name)
        except UsageError as error:
            raise ValueError(str(error)) from error
        except ExperimentError as error:
            self.reader.problems.extend(error.problems)
            return None

    def _keep(self, name: str, profile: Profile | None) -> None:
        if profile is None:
            self._broken.add(name)
        else:
            self._found[name] = profile


@cache
def shipped_profiles() -> dict[str, Profile]:
    """The profiles that come with sixbench, by name, the fastest first."""
    profiles = [read_profile_file(path, path.stem) for path in sorted(_DIRECTORY.glob("*.yaml"))]
    return {profile.name: profile for profile in sorted(profiles, key=_slowness)}


def _slowness(profile: Profile) -> tuple[float, str]:
    """The key to sort by: the round trip without load."""
    return sum(float(side.get("delay", 0)) for side in profile.directions), profile.name


def read_profile_file(path: Path, name: str) -> Profile:
    """Reads a file with one profile. Raises `UsageError` if it cannot be read, and `ExperimentError` if it is not a
    profile.
    """
    reader = Reader(read_yaml(path, name if name.endswith(SUFFIXES) else None))
    profile = read_profile(reader, (), name, reader.source.data)
    reader.finish()
    assert profile is not None, "what is wrong has been noted"
    return profile


def read_profile(reader: Reader, place: KeyPath, name: str, value: Any) -> Profile | None:
    """Reads a profile; None if something is wrong with it, which is noted."""
    problems = len(reader.problems)
    data = reader.mapping(place, value, "a profile", PROFILE_KEYS)
    sides = [_side(reader, (*place, side), data[side]) if side in data else {} for side in SIDES]
    missing = [side for side in SIDES if side not in data]
    if missing and isinstance(value, dict):
        example = "such as {rate: 50Mbit, delay: 10ms}"
        reader.problem(place, f"{missing[0]} is missing: the link for packets {_TOWARDS[missing[0]]}, {example}")
    title = reader.word((*place, "title"), data["title"], "title") if "title" in data else name
    mtu = reader.parsed((*place, "mtu"), data["mtu"], LINK_SETTINGS["mtu"].parse) if "mtu" in data else None
    sources = reader.mapping((*place, "sources"), data["sources"], "sources") if "sources" in data else {}
    words = {key: reader.word((*place, "sources", key), text, "a source") or "" for key, text in sources.items()}
    mtu_bytes = None if mtu is None else int(mtu)
    for side, settings in zip(SIDES, sides, strict=True):
        wrong = check_direction(settings, mtu_bytes or DEFAULT_MTU_BYTES)
        if wrong is not None and len(reader.problems) == problems:
            reader.problem((*place, side, wrong[0]), wrong[1])
    if len(reader.problems) > problems:
        return None
    return Profile(
        name=name,
        title=" ".join((title or name).split()),
        mtu_bytes=mtu_bytes,
        directions=(sides[0], sides[1]),
        sources={key: " ".join(text.split()) for key, text in words.items()},
    )


_TOWARDS = {"up": "from the customer", "down": "to the customer"}


def _side(reader: Reader, place: KeyPath, value: Any) -> dict[str, Scalar]:
    data = reader.mapping(place, value, str(place[-1]), SIDE_KEYS)
    results = {}
    for key in (key for key in data if key in SIDE_KEYS):
        parsed = reader.parsed((*place, key), data[key], DIRECTION_SETTINGS[key].parse)
        if parsed is not None:
            results[key] = parsed
    return results
