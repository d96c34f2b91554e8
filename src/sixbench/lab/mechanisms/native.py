"""No mechanism at all: IPv4 or IPv6 from end to end."""

from __future__ import annotations

from ...model.mechanism import MechanismKind

NATIVE4 = MechanismKind(
    name="native4", doc="IPv4 from end to end (RFC 791).", family=4, layers=("ipv4",), carriers=frozenset({4})
)
NATIVE6 = MechanismKind(
    name="native6", doc="IPv6 from end to end (RFC 8200).", family=6, layers=("ipv6",), carriers=frozenset({6})
)
