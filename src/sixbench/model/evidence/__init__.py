"""The proof that a trial took its path: the evidence that a record keeps.

`bench.proof` builds it, records keep it as JSON, and reports read it. A part that is None was not looked at, or the
trial has none of it. The JSON lacks what is None. Keys of later versions are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from ..form import MAX_ITEMS, Counts, Flag, Kept, Name, Natural, words_of
from .arrivals import ArrivedSegments
from .clocks import TwoClocks
from .discovery import DhcpSeen, DiscoveredPrefix
from .emulation import EmulatedLink
from .events import LinkEvent
from .fragments import Fragments
from .losses import Losses
from .moves import ConnectionMove
from .packets import NodeCounters, Segment
from .programs import ProgramUse
from .relays import RelayCounters
from .sessions import TrackedSessions
from .timers import LateTimers
from .transactions import TransactionLink
from .translators import TranslatorCounters
from .tunnels import TunnelCounters


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence(Kept):
    """All evidence of a trial. Each witness (`bench.witnesses`) gives a part of it.

    Attributes:
        segments: the links of the way, from client to server.
        middle: the index of the link that tells most.
        families: packets there by family (`ipv4`, `ipv6`).
        silent: the links on which packets of a family were seen that got no answer.
        payload_bytes: what must have crossed the links, by direction.
        counters: by node on the way.
        filters: packets that the rulesets of nodes counted, by node and counter.
        emulation: links with a known truth, by name.
        tunnels: the ends of tunnels by node and device.
        translators: likewise.
        discovered: the prefixes that CLATs learned, by node: when the network was built, or by the last bring-up.
        dhcp: what was seen of DHCP where the CLAT asks by it whether it can do without IPv4.
        versions: what programs of others that ran in nodes, such as resolvers, said of their versions.
        relays: the relays by node.
        programs: what programs under test used, by node.
        transactions: the bytes of each on the links of the way, where the workload says what they are.
        sessions: of the nodes that keep state.
        moves: of a client that lost its address in the middle of the trial, in order.
        arrived: the segments of TCP that came to each host, and those that nobody of the trial sent.
        timers: those of links' rates, by link and the node that sends.
        processors: those that each node on the way ran on; empty where the kernel put none there.
        clocks: those of client and server, where these are on two machines and their difference is known.
        proved, client, server: of a measurement between two machines: that nothing was proved, and the addresses.
    """

    segments: Annotated[tuple[Segment, ...], Field(max_length=10_000)] | None = None
    middle: Natural | None = None
    families: Counts | None = None
    silent: dict[Name, tuple[Name, ...]] | None = None
    payload_bytes: Counts | None = None
    counters: dict[Name, NodeCounters] | None = None
    fragments: Fragments | None = None
    filters: dict[Name, Counts] | None = None
    emulation: dict[Name, EmulatedLink] | None = None
    events: Annotated[tuple[LinkEvent, ...], Field(max_length=MAX_ITEMS)] | None = None
    tunnels: dict[Name, dict[Name, TunnelCounters]] | None = None
    translators: dict[Name, dict[Name, TranslatorCounters]] | None = None
    discovered: dict[Name, DiscoveredPrefix] | None = None
    dhcp: DhcpSeen | None = None
    versions: dict[Name, dict[Name, Name]] | None = None
    relays: dict[Name, RelayCounters] | None = None
    programs: dict[Name, ProgramUse] | None = None
    transactions: Annotated[tuple[TransactionLink, ...], Field(max_length=MAX_ITEMS)] | None = None
    sessions: dict[Name, TrackedSessions] | None = None
    losses: Losses | None = None
    moves: Annotated[tuple[ConnectionMove, ...], Field(max_length=MAX_ITEMS)] | None = None
    arrived: dict[Name, ArrivedSegments] | None = None
    timers: dict[Name, dict[Name, LateTimers]] | None = None
    processors: dict[Name, Annotated[tuple[Natural, ...], Field(max_length=MAX_ITEMS)]] | None = None
    clocks: TwoClocks | None = None
    proved: Flag | None = None
    client: Name | None = None
    server: Name | None = None


NO_EVIDENCE = Evidence()
"""That of a trial which was not measured."""


def joined(parts: Iterable[Evidence]) -> Evidence:
    """All parts as one. Where several have the same part, theirs are by name, and are put together."""
    together: dict[str, Any] = {}
    for part in parts:
        for item in fields(part):
            value = getattr(part, item.name)
            if value is not None:
                known = together.get(item.name)
                together[item.name] = {**known, **value} if isinstance(known, dict) else value
    return Evidence(**together)


def _with_segments(data: Any) -> Any:
    """Evidence of the first version, which is of one link and has its keys at the top level, in the form of today."""
    if isinstance(data, Mapping) and "link" in data and "segments" not in data:
        return {**data, "segments": [data]}
    return data


KeptEvidence = Annotated[Evidence, BeforeValidator(_with_segments)]
"""Evidence as records of any version have it."""


@cache
def evidence_adapter() -> TypeAdapter[Evidence]:
    """Checks evidence. Building it takes some hundredths of a second."""
    return TypeAdapter(KeptEvidence)


def evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    """Its part of `trial.json`."""
    data: dict[str, Any] = evidence_adapter().dump_python(evidence, mode="json", exclude_none=True)
    return data


def evidence_from_json(data: Any) -> Evidence:
    """Reads it back. Raises `ValueError`."""
    try:
        return evidence_adapter().validate_python(data)
    except ValidationError as error:
        raise ValueError(next(words_of(error))) from None
