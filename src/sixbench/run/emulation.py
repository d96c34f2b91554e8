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
from ..model.topology import Link, Topology
from ..model.workloads.common import PACED
from .laboratory import Laboratory

TIMEOUT_S = 10.0

MAX_LATENESS_P99_NS = 250_000
"""An emulator is behind when a hundredth of the packets leave later than that after they were due ..."""
MAX_LATENESS_SHARE = 0.02
"""... and later than this share of the configured delay."""


def choose_emulators(probe: Agent, topologies: tuple[Topology, ...]) -> tuple[Topology, ...]:
    """The networks with an emulator for each link that needs one. Raises `CapabilityError` where the one that is asked
    for cannot do it here.

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
    """What was done to the packets of a trial.

    Attributes:
        evidence: by link: who emulated it, what was configured and, where it was ours, what it did both ways.
        invalid: why the links were not what they claim.
    """

    evidence: dict[str, Any]
    invalid: list[str]


def begin(laboratory: Laboratory, seed: str, token: str | None = None) -> None:
    """Tells the links what to do from the next packet on, and has them count anew. Raises `AgentError`.

    Args:
        seed: what their choices depend on, in words.
        token: of the trial whose lost datagrams they are to name.
    """
    if laboratory.emulator is None:
        return
    for _, link in emulated_links(laboratory.topology):
        laboratory.emulator.call("emulate-change", timeout_s=TIMEOUT_S, **change(link, seeds_of(seed, link)))
        laboratory.emulator.call("emulate-record", timeout_s=TIMEOUT_S, link=link.name, restart=True, token=token)


def end(laboratory: Laboratory) -> dict[str, Any]:
    """What our emulator did since `begin`, by link; where it has died, nothing."""
    records: dict[str, Any] = {}
    if laboratory.emulator is not None:
        for _, link in emulated_links(laboratory.topology):
            try:
                records[link.name] = laboratory.emulator.call("emulate-record", timeout_s=TIMEOUT_S, link=link.name)
            except AgentError:
                continue
    return records


def assess(topology: Topology, records: Mapping[str, Any]) -> Emulated:
    """Whether the links did what they claim."""
    evidence: dict[str, Any] = {}
    invalid: list[str] = []
    for link in topology.wires:
        if not link.is_emulated:
            continue
        if link.emulator == "netem":
            settings = {way: netem(one) for way, one in zip(WAYS, link.impairments, strict=True)}
            evidence[link.name] = {"emulator": "netem", "settings": settings}
            continue
        record = records.get(link.name)
        if record is None:
            invalid.append(f"the emulator of {link.name} said nothing of what it did")
            continue
        evidence[link.name] = {"emulator": "user"} | {way: _kept(record[way]) for way in WAYS}
        for number, way in enumerate(WAYS):
            delays_ns = [state[number].impairments.mean_delay_ns for state in link.states]
            reason = _behind(min(filter(None, delays_ns), default=0), record[way])
            if reason is not None:
                invalid.append(f"{PACED}the emulator of {link.name} ({way}) {reason}")
    return Emulated(evidence=evidence, invalid=invalid)


def lost_places(topology: Topology, records: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where links lost packets because they were to, as `loss_evidence` has places."""
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
                | {"side": "emulated", "reason": "EMULATED", "what": "the link was to lose them"}
                | {"datagrams": datagrams, "sequences": sequences, "other_packets": record["lost"] - datagrams}
            )
    return places


def _kept(record: Mapping[str, Any]) -> dict[str, Any]:
    """Without the histograms' buckets, which would be longer than all the rest."""
    return {
        name: {key: part for key, part in value.items() if key != "buckets"} if isinstance(value, dict) else value
        for name, value in record.items()
        if not name.startswith("lost_sequences")
    }


def _behind(delay_ns: int, record: Mapping[str, Any]) -> str | None:
    """How the emulator was not up to its task, in words.

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
