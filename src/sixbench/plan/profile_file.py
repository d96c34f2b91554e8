"""Access profiles: the settings of a link of an access network, by name.

A profile is a mapping of a title, an MTU, the settings `down` (towards the customer) and `up`, and the source of each
number. Profiles that come with sixbench are files in `sixbench/profiles`. An experiment may have its own under
`profiles`, or name a file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..model.emulation import WAYS
from ..model.errors import ExperimentError, UsageError
from ..model.parameter import Parameter, Scalar
from ..model.quoting import shown
from .key_reader import read_keys, read_names, read_plain, read_value
from .keys import CompoundKey, KnownKeys, NamedValues, SharedValue
from .link_settings import DEFAULT_MTU_BYTES, DIRECTION_SETTINGS, MTU, check_direction
from .reader import Reader, suggest
from .yaml_source import KeyPath, read_yaml

SIDES = ("up", "down")
"""The directions of an access link, in the order of `WAYS`. The first of its endpoints is the customer's."""

SUFFIXES = (".yaml", ".yml")
MAX_PROFILES = 100

_TOWARDS = {"up": "from the customer", "down": "to the customer"}
_OF_SIDES = {
    side: KnownKeys(
        what=side,
        entries=tuple(parameter for key, parameter in DIRECTION_SETTINGS.items() if key != "delay-file"),
    )
    for side in SIDES
}
_MTU = replace(MTU, default=None)
_SOURCE = Parameter(name="source", kind="line", noun="a source", doc="")
_SOURCES = NamedValues(what="sources", item=_SOURCE)
PROFILE = KnownKeys(
    what="a profile",
    entries=(
        Parameter(name="title", kind="line", unless_given="the name", doc="one line for people"),
        _MTU,
        *(
            CompoundKey(name=side, value=_OF_SIDES[side], doc=f"the link for packets {_TOWARDS[side]}")
            for side in SIDES
        ),
        CompoundKey(name="sources", value=_SOURCES, doc="sources of the numbers, by key"),
    ),
    missing={
        side: f"{side} is missing: the link for packets {_TOWARDS[side]}, such as {{rate: 50Mbit, delay: 10ms}}"
        for side in SIDES
    },
)
PROFILES = NamedValues(what="profiles", item=SharedValue(name="access-profile", value=PROFILE), most=MAX_PROFILES)

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

    def settings_of(self, direction: str) -> dict[str, Scalar]:
        """The settings of a direction of a link, `forward` or `reverse`."""
        return self.directions[WAYS.index(direction)]


class Profiles:
    """The profiles that an experiment may name. Files are read when they are first named."""

    def __init__(self, reader: Reader, data: dict[str, Any]) -> None:
        """Reads the profiles of the experiment itself."""
        self.reader = reader
        self._profiles: dict[str, Profile] = {}
        self._broken: set[str] = set()
        for name, value in read_names(reader, ("profiles",), data.get("profiles", {}), PROFILES).items():
            if name in shipped_profiles() or name.endswith(SUFFIXES):
                words = "comes with sixbench" if name in shipped_profiles() else "would be a file"
                reader.problem(("profiles", name), f"a profile named {shown(name)} {words}; give it another name")
            self._keep(name, read_profile(reader, ("profiles", name), name, value))

    def names(self) -> list[str]:
        """The names that can be used, besides files."""
        return [*shipped_profiles(), *self._profiles, *self._broken]

    def find(self, name: str) -> Profile | None:
        """The profile of that name, or in the file of that name; None if it is broken, which has been noted. Raises
        `ValueError` if there is none."""
        if name in self._broken:
            return None
        if name in self._profiles:
            return self._profiles[name]
        if name.endswith(SUFFIXES):
            self._keep(name, self._read_file(name))
            return self._profiles.get(name)
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
            self._profiles[name] = profile


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
    data = read_keys(reader, place, value, PROFILE)
    read = read_plain(reader, place, data, PROFILE)
    sides = [_side(reader, (*place, side), data[side]) if side in data else {} for side in SIDES]
    sources_place = (*place, "sources")
    sources = {
        key: read_value(reader, (*sources_place, key), text, _SOURCE)
        for key, text in read_names(reader, sources_place, data.get("sources", {}), _SOURCES).items()
    }
    mtu_bytes = read.get(_MTU.name)
    for side, settings in zip(SIDES, sides, strict=True):
        wrong = check_direction(settings, mtu_bytes or DEFAULT_MTU_BYTES)
        if wrong is not None and len(reader.problems) == problems:
            reader.problem((*place, side, wrong[0]), wrong[1])
    if len(reader.problems) > problems:
        return None
    return Profile(
        name=name,
        title=read.get("title", " ".join(name.split())),
        mtu_bytes=mtu_bytes,
        directions=(sides[0], sides[1]),
        sources={key: str(text) for key, text in sources.items()},
    )


def _side(reader: Reader, place: KeyPath, value: Any) -> dict[str, Scalar]:
    keys = _OF_SIDES[str(place[-1])]
    data = read_keys(reader, place, value, keys)
    results = {}
    for key in (key for key in data if key in keys.names):
        parsed = reader.parsed((*place, key), data[key], DIRECTION_SETTINGS[key].parse)
        if parsed is not None:
            results[key] = parsed
    return results
