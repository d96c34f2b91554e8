"""Links with a known truth during a run: who emulates them, what they are told before a trial, what they really did."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..agent import Agent
from ..lab.emulation import change, emulated_links
from ..lab.netem import netem, unfit
from ..model.emulation import WAYS, EmulatorName
from ..model.errors import AgentError, CapabilityError
from ..model.reason import Reason, ReasonKind
from ..model.topology import Link, Topology
from .asking import ask
from .laboratory import Laboratory

MAX_LATENESS_P99_NS = 250_000
"""An emulator is behind when a hundredth of the packets leave more than this after they were due ..."""
MAX_LATENESS_SHARE = 0.02
"""... and by more than this share of the configured delay."""


def choose_emulators(probe: Agent, topologies: tuple[Topology, ...]) -> tuple[Topology, ...]:
    """The networks with an emulator for each link that needs one. Raises `CapabilityError` where the emulator that the
    experiment names cannot do it here.

    Args:
        probe: a node to try netem in.
    """
    works = None
    chosen = []
    for topology in topologies:
        links = []
        for link in topology.links:
            if not link.is_emulated:
                links.append(link)
                continue
            works = netem_works(probe) if works is None else works
            links.append(replace(link, emulator=_emulator(link, works)))
        chosen.append(replace(topology, links=tuple(links)))
    return tuple(chosen)


def netem_works(probe: Agent) -> bool:
    """Whether the kernel has netem, by trying it."""
    arguments = ["tc", "qdisc", "replace", "dev", "lo", "root", "netem", "delay", "1ms"]
    return bool(probe.call("exec", argv=arguments)["exit"] == 0)


def _emulator(link: Link, works: bool) -> EmulatorName:
    lacks = unfit(link) if works else "this kernel has none"
    if link.emulator == "netem" and lacks is not None:
        words = lacks if not works else f"it cannot do {lacks}"
        raise CapabilityError(
            f"the link {link.name} is to be emulated by netem (sch_netem), but {words}; "
            "leave emulator out, or give emulator: user"
        )
    return link.emulator or ("user" if lacks is not None else "netem")


def seeds_of(words: str, link: Link) -> tuple[int, int]:
    """The seeds of both directions of a link, the same for the same words."""
    digests = (hashlib.sha256(f"{words}/{link.name}/{way}".encode()).digest() for way in WAYS)
    forward, reverse = (int.from_bytes(digest[:8], "big") for digest in digests)
    return forward, reverse


@dataclass(frozen=True, kw_only=True)
class Emulated:
    """The impairments of a trial's packets, as they really were.

    Attributes:
        evidence: by link: the emulator, the configuration and, where the emulator is ours, what it did in both
            directions.
        invalid: why the links were not what they claim.
    """

    evidence: dict[str, Any]
    invalid: list[Reason]


def begin(laboratory: Laboratory, seed: str, token: str | None = None) -> None:
    """Tells the links what to do from the next packet on, and has them count anew. Raises `AgentError`.

    Args:
        seed: a text from which their random numbers follow.
        token: of the trial whose lost datagrams they name.
    """
    if laboratory.emulator is None:
        return
    asked = []
    for _, link in emulated_links(laboratory.topology):
        asked.append(ask(laboratory.emulator, "emulate-change", **change(link, seeds_of(seed, link))))
        asked.append(ask(laboratory.emulator, "emulate-record", link=link.name, restart=True, token=token))
    for one in asked:
        one.answer()


def end(laboratory: Laboratory, unanswered: list[AgentError]) -> dict[str, Any]:
    """What our emulator did since `begin`, by link; what it does not answer is added to `unanswered`."""
    records: dict[str, Any] = {}
    if laboratory.emulator is not None:
        links = [link.name for _, link in emulated_links(laboratory.topology)]
        asked = {link: ask(laboratory.emulator, "emulate-record", link=link) for link in links}
        for link, one in asked.items():
            try:
                records[link] = one.answer()
            except AgentError as error:
                unanswered.append(error)
    return records


def assess(topology: Topology, records: Mapping[str, Any]) -> Emulated:
    """Whether the links did what they claim."""
    evidence: dict[str, Any] = {}
    invalid: list[Reason] = []
    for link in topology.wires:
        if not link.is_emulated:
            continue
        if link.emulator == "netem":
            settings = {way: netem(one) for way, one in zip(WAYS, link.impairments, strict=True)}
            evidence[link.name] = {"emulator": "netem", "settings": settings}
            continue
        record = records.get(link.name)
        if record is None:
            words = f"the emulator of {link.name} did not report what it did"
            invalid.append(Reason(kind=ReasonKind.EMULATOR_SILENT, text=words))
            continue
        evidence[link.name] = {"emulator": "user"} | {way: _kept(record[way]) for way in WAYS}
        for number, way in enumerate(WAYS):
            delays_ns = [state[number].impairments.mean_delay_ns for state in link.states]
            reason = _behind(min(filter(None, delays_ns), default=0), record[way])
            if reason is not None:
                words = f"the emulator of {link.name} ({way}) {reason}"
                invalid.append(Reason(kind=ReasonKind.EMULATOR_LATE, text=words))
    return Emulated(evidence=evidence, invalid=invalid)


def lost_places(topology: Topology, records: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The places where links lost packets as configured, in the form of `loss_evidence`."""
    places = []
    for link in topology.wires:
        for way, end in zip(WAYS, link.ends, strict=True):
            record = records.get(link.name, {}).get(way)
            if not record or not record["lost"]:
                continue
            sequences = [(int(first), int(last)) for first, last in record.get("lost_sequences", [])]
            datagrams = sum(last - first + 1 for first, last in sequences) + record.get("lost_sequences_omitted", 0)
            places.append(
                {"where": f"on {link.name}, coming from {end.node}", "node": end.node, "link": link.name}
                | {"side": "emulated", "reason": "EMULATED", "what": "the link is configured to lose them"}
                | {"datagrams": datagrams, "sequences": sequences, "other_packets": record["lost"] - datagrams}
            )
    return places


def _kept(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without the histograms' buckets, which would be longer than all the rest."""
    return {
        name: {key: part for key, part in value.items() if key != "buckets"} if isinstance(value, dict) else value
        for name, value in record.items()
        if not name.startswith("lost_sequences")
    }


def _behind(delay_ns: int, record: Mapping[str, Any]) -> str | None:
    """Why the emulator did not do what was configured, in words; None if it did.

    Args:
        delay_ns: the least that was configured, 0 where none was.
    """
    for key, words in (
        ("socket_drops", "lost packets that it could not take in time"),
        ("no_room", "dropped packets for want of memory"),
        ("send_errors", "could not send packets"),
    ):
        if record[key]:
            return f"{words}: {record[key]}"
    lateness = record["lateness"]
    if not lateness["count"] or not delay_ns:
        return None
    limit_ns = max(MAX_LATENESS_P99_NS, MAX_LATENESS_SHARE * delay_ns)
    if lateness["count"] >= 100 and lateness["p99"] > limit_ns:
        return f"fell behind: 1 % of the packets were late by {lateness['p99'] / 1e6:.3g} ms or more"
    return None
