"""Mechanisms that each engine can carry on this machine, found out by carrying echoes, or requests where no echo
passes, in a throw-away network."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from ..agent import AgentHub, Seat
from ..agent.requests import CaptureStart, CaptureStop, Counters
from ..lab.build import build
from ..lab.doctor import Answer
from ..mechanisms import MECHANISMS, Mechanism, find_engine, install
from ..model.errors import AgentError, CapabilityError, LabError
from ..model.network import Network
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.reason import sentences
from ..model.topology import Topology
from ..model.workload import Part, Traffic
from ..model.workloads import ping, tcp_rr, udp_rr
from ..plan.experiment_file import read_topology_only
from ..plan.yaml_source import parse_yaml
from .emulated import why_no_guest
from .engines import why_not
from .laboratory import AgentNode, Laboratory, echoes
from .parts import Hosts, run_parts
from .proof.packets import judge
from .proof.viewpoints import middle_of, viewpoints

ECHOES = 3
ECHO_TIMEOUT_NS = 2 * 10**9
CAPTURE_NS = 30 * 10**9
SNAPLEN_BYTES = 192
MAX_PACKETS = 64

BETWEEN = ("h1", "h2")
_LINE = """
nodes: {h1: host, r1: router, r2: router, h2: host}
links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
"""
"""The network whose nodes `Mechanism.sample` names."""

_PROGRAMS = (("ip", "iproute2"), ("tc", "iproute2"), ("ethtool", "ethtool"))
_UNTRIED = frozenset({"agent-died", "agent-silent", "agent-broken"})


@dataclass(frozen=True, kw_only=True)
class EngineAnswer:
    """Tests if an engine carries a mechanism here.

    Attributes:
        reason: what was seen where it is `yes`; why it is `no` or could not be tried.
    """

    mechanism: str
    engine: str
    answer: Answer
    reason: str


def examine_mechanisms(hub: AgentHub) -> list[EngineAnswer]:
    """All mechanisms with devices, by each of their engines. Leaves nothing behind; raises nothing."""
    for program, package in _PROGRAMS:
        if shutil.which(program) is None:
            return unknown_mechanisms(f"the program {program} is missing (Debian package {package})")
    try:
        _build_plain(hub)
        refused = refusals(hub)
    except (AgentError, CapabilityError, LabError) as error:
        return unknown_mechanisms(f"not even the plain network could be built: {error}")
    engine_answers = []
    for (mechanism, engine), reason in refused.items():
        tried: tuple[Answer, str] = ("no", reason) if reason is not None else _carry(hub, mechanism, engine)
        engine_answers.append(EngineAnswer(mechanism=mechanism, engine=engine, answer=tried[0], reason=tried[1]))
    return engine_answers


def unknown_mechanisms(reason: str) -> list[EngineAnswer]:
    """The answers where nothing could be tried, with the reason."""
    return [
        EngineAnswer(mechanism=mechanism.name, engine=engine, answer="unknown", reason=reason)
        for mechanism in _with_devices()
        for engine in mechanism.engines
    ]


def refusals(hub: AgentHub, seat: Seat | None = None) -> dict[tuple[str, str], str | None]:
    """For each mechanism and engine, why a machine cannot make its devices; None where it can, and only carrying
    packets would tell more. Raises `AgentError` or `CapabilityError` where no node can be made to try it in.

    Args:
        seat: on that machine; None: on this one.
    """
    probe = hub.start(["probe"], {"probe": seat or Seat()})["probe"]
    texts: dict[tuple[str, str], str | None] = {}
    tried: dict[tuple[object, ...], str | None] = {}
    try:
        for mechanism in _with_devices():
            for engine in mechanism.engines:
                network = _sample(mechanism.name, engine)
                if network.guests:
                    texts[mechanism.name, engine] = _NOT_ON_HOSTS if seat is not None else why_no_guest(network)
                    continue
                on_each = find_engine(engine).is_tried_on_each
                what = frozenset(device.kind if on_each else type(device) for device in network.devices)
                if (engine, what) not in tried:
                    tried[engine, what] = why_not(probe, network, engine)
                    if probe.ended is not None:
                        raise probe.ended
                texts[mechanism.name, engine] = tried[engine, what]
    finally:
        hub.stop([probe])
    return texts


_NOT_ON_HOSTS = "emulated machines under test are on the machine alone on which sixbench runs"


def _with_devices() -> Iterable[Mechanism]:
    return (mechanism for mechanism in MECHANISMS.values() if mechanism.sample)


def _sample(name: str, engine: str) -> Network:
    mechanism = MECHANISMS[name]
    options = dict(mechanism.sample_options)
    family = mechanism.family(options)
    path = Path(name="doctor", mechanism=name, family=family, nodes=mechanism.sample, engine=engine, options=options)
    return install(path, _line(), BETWEEN)


@cache
def _line() -> Topology:
    return read_topology_only(parse_yaml(_LINE, "doctor"))


def _build_plain(hub: AgentHub) -> None:
    """The network that every mechanism needs beneath it. It is tried on its own, so that its lack is not taken for the
    mechanism's."""
    agents = hub.start(list(_line().nodes))
    try:
        build(_line(), {name: AgentNode(agent) for name, agent in agents.items()})
    finally:
        hub.stop(list(agents.values()))


