"""Moves of a client that lost an address in the middle of a trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ..form import MAX_ITEMS, Kept, Name, Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionMove(Kept):
    """A move of a connection, or of a stream to another connection, from one address of the client to the next.

    Attributes:
        from_address, to_address: of the client.
        moved_ns: when the client went on from the next address, after it had begun to send.
        outage_ns: the time in which no byte arrived: from the last one before the move to the first one after it.
        links: those of the way from then on, from client to server.
    """

    from_address: Name
    to_address: Name
    moved_ns: Natural
    outage_ns: Natural
    links: Annotated[tuple[Name, ...], Field(max_length=MAX_ITEMS)]
