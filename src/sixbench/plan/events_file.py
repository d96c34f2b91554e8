"""The `events` part of an experiment: what changes during every trial, and is undone after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from ..model import units
from ..model.emulation import WAYS
from ..model.experiment import LinkChange, Taken
from ..model.parameter import Parameter, Params, Scalar
from ..model.quoting import shown
from .direction_rules import overridden
from .factors import Assignment, Factors, Setting, Varying, resolve
from .key_reader import read_items, read_keys
from .keys import CompoundKey, KnownKeys, SweptParameter, ValueList
from .link_keys import swept_setting
from .link_settings import DIRECTION_SETTINGS, MTU
from .link_template import LinkState, LinkTemplate
from .profile_file import Profiles
from .reader import Reader, as_name, suggest
from .setting_reader import NamedFiles, read_setting
from .topology_file import TopologyTemplate
from .yaml_source import KeyPath

CHANGEABLE = tuple(key for key in DIRECTION_SETTINGS if key != "queue-discipline")
"""Keys of a direction that events cannot change. A queue cannot change its kind while packets wait in it."""

MAX_EVENTS = 100
MAX_AT_NS = 24 * 3600 * 10**9

_EXAMPLE = "an event is such as {at: 1s, link: r1-r2, rate: 5Mbit}"


def _time_ns(value: object) -> Scalar:
    at_ns = units.parse_duration(value)
    if not 0 < at_ns <= MAX_AT_NS:
        raise ValueError(f"{shown(value)} is out of range: over 0 and at most {units.format_duration(MAX_AT_NS)}")
    return at_ns


_AT = Parameter(
    name="at",
    column="event_at_ns",
    kind="duration",
    parser=_time_ns,
    doc="time after the traffic begins, with the warm-up",
)
_TAKES = Parameter(
    name="takes",
    kind="choice",
    choices=get_args(Taken),
    doc="what the client loses of the link from then on: the link, whose end goes down there; or the addresses that it "
    "has at it",
)
_CHANGES = tuple(swept_setting(DIRECTION_SETTINGS[key]) for key in CHANGEABLE)
_DIRECTIONS = {direction: KnownKeys(what=f"changes of {direction}", entries=_CHANGES) for direction in WAYS}
EVENT = KnownKeys(
    what="an event",
    entries=(
        SweptParameter(parameter=_AT),
        CompoundKey(name="link", value=Parameter(name="link", kind="link-name", doc=""), doc="the name of a link"),
        CompoundKey(name=_TAKES.name, value=_TAKES, doc=_TAKES.doc),
        SweptParameter(parameter=replace(MTU, default=None, doc="MTU of both ends from then on")),
        *_CHANGES,
        *(
            CompoundKey(
                name=direction,
                value=_DIRECTIONS[direction],
                doc=f"changes for packets that leave the {end} endpoint of the link",
            )
            for direction, end in zip(WAYS, ("first", "second"), strict=True)
        ),
    ),
    missing={key: f"{key} is missing; {_EXAMPLE}" for key in ("at", "link")},
    least=3,
)
EVENTS = ValueList(what="events", item=EVENT, most=MAX_EVENTS, empty=f"no event is given; {_EXAMPLE}; leave events out")


@dataclass(frozen=True, kw_only=True)
class EventTemplate:
    """An event whose time and settings may still vary.

    Attributes:
        settings: the settings that the link gets, by key. Settings of one direction have keys such as `forward.rate`.
        delays_ns: what the files with delays say, by the names that settings give them.
        takes: what the client loses of the link; None: nothing.
    """

    path: KeyPath
    link: LinkTemplate
    at: Setting
    settings: dict[str, Setting]
    delays_ns: dict[str, tuple[int, ...]]
    takes: Taken | None = None

    def factors(self) -> list[Any]:
        """Keys of the factors on which it depends."""
        return [item.factor for item in (self.at, *self.settings.values()) if isinstance(item, Varying)]

    def after(self, before: LinkState, assignment: Assignment) -> LinkState:
        """The link after the event, at one combination of levels."""
        value = {key: resolve(setting, assignment) for key, setting in self.settings.items()}
        both = {key: item for key, item in value.items() if key in CHANGEABLE}
        forward, reverse = (
            overridden(
                settings,
                both
                | {
                    key.removeprefix(f"{direction}."): item
                    for key, item in value.items()
                    if key.startswith(f"{direction}.")
                },
            )
            for direction, settings in zip(WAYS, before.ways, strict=True)
        )
        return LinkState(mtu_bytes=int(value.get("mtu", before.mtu_bytes)), ways=(forward, reverse))

    def place_of(self, direction: str | None, key: str) -> KeyPath:
        """The place in the file that sets a key."""
        if direction is not None and f"{direction}.{key}" in self.settings:
            return (*self.path, direction, key)
        return (*self.path, key) if key in self.settings else self.path


def read_events(
    reader: Reader, factors: Factors, profiles: Profiles, value: Any, network: TopologyTemplate
) -> list[EventTemplate]:
    """Reads the list. Each entry has a time, a link, and the settings that the link has from then on."""
    event_templates = []
    for index, item in enumerate(read_items(reader, ("events",), value, EVENTS)):
        event = _read_event(reader, factors, profiles, ("events", index), item, network)
        if event is not None:
            event_templates.append(event)
    return event_templates


def changes(events: list[EventTemplate], assignment: Assignment) -> tuple[LinkChange, ...]:
    """The events at one combination of levels, in the order of time, each with its link as it is from then on."""
    return tuple(
        LinkChange(
            at_ns=resolve(event.at, assignment),
            link=event.link.name,
            mtu_bytes=after.mtu_bytes,
            directions=after.directions(event.link.delays_ns | event.delays_ns),
            takes=event.takes,
        )
        for event, _, after in _in_order(events, assignment)
    )


def check_events(
    reader: Reader, events: list[EventTemplate], assignment: Assignment, params: Params, wants_ipv6: bool
) -> None:
    """Notes what is wrong with events at a combination of levels: states that a link cannot have, and
    events that come after a trial of these parameters is over."""
    taken: set[str] = set()
    for event, before, after in _in_order(events, assignment):
        if event.link.name in taken:
            reader.problem(event.path, f"{event.link.name} was taken before; leave this event out")
        if event.takes is not None:
            taken.add(event.link.name)
        wrong = after.flaw(wants_ipv6 and event.link.has_ipv6)
        if wrong is not None:
            direction, key, words = wrong
            reader.problem(event.place_of(direction, key), words)
        _check_rates(reader, event, before, after)
    if "duration_ns" not in params:
        return
    ends_ns = int(params["duration_ns"]) + int(params.get("warmup_ns", 0))
    for event in events:
        at_ns = resolve(event.at, assignment)
        if at_ns >= ends_ns:
            reader.problem(
                (*event.path, "at"),
                f"at {units.format_duration(at_ns)} a trial of {units.format_duration(ends_ns)} with its warm-up "
                "is over; give an earlier time, or a longer duration",
            )


def _check_rates(reader: Reader, event: EventTemplate, before: LinkState, after: LinkState) -> None:
    """The problem with a change that a kernel cannot make while packets wait."""
    for direction, old, new in zip(WAYS, before.ways, after.ways, strict=True):
        if "rate" in new and "rate" not in old:
            words = f"{event.link.name} has no rate that could change; give the link one, such as rate: 1Gbit"
            reader.problem(event.place_of(direction, "rate"), words)
        elif _counts_packets(old) != _counts_packets(new):
            words = "a queue cannot change from counting packets to counting bytes, or back"
            reader.problem(event.place_of(direction, "queue"), f"{words}; give both in the same unit")


def _counts_packets(value: Mapping[str, Scalar]) -> bool:
    return "packet" in str(value.get("queue", "")) or value.get("queue-discipline", "tail-drop") != "tail-drop"


def _in_order(
    events: list[EventTemplate], assignment: Assignment
) -> Iterator[tuple[EventTemplate, LinkState, LinkState]]:
    """Each event in the order of time, with its link before it and after it."""
    states: dict[str, LinkState] = {}
    for event in sorted(events, key=lambda event: int(resolve(event.at, assignment))):
        before = states.get(event.link.name) or event.link.state(assignment)
        states[event.link.name] = event.after(before, assignment)
        yield event, before, states[event.link.name]


def _read_event(
    reader: Reader, factors: Factors, profiles: Profiles, path: KeyPath, item: Any, network: TopologyTemplate
) -> EventTemplate | None:
    data = read_keys(reader, path, item, EVENT)
    if any(key not in data for key in EVENT.missing):
        return None
    if len(data) < EVENT.least:
        reader.problem(path, f"it changes nothing; {_EXAMPLE}")
        return None
    links = {link.name: link for link in network.links}
    name = as_name(data["link"])
    if not isinstance(name, str) or name not in links:
        if links:
            words = suggest(name if isinstance(name, str) else "", links)
            reader.problem((*path, "link"), f"there is no link {shown(name)}; {words}")
        return None
    takes = data.get(_TAKES.name)
    if takes is not None:
        if takes not in get_args(Taken):
            choices = " or ".join(get_args(Taken))
            reader.problem((*path, _TAKES.name), f"{shown(takes)} cannot be taken; takes is {choices}")
            return None
        if len(data) > EVENT.least:
            reader.problem(path, "an event that takes something changes nothing else; leave the other keys out")
            return None
    given = {key: ((*path, key), data[key]) for key in data if key in ("mtu", *CHANGEABLE)}
    for direction in (direction for direction in WAYS if direction in data):
        changes = read_keys(reader, (*path, direction), data[direction], _DIRECTIONS[direction])
        given |= {f"{direction}.{key}": ((*path, direction, key), changes[key]) for key in changes if key in CHANGEABLE}
    files = NamedFiles(reader=reader, profiles=profiles)
    at = factors.setting((*path, "at"), data["at"], _AT.parse, _AT.suffix, (("event", "at"), _AT.column))
    settings = {}
    for key, (place, value) in given.items():
        read = read_setting(factors, place, value, files)
        if read is not None:
            settings[key] = read
    if at is None or len(settings) < len(given):
        return None
    return EventTemplate(path=path, link=links[name], at=at, settings=settings, delays_ns=files.delays_ns, takes=takes)
