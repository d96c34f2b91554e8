"""The forms of answers (docs/protocol.md), and the error of an answer that has another form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from ..model.captured import AnyLayer
from ..model.errors import AgentError
from ..model.form import ABSENT, Form, Natural, Ranges
from ..model.result_form import Histogram

SHOWN_PROBLEMS = 3
SHOWN_CHARACTERS = 60


def check(form: type[Form], answer: object, what: str, place: tuple[str, ...] = ()) -> None:
    """Holds an answer against its form.

    Args:
        what: the answer, in words, such as `finish`.
        place: the keys that lead to it, where it is an object in an answer.

    Raises:
        AgentError: of code `agent-broken`; it says what is wrong, and where.
    """
    try:
        form.model_validate(answer)
    except ValidationError as error:
        problems = [_problem(one["type"], (*place, *one["loc"]), one["msg"], one["input"]) for one in error.errors()]
        more = f", and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
        words = "; ".join(problems[:SHOWN_PROBLEMS])
        raise AgentError("agent-broken", f"{what} was answered {words}{more}") from None


def _problem(kind: str, place: Iterable[int | str], message: str, value: object) -> str:
    where = ".".join(str(part) for part in place)
    if kind == "missing":
        return f"without {where}"
    shown = repr(value)
    short = shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}..."
    return f"with {where or 'an object'} of type {type(value).__name__} ({short}): {message[:1].lower()}{message[1:]}"


class Nothing(Form):
    """The answer says no more than that it is done."""


class HelloAnswer(Form):
    """Who the agent is."""

    protocol: int
    version: str
    pid: int
    netns_inode: Natural = ABSENT


class WatchedProcessor(Form):
    """A processor that is kept awake, and how long it was busy so far."""

    processor: Natural
    busy_ns: Natural


class AwakeAnswer(Form):
    """The processors that are kept awake."""

    clock_ns: Natural
    processors: list[WatchedProcessor]


class ExecAnswer(Form):
    """How a command ended."""

    exit: int
    stdout: str
    stderr: str


class SysctlAnswer(Form):
    """Settings as they are."""

    values: dict[str, str]


class Interface(Form):
    """The counters of an interface."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Natural]

    rx_bytes: Natural
    rx_packets: Natural
    rx_errors: Natural
    rx_dropped: Natural
    tx_bytes: Natural
    tx_packets: Natural
    tx_errors: Natural
    tx_dropped: Natural


class LinkState(Form):
    """Whether an interface is up, and how often it lost its carrier."""

    is_up: bool = ABSENT
    carrier_losses: Natural = ABSENT


class Queue(Form):
    """A queueing discipline."""

    kind: str
    handle: str
    dropped: Natural
    waiting: Natural = ABSENT


class CountersAnswer(Form):
    """The counters of a node."""

    interfaces: dict[str, Interface]
    snmp: dict[str, dict[str, int]]
    links: dict[str, LinkState] = ABSENT
    queues: dict[str, list[Queue]] = ABSENT
    softirq_waiting: Natural = ABSENT
    emulated_waiting: Natural = ABSENT


class Slab(Form):
    """The memory of tracked connections, of the whole machine."""

    objects: Natural
    object_bytes: Natural


class TrackingAnswer(Form):
    """The connections that a node keeps track of; nothing where its kernel keeps track of none."""

    sessions: Natural = ABSENT
    most: Natural = ABSENT
    statistics: dict[str, Natural] = ABSENT
    slab: Slab = ABSENT
    forgotten: bool = ABSENT


class ForgottenAnswer(Form):
    """The number of exceptions to IPv6 routes that were forgotten."""

    ipv6: Natural


class Packet(Form):
    """A captured packet; `data` is hexadecimal."""

    wire_bytes: Annotated[int, Field(ge=0, lt=2**32)]
    data: Annotated[str, Field(pattern=r"^([0-9a-fA-F]{2})*$")]
    layers: list[AnyLayer]
    realtime_ns: Natural | None = None
    outgoing: bool = ABSENT


class CaptureAnswer(Form):
    """What a capture saw."""

    packets: list[Packet]
    matched: Natural
    dropped: Natural = ABSENT


class Drop(Form):
    """Packets that the kernel dropped at a place for a reason."""

    netns_inode: Natural
    side: str
    reason: str
    packets: Natural
    warmup: Natural
    measured: Natural
    sequences: Ranges
    untold: Natural
    device: str = ABSENT
    protocol: Natural = ABSENT