def _carry(hub: AgentHub, mechanism: str, engine: str) -> tuple[Answer, str]:
    network = _sample(mechanism, engine)
    try:
        laboratory = Laboratory(hub, network, engine)
    except LabError as error:
        return "no", str(error)
    except (AgentError, CapabilityError) as error:
        return "unknown", f"its network could not be built: {error}"
    try:
        network = network.with_learned(laboratory.learned)
        # Checked as in a run: the first packets may arrive before neighbours are resolved or new addresses are usable.
        laboratory.check_path(network)
        send = _send_echoes if MECHANISMS[mechanism].unfit(ping.KIND) is None else _send_requests
        return _watched(laboratory, network, send)
    except LabError as error:
        return "no", str(error)
    except AgentError as error:
        return "unknown" if error.code in _UNTRIED else "no", str(error)
    finally:
        laboratory.close()


_Send = Callable[[Laboratory, Network], tuple[bool, str]]
"""Sends something from end to end: whether all of it was answered, and the words for it."""


def _watched(laboratory: Laboratory, network: Network, send: _Send) -> tuple[Answer, str]:
    """Watches what is sent where it carries most headers."""
    views = viewpoints(network)
    view = views[middle_of(views)]
    watch = laboratory.agents[view.end.node]
    before = watch.answer(Counters())
    watch.answer(
        CaptureStart(
            capture="doctor",
            interface=view.end.name,
            addresses=[],
            after_ns=0,
            max_packets=MAX_PACKETS,
            max_ns=CAPTURE_NS,
            snaplen_bytes=SNAPLEN_BYTES,
        )
    )
    try:
        is_answered, words = send(laboratory, network)
    finally:
        capture = watch.answer(CaptureStop(capture="doctor"))
    if not is_answered:
        return "no", words
    nothing = Traffic(forward_payload_bytes=0, reverse_payload_bytes=0)
    node = view.end.node
    judgement = judge([view], [capture], {node: before}, {node: watch.answer(Counters())}, nothing)
    if judgement.invalid:
        return "no", sentences(judgement.invalid)
    return "yes", f"{words}; {view.link.name} carried {view.claimed}"


def _send_echoes(laboratory: Laboratory, network: Network) -> tuple[bool, str]:
    client = laboratory.agents[BETWEEN[0]]
    answered = echoes(client, network.legs, count=ECHOES, timeout_ns=ECHO_TIMEOUT_NS)
    if answered < ECHOES:
        return False, f"of {ECHOES} echoes from end to end, {answered} were answered"
    return True, f"{ECHOES} echoes were answered"


def _send_requests(laboratory: Laboratory, network: Network) -> tuple[bool, str]:
    """Requests over TCP and over UDP, for a path that no echo passes."""
    client, server = (laboratory.agents[name] for name in BETWEEN)
    hosts = Hosts(client=client, server=server, family=network.family, legs={network.family: network.legs})
    params: dict[str, Scalar] = {"count": ECHOES, "timeout_ns": ECHO_TIMEOUT_NS}
    parts = [Part(name=kind.name, workload=kind.name, params=params) for kind in (tcp_rr.KIND, udp_rr.KIND)]
    results, _ = run_parts(parts, hosts, "doctor", secrets.token_hex(16), lambda running: None)
    answered = [int(result["transactions"]) for result in results["parts"].values()]
    if min(answered) < ECHOES:
        text = " and ".join(map(str, answered))
        return False, f"of {ECHOES} requests over TCP and {ECHOES} over UDP, {text} were answered"
    return True, f"{ECHOES} requests over TCP and {ECHOES} over UDP were answered"
