"""The keys of a link, declared."""

from __future__ import annotations

from ..model.emulation import WAYS
from ..model.identifiers import LINK_NAME, LINK_NAME_RULE
from ..model.parameter import Parameter
from .hosts_file import OVER
from .keys import A_NAME, CompoundKey, KnownKeys, NameRule, SharedValue, SweptParameter, ValueForms, ValuePair
from .link_settings import DIRECTION_SETTINGS, LINK_SETTINGS

NO_ADDRESSES = "none"
"""The word that stands in place of addresses if the link does not carry that family."""

LINK_NAMES = NameRule(noun="a link", pattern=LINK_NAME, rule=LINK_NAME_RULE)
ENDPOINTS = ValuePair(item=A_NAME, rule="endpoints must be a list of two nodes, such as [h1, r1]")


def _addresses(example: str) -> ValuePair:
    return ValuePair(
        item=Parameter(name="address", kind="cidr", doc=""),
        rule=f"two addresses with prefix lengths, in the order of endpoints, such as [{example}]",
    )


ADDRESSES = {
    "ipv4": _addresses("192.0.2.1/24, 192.0.2.2/24"),
    "ipv6": _addresses("2001:db8::1/64, 2001:db8::2/64"),
}
"""The addresses of both ends, by family."""


def swept_setting(parameter: Parameter) -> SweptParameter:
    """A setting of a link, wherever it stands."""
    return SweptParameter(parameter=parameter, definition=f"link-{parameter.name}")


def _of_family(family: str) -> CompoundKey:
    none = Parameter(name=family, kind="choice", choices=(NO_ADDRESSES,), doc="")
    return CompoundKey(
        name=family,
        value=ValueForms((none, ADDRESSES[family])),
        unless_given="automatic",
        doc="addresses of the endpoints, in their order, with prefix lengths; none: it does not carry this family",
    )


DIRECTIONS = {
    direction: KnownKeys(what=direction, entries=tuple(map(swept_setting, DIRECTION_SETTINGS.values())))
    for direction in WAYS
}
"""The settings of packets that leave one end."""

LINK = KnownKeys(
    what="a link",
    entries=(
        CompoundKey(name="endpoints", value=ENDPOINTS, doc="the two nodes that it joins"),
        Parameter(
            name="name",
            kind="link-name",
            parser=LINK_NAMES.parse,
            unless_given="its endpoints with a dash between",
            doc="its name, for messages, --set and captures",
        ),
        OVER,
        *map(swept_setting, LINK_SETTINGS.values()),
        *(
            CompoundKey(
                name=direction,
                value=DIRECTIONS[direction],
                unless_given="as both ways",
                doc=f"settings for packets that leave the {end} endpoint",
            )
            for direction, end in zip(WAYS, ("first", "second"), strict=True)
        ),
        *map(_of_family, ADDRESSES),
    ),
    missing={"endpoints": "the endpoints are missing; give the two nodes that the link joins, such as [h1, r1]"},
)
A_LINK = SharedValue(name="link", value=LINK)
A_CHANGED_LINK = SharedValue(name="changed-link", value=KnownKeys(what="the changes of a link", entries=LINK.entries))
"""A link of a shape, of which only the differences are given."""