class PacketAnswer(Form):
    """What became of a packet in a mechanism; `packets` are hexadecimal."""

    fate: Literal["translated", "answered", "dropped", "waits"]
    reason: str
    section: str | None
    words: str
    packets: list[Annotated[str, Field(pattern=r"^([0-9a-f]{2})+$")]]


class DropsAnswer(Form):
    """All drops since they were asked for."""

    dropped: list[Drop]


class DeviceTimers(Form):
    """What the timers of a device's queueing disciplines did."""

    netns_inode: Natural
    device: str
    expired: Natural
    late: Natural
    worst_ns: Natural
    lost_ns: Natural


class TimersAnswer(Form):
    """The timers of all devices since they were asked for."""

    elapsed_ns: Natural
    devices: list[DeviceTimers]


class PerfAnswer(Form):
    """Cycles and instructions of the whole machine."""

    cycles: Natural
    instructions: Natural
    enabled_ns: Natural
    running_ns: Natural


class ServeAnswer(Form):
    """Where a server listens."""

    port: Annotated[int, Field(ge=0, lt=2**16)]
    cookie: bool = ABSENT


class ProgressAnswer(Form):
    """What has arrived at a session so far."""

    now_ns: Natural
    first_ns: Natural = ABSENT
    received_bytes: Natural = ABSENT


class TunnelAnswer(Form):
    """A tunnel's device."""

    ifindex: Natural
    overhead_bytes: Natural


class Count(Form):
    """Packets and their bytes."""

    packets: Natural
    bytes: Natural


class ProgramTime(Form):
    """How often a program ran, and for how long in all."""

    runs: Natural
    run_time_ns: Natural


class TunnelState(Form):
    """The counters of a tunnel's end."""

    encapsulated: Count
    decapsulated: Count
    slow_encapsulated: Count = ABSENT
    slow_decapsulated: Count = ABSENT
    slow: dict[str, Count] = ABSENT
    drops: dict[str, Count] = ABSENT
    programs: dict[str, ProgramTime] | None = None


class TunnelsAnswer(Form):
    """The counters of a node's tunnels, by device."""

    tunnels: dict[str, TunnelState]


class TranslatorAnswer(Form):
    """A translator's device."""

    ifindex: Natural


class TranslatorState(Form):
    """The counters of a translator."""

    to_ipv6: Count
    to_ipv4: Count
    slow: dict[str, Count]
    answered: dict[str, Count]
    drops: dict[str, Count]


class TranslatorsAnswer(Form):
    """The counters of a node's translators, by device."""

    translators: dict[str, TranslatorState]


class RouterAnswer(Form):
    """What a router said."""

    router: str
    prefixes: list[Mapping[str, Any]]


class DiscoveredPrefix(Form):
    """The prefix of a NAT64 that a node learned."""

    prefix: str
    others: list[str]
    by: str
    source: str
    asked: Natural
    took_ns: Natural


class BringUpAnswer(Form):
    """When a CLAT began to ask for its prefix, had it, and translated: times of the monotonic clock."""

    discovered: DiscoveredPrefix
    begun_ns: Natural
    discovered_ns: Natural
    configured_ns: Natural


class BrokerAnswer(Form):
    """Where a broker listens."""

    port: Natural


class DnsAnswer(Form):
    """What a resolver was asked, and what became of it."""

    udp: Natural
    tcp: Natural
    outcomes: dict[str, Natural]
    truncated: Natural
    ignored: dict[str, Natural]


class RelayedStreams(Form):
    """The connections of a relay."""

    open: Natural
    opened: Natural
    reset: Natural
    unreachable: Natural
    bytes_to_ipv4: Natural
    bytes_to_ipv6: Natural


class RelayedDatagrams(Form):
    """The datagrams of a relay."""

    open: Natural
    opened: Natural
    datagrams_to_ipv4: Natural
    datagrams_to_ipv6: Natural
    bytes_to_ipv4: Natural
    bytes_to_ipv6: Natural
    errors: Natural
    not_sent: Natural


class RelayAnswer(Form):
    """What a relay did."""

    tcp: RelayedStreams
    udp: RelayedDatagrams
    refused: dict[str, Natural]
    most: Natural


class LeaseAnswer(Form):
    """What a broker gave: an address, and the other end of the tunnel."""

    device: str
    address: str
    remote: str


class EmulatorRecord(Form):
    """What an emulated link did in one direction."""

    lost: Natural
    no_room: Natural
    send_errors: Natural
    socket_drops: Natural
    lateness: Histogram
    lost_sequences: Ranges = ABSENT
    lost_sequences_omitted: Natural = ABSENT


class EmulateAnswer(Form):
    """What an emulated link did in both directions."""

    forward: EmulatorRecord
    reverse: EmulatorRecord
