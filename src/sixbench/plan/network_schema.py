"""The part of the schema of experiment files that is about networks: topologies, profiles, and events on links."""

from __future__ import annotations

from ..model.emulation import WAYS
from ..model.identifiers import LINK_NAME
from .events_file import CHANGEABLE, EVENT_KEYS
from .link_settings import DIRECTION_SETTINGS
from .profile_file import PROFILE_KEYS, SIDE_KEYS, SIDES
from .schema_terms import (
    Schema,
    named,
    object_of,
    ref,
    swept,
    text,
    value_schema,
    whole,
)


def profile_schema() -> Schema:
    """An access network."""
    properties: dict[str, Schema] = {
        "title": text("One line for people; unless given, the name."),
        "mtu": ref("mtu"),
        **{
            side: object_of({key: value_schema(DIRECTION_SETTINGS[key]) for key in SIDE_KEYS})
            | {"description": f"The link for packets {towards} the customer."}
            for side, towards in zip(SIDES, ("from", "to"), strict=True)
        },
        "sources": {**named(text()), "description": "Sources of the numbers, by key."},
    }
    assert tuple(properties) == PROFILE_KEYS, "every key of a profile has its schema"
    return object_of(properties, required=SIDES)


def event_schema() -> Schema:
    """A change of a link in the middle of trials."""
    properties = {
        "at": {**swept(ref("duration")), "description": "time after the traffic begins, with the warm-up"},
        "link": ref("name") | {"pattern": whole(LINK_NAME.pattern), "description": "the name of a link"},
        "mtu": {**swept(ref("mtu")), "description": "MTU of both ends from then on"},
        **{key: ref(f"link-{key}") for key in CHANGEABLE},
        **{
            way: object_of({key: ref(f"link-{key}") for key in CHANGEABLE})
            | {"description": f"Changes for packets that leave the {end} endpoint of the link."}
            for way, end in zip(WAYS, ("first", "second"), strict=True)
        },
    }
    assert tuple(properties) == EVENT_KEYS, "every key of an event has its schema"
    return object_of(properties, required=("at", "link")) | {"minProperties": 3}
