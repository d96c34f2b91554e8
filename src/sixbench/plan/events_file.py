"""The `events` part of an experiment: what changes in the midst of every trial, and is undone after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model import units
from ..model.experiment import LinkChange
from ..model.topology import ETHERNET_MIN_MTU_V6
from ..model.wording import shown
from ..model.workload import Params, Scalar
from .factors import Assignment, Factors, Setting, Varying, resolve
from .link_settings import LINK_SETTINGS
from .reader import Reader, as_name, suggest
from .topology_file import TopologyTemplate
from .yaml_source import KeyPath

EVENT_KEYS = ("at", "link", "mtu")
MAX_EVENTS = 100
MAX_AT_NS = 24 * 3600 * 10**9


@dataclass(frozen=True, kw_only=True)
class EventTemplate:
    """An event whose time and MTU may still vary."""

    path: KeyPath
    link: str
    at: Setting
    mtu: Setting

    def factors(self) -> list[Any]:
        """Keys of the factors that it depends on."""
        return [setting.factor for setting in (self.at, self.mtu) if isinstance(setting, Varying)]


def read_events(
    reader: Reader, factors: Factors, value: Any, network: TopologyTemplate, wants_ipv6: bool
) -> list[EventTemplate]:
    """Reads the list: each entry a time, a link and its MTU from then on."""
    items = reader.sequence(("events",), value, "events")
    if not items and isinstance(value, list):
        reader.problem(("events",), "no event is given, such as {at: 1s, link: r1-r2, mtu: 1400}; leave events out")
    if len(items) > MAX_EVENTS:
        reader.problem(("events",), f"{len(items)} events are more than {MAX_EVENTS}; leave some out")
        return []
    found = []
    for index, item in enumerate(items):
        event = _read_event(reader, factors, ("events", index), item, network, wants_ipv6)
        if event is not None:
            found.append(event)
    return found


def changes(events: list[EventTemplate], assignment: Assignment) -> tuple[LinkChange, ...]:
    """The events at one combination of levels, in the order of time."""
    found = [
        LinkChange(at_ns=resolve(event.at, assignment), link=event.link, mtu_bytes=resolve(event.mtu, assignment))
        for event in events
    ]
    return tuple(sorted(found, key=lambda change: change.at_ns))


def check_events(reader: Reader, events: list[EventTemplate], assignment: Assignment, params: Params) -> None:
    """Notes events that come when a trial of these parameters is over."""
    if "duration_ns" not in params:
        return
    ends_ns = int(params["duration_ns"]) + int(params.get("warmup_ns", 0))
    for event in events:
        at_ns = resolve(event.at, assignment)
        if at_ns >= ends_ns:
            reader.problem(
                (*event.path, "at"),
                f"after {units.format_duration(at_ns)} a trial of {units.format_duration(ends_ns)} with its warm-up "
                "is over; give an earlier time, or a longer duration",
            )


def _read_event(
    reader: Reader, factors: Factors, path: KeyPath, item: Any, network: TopologyTemplate, wants_ipv6: bool
) -> EventTemplate | None:
    data = reader.mapping(path, item, "an event", EVENT_KEYS)
    missing = [key for key in EVENT_KEYS if key not in data]
    if missing:
        if isinstance(item, dict):
            words = "an event is such as {at: 1s, link: r1-r2, mtu: 1400}"
            reader.problem(path, f"{missing[0]} is missing; {words}")
        return None
    names = [link.name for link in network.links]
    link = as_name(data["link"])
    if not isinstance(link, str) or link not in names:
        if names:
            words = suggest(link if isinstance(link, str) else "", names)
            reader.problem((*path, "link"), f"there is no link {shown(link)}; {words}")
        return None

    def mtu_bytes(value: object) -> Scalar:
        read = LINK_SETTINGS["mtu"].parse(value)
        if wants_ipv6 and int(read) < ETHERNET_MIN_MTU_V6:
            raise ValueError(
                f"an MTU of {read} is too small for IPv6, which a path of this experiment uses: "
                f"at least {ETHERNET_MIN_MTU_V6} (RFC 8200 section 5)"
            )
        return read

    at = factors.setting((*path, "at"), data["at"], _time_ns, "_ns", (("event", "at"), "event_at_ns"))
    mtu = factors.setting((*path, "mtu"), data["mtu"], mtu_bytes, "_bytes", (("event", "mtu"), "event_mtu_bytes"))
    if at is None or mtu is None:
        return None
    return EventTemplate(path=path, link=link, at=at, mtu=mtu)


def _time_ns(value: object) -> Scalar:
    at_ns = units.parse_duration(value)
    if not 0 < at_ns <= MAX_AT_NS:
        raise ValueError(f"{shown(value)} is out of range: over 0 and at most {units.format_duration(MAX_AT_NS)}")
    return at_ns
