"""Links with a known truth during a run: who emulates them, and what they are told before a trial."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from ..agent import Agent
from ..agent.answers import Nothing
from ..agent.requests import EmulateChange, EmulateRecord, Exec
from ..lab.emulation import change, emulated_links
from ..lab.netem import unfit
from ..model.emulation import WAYS, EmulatorName
from ..model.errors import CapabilityError
from ..model.observation import EmulateAnswer
from ..model.topology import Link, Topology
from .asking import SentRequest, ask
from .laboratory import Laboratory


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
    """True if the kernel has netem, by trying it."""
    arguments = ["tc", "qdisc", "replace", "dev", "lo", "root", "netem", "delay", "1ms"]
    return probe.answer(Exec(argv=arguments)).exit == 0


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
    digests = (hashlib.sha256(f"{words}/{link.name}/{direction}".encode()).digest() for direction in WAYS)
    forward, reverse = (int.from_bytes(digest[:8], "big") for digest in digests)
    return forward, reverse


def begin(laboratory: Laboratory, seed: str, token: str | None = None) -> None:
    """Tells the links what to do from the next packet on, and has them count anew. Raises `AgentError`.

    Args:
        seed: a text from which their random numbers follow.
        token: of the trial whose lost datagrams they name.
    """
    if laboratory.emulator is None:
        return
    asked: list[SentRequest[Nothing] | SentRequest[EmulateAnswer]] = []
    for _, link in emulated_links(laboratory.topology):
        asked.append(ask(laboratory.emulator, EmulateChange(**change(link, seeds_of(seed, link)))))
        asked.append(ask(laboratory.emulator, EmulateRecord(link=link.name, restart=True, token=token)))
    for item in asked:
        item.answer()
