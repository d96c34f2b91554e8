"""A link whose settings may still vary, and the link that it is at one combination of levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.direction import Directions
from ..model.emulation import WAYS
from ..model.framing import PPPOE_MTU_BYTES, framing_of
from ..model.parameter import Scalar
from ..model.topology import Interface, Link
from .direction_rules import overridden
from .factors import Assignment, Setting, Varying, resolve
from .hosts_file import NOTHING, Carried
from .link_settings import DEFAULT_MTU_BYTES, DIRECTION_SETTINGS, check_direction, check_mtu, direction
from .profile_file import Profile
from .rate_settings import overhead
from .yaml_source import KeyPath


@dataclass(frozen=True, kw_only=True)
class LinkState:
    """The settings of a link at one moment: its MTU, and the settings of each direction by key."""

    mtu_bytes: int
    ways: tuple[dict[str, Scalar], dict[str, Scalar]]

    def directions(self, delays_ns: Mapping[str, tuple[int, ...]]) -> Directions:
        """Impairments that packets meet in each direction. The argument has what files with delays say, by their
        names."""
        forward, reverse = (direction(value, delays_ns.get(str(value.get("delay-file")), ())) for value in self.ways)
        return forward, reverse

    def flaw(self, wants_ipv6: bool) -> tuple[str | None, str, str] | None:
        """The problem with settings that are each right on their own: the direction if it is one direction's fault, the
        key, and the sentence."""
        wrong = check_mtu(self.mtu_bytes, wants_ipv6)
        if wrong is not None:
            return None, "mtu", wrong
        for name, settings in zip(WAYS, self.ways, strict=True):
            pair = check_direction(settings, self.mtu_bytes)
            if pair is not None:
                return name, *pair
        return None


@dataclass(frozen=True, kw_only=True)
class LinkTemplate:
    """A link whose settings may still vary.

    Attributes:
        carried: what carries it from one machine to another.
        settings: its settings by key. Settings of one direction have keys such as `forward.delay`.
        delays_ns: what the files with delays say, by the names that settings give them.
        profiles: by the names that settings give them.
        place: which link of a short form it is, in words for messages.
    """

    name: str
    path: KeyPath
    interfaces: tuple[Interface, Interface]
    settings: dict[str, Setting]
    carried: Carried = NOTHING
    delays_ns: dict[str, tuple[int, ...]] = field(default_factory=dict)
    profiles: dict[str, Profile] = field(default_factory=dict)
    place: str = ""

    @property
    def has_ipv6(self) -> bool:
        """True if it has addresses of IPv6, so that its MTU must be enough for that (RFC 8200 section 5)."""
        return all(end.ipv6 is not None for end in self.interfaces)

    def factors(self) -> list[Any]:
        """Keys of the factors on which it depends, in order of appearance."""
        return list(dict.fromkeys(s.factor for s in self.settings.values() if isinstance(s, Varying)))

    def concrete(self, assignment: Assignment) -> Link:
        """The link at one combination of levels."""
        value, state = self._values(assignment), self.state(assignment)
        return Link(
            name=self.name,
            ends=self.interfaces,
            mtu_bytes=state.mtu_bytes,
            directions=state.directions(self.delays_ns),
            profile=value.get("profile"),
            emulator=value.get("emulator"),
            offload=value.get("offload"),
            over=self.carried.over,
            vlan_id=self.carried.vlan_id,
            finds_mtu=self.carried.over == "internet" and not self._says_mtu(value),
        )

    def state(self, assignment: Assignment) -> LinkState:
        """Its settings at one combination of levels."""
        value = self._values(assignment)
        forward, reverse = (self._in_direction(direction, value) for direction in WAYS)
        return LinkState(mtu_bytes=self._mtu_bytes(value), ways=(forward, reverse))

    def flaw(self, assignment: Assignment, wants_ipv6: bool) -> tuple[str, str] | None:
        """The problem with it at one combination of levels, although each setting is right on its own: the key, and the
        sentence."""
        row = self.state(assignment).flaw(wants_ipv6 and self.has_ipv6)
        if row is None:
            return None
        direction, key, words = row
        value = self._values(assignment)
        key = f"{direction}.{key}" if f"{direction}.{key}" in value else key
        return (key if key in value or "profile" not in value else "profile"), words

    def _values(self, assignment: Assignment) -> dict[str, Any]:
        return {key: resolve(setting, assignment) for key, setting in self.settings.items()}

    def _profile(self, value: Mapping[str, Any]) -> Profile | None:
        return self.profiles.get(value.get("profile", ""))

    def _says_mtu(self, value: Mapping[str, Any]) -> bool:
        profile = self._profile(value)
        return "mtu" in value or (profile is not None and profile.mtu_bytes is not None)

    def _mtu_bytes(self, value: Mapping[str, Any]) -> int:
        profile = self._profile(value)
        by_profile = None if profile is None else profile.mtu_bytes
        return int(value.get("mtu", by_profile or self.carried.mtu_bytes or self._usual_mtu_bytes(value)))

    def _usual_mtu_bytes(self, value: Mapping[str, Any]) -> int:
        """The MTU of the link's framing."""
        is_pppoe = any(framing_of(overhead(self._in_direction(direction, value))).is_pppoe for direction in WAYS)
        return PPPOE_MTU_BYTES if is_pppoe else DEFAULT_MTU_BYTES

    def _in_direction(self, direction: str, value: Mapping[str, Any]) -> dict[str, Scalar]:
        """The settings of one direction. Those of both directions replace those of the profile, and its own replace
        both."""
        both = {key: item for key, item in value.items() if key in DIRECTION_SETTINGS}
        of_direction = {
            key.removeprefix(f"{direction}."): item for key, item in value.items() if key.startswith(f"{direction}.")
        }
        profile = self._profile(value)
        return (
            both | of_direction if profile is None else overridden(profile.settings_of(direction), both | of_direction)
        )
