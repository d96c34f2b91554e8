"""Observations of agents about a trial, in the forms in which they answer (docs/protocol.md).

`agent` holds answers against these forms when they arrive. `bench` keeps them, and `bench.proof` judges by them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from .captured import AnyLayer, KeptPacket
from .form import ABSENT, Counts, Form, Natural, Positive, Ranges
from .result_form import Histogram


class InterfaceCounters(Form):
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

    @property
    def counts(self) -> dict[str, int]:
        """All of them by name, those too that only some kernels have."""
        return {**self.__dict__, **(self.__pydantic_extra__ or {})}


class InterfaceState(Form):
    """State of an interface, and the number of times that it lost its carrier."""

    is_up: bool = ABSENT
    carrier_losses: Natural = ABSENT


class QueueingDiscipline(Form):
    """A queueing discipline."""

    kind: str
    handle: str
    dropped: Natural
    waiting: Natural = ABSENT


class CountersAnswer(Form):
    """The counters of a node."""

    interfaces: dict[str, InterfaceCounters]
    snmp: dict[str, dict[str, int]]
    tcpext: dict[str, int] = ABSENT
    links: dict[str, InterfaceState] = ABSENT
    queues: dict[str, list[QueueingDiscipline]] = ABSENT
    softirq_waiting: Natural = ABSENT
    emulated_waiting: Natural = ABSENT


class LoopTimesAnswer(Form):
    """Time of a loop that keeps all units of a core busy."""

    median_ns: Positive
    least_ns: Positive


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
    forget_ns: Natural = ABSENT


class Packet(Form):
    """A captured packet; `data` is hexadecimal."""

    wire_bytes: Annotated[int, Field(ge=0, lt=2**32)]
    data: Annotated[str, Field(pattern=r"^([0-9a-fA-F]{2})*$")]
    layers: list[AnyLayer]
    realtime_ns: Natural | None = None
    outgoing: bool = ABSENT

    @property
    def kept(self) -> KeptPacket:
        """Its part of a record."""
        return KeptPacket(wire_bytes=self.wire_bytes, layers=tuple(self.layers))


class CaptureAnswer(Form):
    """Packets that a capture saw."""

    packets: list[Packet]
    matched: Natural
    dropped: Natural = ABSENT


class ConnectionLogs(Form):
    """Secrets of TLS and events of QUIC of a client's connections, as text."""

    tls_keys: Annotated[str, Field(max_length=2**20)]
    tls_keys_left_out_bytes: Natural
    qlog: Annotated[str, Field(max_length=2**23)] = ""
    qlog_left_out_bytes: Natural


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


class DropsAnswer(Form):
    """All drops since they were asked for."""

    dropped: list[Drop]


class DeviceTimers(Form):
    """Counts of the timers of a device's queueing disciplines."""

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


class WatchedProcessor(Form):
    """A processor that is kept awake, and how long it was busy so far."""

    processor: Natural
    busy_ns: Natural


class AwakeStarted(Form):
    """Time that processors may take to wake from now on; absent where that could not be set."""

    latency_ns: Natural = ABSENT


class AwakeAnswer(Form):
    """The processors that are kept awake."""

    clock_ns: Natural
    processors: list[WatchedProcessor]


class PacketCount(Form):
    """Packets and their bytes."""

    packets: Natural
    bytes: Natural


class ProgramTime(Form):
    """Number of runs of a program, and its total time."""

    runs: Natural
    run_time_ns: Natural


class TunnelState(Form):
    """The counters of a tunnel's end."""

    encapsulated: PacketCount
    decapsulated: PacketCount
    slow_encapsulated: PacketCount = ABSENT
    slow_decapsulated: PacketCount = ABSENT
    slow: dict[str, PacketCount] = ABSENT
    drops: dict[str, PacketCount] = ABSENT
    programs: dict[str, ProgramTime] | None = None


class TunnelsAnswer(Form):
    """The counters of a node's tunnels, by device."""

    tunnels: dict[str, TunnelState]


class TranslatorState(Form):
    """The counters of a translator."""

    to_ipv6: PacketCount
    to_ipv4: PacketCount
    slow: dict[str, PacketCount]
    answered: dict[str, PacketCount]
    drops: dict[str, PacketCount]
    waiting: PacketCount


class TranslatorsAnswer(Form):
    """The counters of a node's translators, by device."""

    translators: dict[str, TranslatorState]


class WithoutIpv4Answer(Form):
    """That a node can do without IPv4 on its link, and who told it."""

    server: str
    offered: str
    wait_s: Natural
    asked: Natural
    took_ns: Natural


class DiscoveredPrefixAnswer(Form):
    """The prefix of a NAT64 that a node learned, and what it was told before where it asked by DHCP."""

    prefix: str
    others: list[str]
    by: str
    source: str
    asked: Natural
    took_ns: Natural
    dhcp: WithoutIpv4Answer = ABSENT


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
    """Counts of a relay."""

    tcp: RelayedStreams
    udp: RelayedDatagrams
    refused: dict[str, Natural]
    most: Natural


class DeviceCountersAnswer(Form):
    """Resources that a device has used, and its end if it has ended."""

    cpu_ns: Natural = ABSENT
    peak_memory_bytes: Natural = ABSENT
    processes: Natural = ABSENT
    listening: list[str] = ABSENT
    ended: str = ABSENT
    log_bytes: Natural


class DeviceLogAnswer(Form):
    """Output of a device, and the number of its lost bytes."""

    text: str
    omitted_bytes: Natural


class EmulatorRecord(Form):
    """Counts of an emulated link in one direction."""

    lost: Natural
    no_room: Natural
    send_errors: Natural
    send_errors_by_code: Counts = ABSENT
    socket_drops: Natural
    lateness: Histogram
    packets: Natural = ABSENT
    control_packets: Natural = ABSENT
    duplicated: Natural = ABSENT
    corrupted: Natural = ABSENT
    overtaking: Natural = ABSENT
    late: Natural = ABSENT
    late_given_up: Natural = ABSENT
    user_timestamps: Natural = ABSENT
    delay: Histogram = ABSENT
    ipdv: Histogram = ABSENT
    lost_sequences: Ranges = ABSENT
    lost_sequences_omitted: Natural = ABSENT


class EmulateAnswer(Form):
    """Counts of an emulated link in both directions."""

    forward: EmulatorRecord
    reverse: EmulatorRecord

    @property
    def ways(self) -> tuple[EmulatorRecord, EmulatorRecord]:
        """Both, in the order of `model.emulation.WAYS`."""
        return self.forward, self.reverse
