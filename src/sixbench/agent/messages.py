"""The protocol's messages, typed. See docs/protocol.md for what they mean.

A request cannot be sent with a field that it does not have, and an answer of another form than its request's is
noticed where it arrives, not where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from ..model.form import Form
from ..model.result_form import CpuSample
from .answers import (
    AwakeAnswer,
    BringUpAnswer,
    BrokerAnswer,
    CaptureAnswer,
    CountersAnswer,
    DiscoveredPrefix,
    DnsAnswer,
    DropsAnswer,
    EmulateAnswer,
    ExecAnswer,
    ForgottenAnswer,
    HelloAnswer,
    LeaseAnswer,
    Nothing,
    PerfAnswer,
    ProgressAnswer,
    RelayAnswer,
    RouterAnswer,
    ServeAnswer,
    SysctlAnswer,
    TimersAnswer,
    TrackingAnswer,
    TranslatorAnswer,
    TranslatorsAnswer,
    TranslatorState,
    TunnelAnswer,
    TunnelsAnswer,
    check,
)
from .results import check_result

_HERE = {"here": True}
"""Marks a field that is not sent, because only the orchestrator needs it."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request. `answer` is the form of its `ok` object."""

    op: ClassVar[str]
    answer: ClassVar[type[Form]] = Nothing

    def to_json(self, request_id: int) -> dict[str, Any]:
        """The object that is one line; fields that are None are left out."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if "here" not in f.metadata}
        return {"id": request_id, "op": self.op} | {name: value for name, value in given.items() if value is not None}

    def check(self, answer: object) -> dict[str, Any]:
        """The `ok` object, checked against its form. Raises `AgentError` of code `agent-broken`."""
        check(self.answer, answer, self.op)
        assert isinstance(answer, dict), "the form has been found right"
        return answer


@dataclass(frozen=True, kw_only=True)
class Hello(Request):
    """The first request: the versions must agree."""

    op: ClassVar[str] = "hello"
    answer: ClassVar[type[Form]] = HelloAnswer
    protocol: int
    version: str


@dataclass(frozen=True, kw_only=True)
class Exec(Request):
    """A command in the node."""

    op: ClassVar[str] = "exec"
    answer: ClassVar[type[Form]] = ExecAnswer
    argv: list[str]
    stdin: str | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sysctl(Request):
    """Settings of the node, written and read."""

    op: ClassVar[str] = "sysctl"
    answer: ClassVar[type[Form]] = SysctlAnswer
    set: Mapping[str, str] | None = None
    get: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Counters(Request):
    """Counters of interfaces and protocols."""

    op: ClassVar[str] = "counters"
    answer: ClassVar[type[Form]] = CountersAnswer


@dataclass(frozen=True, kw_only=True)
class ConnectionTracking(Request):
    """The connections that the node keeps track of; `forget`: it forgets all of them first."""

    op: ClassVar[str] = "connection-tracking"
    answer: ClassVar[type[Form]] = TrackingAnswer
    forget: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ForgetPathMtu(Request):
    """The node forgets what ICMP told it of paths."""

    op: ClassVar[str] = "forget-path-mtu"
    answer: ClassVar[type[Form]] = ForgottenAnswer


@dataclass(frozen=True, kw_only=True)
class Cpu(Request):
    """A CPU sample."""

    op: ClassVar[str] = "cpu"
    answer: ClassVar[type[Form]] = CpuSample


@dataclass(frozen=True, kw_only=True)
class CaptureStart(Request):
    """Headers of packets on an interface."""

    op: ClassVar[str] = "capture-start"
    capture: str
    interface: str
    addresses: list[str]
    after_ns: int
    max_packets: int
    max_ns: int
    snaplen_bytes: int


@dataclass(frozen=True, kw_only=True)
class CaptureStop(Request):
    """The end of a capture, answered with its packets."""

    op: ClassVar[str] = "capture-stop"
    answer: ClassVar[type[Form]] = CaptureAnswer
    capture: str


@dataclass(frozen=True, kw_only=True)
class DropsStart(Request):
    """Begins to watch where the kernel drops packets in these namespaces, and which of the trial's packets."""

    op: ClassVar[str] = "drops-start"
    netns_inodes: Sequence[int]
    token: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class DropsStop(Request):
    """The end of watching, answered with the drops."""

    op: ClassVar[str] = "drops-stop"
    answer: ClassVar[type[Form]] = DropsAnswer


@dataclass(frozen=True, kw_only=True)
class TimersStart(Request):
    """Begins to watch the timers of the queueing disciplines of devices: `netns_inode`, `device`, `slack_ns`."""

    op: ClassVar[str] = "timers-start"
    devices: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class TimersStop(Request):
    """The end of watching, answered with how late they were."""

    op: ClassVar[str] = "timers-stop"
    answer: ClassVar[type[Form]] = TimersAnswer


@dataclass(frozen=True, kw_only=True)
class PerfStart(Request):
    """Begins to count the cycles and instructions of the whole machine."""

    op: ClassVar[str] = "perf-start"


@dataclass(frozen=True, kw_only=True)
class PerfStop(Request):
    """The end of counting, answered with the counts."""

    op: ClassVar[str] = "perf-stop"
    answer: ClassVar[type[Form]] = PerfAnswer


@dataclass(frozen=True, kw_only=True)
class AwakeStart(Request):
    """Processors that do not sleep from now on, until the agent ends."""

    op: ClassVar[str] = "awake-start"
    processors: list[int]


@dataclass(frozen=True, kw_only=True)
class Awake(Request):
    """How long each of them was busy."""

    op: ClassVar[str] = "awake"
    answer: ClassVar[type[Form]] = AwakeAnswer


@dataclass(frozen=True, kw_only=True)
class Serve(Request):
    """The serving side of a trial."""

    op: ClassVar[str] = "serve"
    answer: ClassVar[type[Form]] = ServeAnswer
    session: str
    workload: str
    address: str
    peer: str | None = None
    also: list[Mapping[str, str]] | None = None
    token: str = field(repr=False)
    params: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Run(Serve):
    """The client's side of a trial; answered with its result when it is over."""

    op: ClassVar[str] = "run"
    port: int
    cookie: bool | None = None

    def check(self, answer: object) -> dict[str, Any]:
        """The result, as of any request. Its form is that of the workload."""
        check_result(self.workload, "client", self.params, answer, f"run of {self.workload}")
        assert isinstance(answer, dict), "the form has been found right"
        return answer


@dataclass(frozen=True, kw_only=True)
class Finish(Request):
    """The end of a serving side; answered with its result.

    Attributes:
        workload, params: what was served; they are not sent, and give the result's form. Without a workload the result
            is not checked.
    """

    op: ClassVar[str] = "finish"
    session: str
    workload: str | None = field(default=None, metadata=_HERE)
    params: Mapping[str, Any] = field(default_factory=dict, metadata=_HERE)
    sent: int | None = None
    timeout_ns: int
    first_silence_ns: int | None = None

    def check(self, answer: object) -> dict[str, Any]:
        """The result, as of any request. Its form is that of the workload."""
        if self.workload is None:
            return super().check(answer)
        check_result(self.workload, "server", self.params, answer, f"finish of {self.workload}")
        assert isinstance(answer, dict), "the form has been found right"
        return answer


@dataclass(frozen=True, kw_only=True)
class Progress(Request):
    """What has arrived at a session so far."""

    op: ClassVar[str] = "progress"
    answer: ClassVar[type[Form]] = ProgressAnswer
    session: str


@dataclass(frozen=True, kw_only=True)
class Cancel(Request):
    """The early end of a session."""

    op: ClassVar[str] = "cancel"
    session: str


@dataclass(frozen=True, kw_only=True)
class TunnelAdd(Request):
    """A tunnel's end, carried by the node itself."""

    op: ClassVar[str] = "tunnel-add"
    answer: ClassVar[type[Form]] = TunnelAnswer
    device: str
    mtu_bytes: int
    outer: str
    payload: str
    local: str
    underlay: list[str]
    mapping: Mapping[str, Any]
    ttl: int | str | None = None
    tos: int | str | None = None
    ecn: bool | None = None
    pmtu: str | None = None
    df: str | None = None
    gre_key: int | None = None
    engine: str | None = None


@dataclass(frozen=True, kw_only=True)
class TunnelRemove(Request):
    """The end of a tunnel; answered with its last counters."""

    op: ClassVar[str] = "tunnel-remove"
    device: str


@dataclass(frozen=True, kw_only=True)
class TunnelCounters(Request):
    """What became of the packets of the node's tunnels."""

    op: ClassVar[str] = "tunnel-counters"
    answer: ClassVar[type[Form]] = TunnelsAnswer
    device: str | None = None
    run_time: str | None = None


@dataclass(frozen=True, kw_only=True)
class TranslatorAdd(Request):
    """A translator of the node."""

    op: ClassVar[str] = "translator-add"
    answer: ClassVar[type[Form]] = TranslatorAnswer
    device: str
    mtu_bytes: int
    mapping: Mapping[str, Any]
    through_node: bool | None = None
    engine: str | None = None


@dataclass(frozen=True, kw_only=True)
class TranslatorRemove(Request):
    """The end of a translator; answered with its last counters."""

    op: ClassVar[str] = "translator-remove"
    answer: ClassVar[type[Form]] = TranslatorState
    device: str


@dataclass(frozen=True, kw_only=True)
class TranslatorCounters(Request):
    """What became of the packets of the node's translators."""

    op: ClassVar[str] = "translator-counters"
    answer: ClassVar[type[Form]] = TranslatorsAnswer
    device: str | None = None


@dataclass(frozen=True, kw_only=True)
class TranslatorBringUp(Request):
    """What a CLAT does from the moment at which it has no prefix until it translates."""

    op: ClassVar[str] = "translator-bring-up"
    answer: ClassVar[type[Form]] = BringUpAnswer
    discovery: Mapping[str, Any]
    translator: Mapping[str, Any]
    ip: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class MulticastForward(Request):
    """IPv4 multicast from each of these interfaces to the others."""

    op: ClassVar[str] = "multicast-forward"
    interfaces: list[str]
    groups: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class RouterAdvertise(Request):
    """Answers to router solicitations."""

    op: ClassVar[str] = "router-advertise"
    device: str
    prefixes: list[Mapping[str, Any]]
    router_lifetime_s: int
    mtu_bytes: int | None = None
    hop_limit: int | None = None
    pref64: list[Mapping[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class RouterSolicit(Request):
    """A question to the routers on a device."""

    op: ClassVar[str] = "router-solicit"
    answer: ClassVar[type[Form]] = RouterAnswer
    device: str
    timeout_ns: int
    destination: str | None = None


@dataclass(frozen=True, kw_only=True)
class PrefixDiscover(Request):
    """The search for the prefix of a NAT64: `by` `ra` on a device, or `by` `dns64` of a resolver."""

    op: ClassVar[str] = "prefix-discover"
    answer: ClassVar[type[Form]] = DiscoveredPrefix
    by: str
    device: str | None = None
    resolver: str | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class BrokerStart(Request):
    """A tunnel broker in the node, which leases tunnels, or addresses alone."""

    op: ClassVar[str] = "broker-start"
    answer: ClassVar[type[Form]] = BrokerAnswer
    address: str
    clients: list[str]
    token: str = field(repr=False)
    lifetime_s: int
    max_clients: int
    pool: str | None = None
    tunnel: Mapping[str, Any] | None = None
    device_prefix: str | None = None
    addresses: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class BrokerStop(Request):
    """The end of the broker, with all its tunnels."""

    op: ClassVar[str] = "broker-stop"


@dataclass(frozen=True, kw_only=True)
class BrokerRelease(Request):
    """A tunnel that is given back."""

    op: ClassVar[str] = "broker-release"
    device: str
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class BrokerRequest(Request):
    """A tunnel that a broker is asked for, or an address alone."""

    op: ClassVar[str] = "broker-request"
    answer: ClassVar[type[Form]] = LeaseAnswer
    broker: str
    port: int
    token: str = field(repr=False)
    local: str
    device: str
    tunnel: Mapping[str, Any] | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class DnsStart(Request):
    """A resolver in the node, with DNS64 where there is a prefix."""

    op: ClassVar[str] = "dns-start"
    addresses: list[str]
    names: list[Mapping[str, Any]]
    prefix: str | None = None
    port: int | None = None
    excluded: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class DnsCounters(Request):
    """What a resolver was asked."""

    op: ClassVar[str] = "dns-counters"
    answer: ClassVar[type[Form]] = DnsAnswer


@dataclass(frozen=True, kw_only=True)
class DnsStop(Request):
    """The end of a resolver."""

    op: ClassVar[str] = "dns-stop"
    answer: ClassVar[type[Form]] = DnsAnswer


@dataclass(frozen=True, kw_only=True)
class RelayStart(Request):
    """A relay of TCP and UDP to IPv4 servers in the node."""

    op: ClassVar[str] = "relay-start"
    prefix: str
    port: int | None = None
    sessions: int | None = None
    udp_timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class RelayCounters(Request):
    """What a relay did."""

    op: ClassVar[str] = "relay-counters"
    answer: ClassVar[type[Form]] = RelayAnswer


@dataclass(frozen=True, kw_only=True)
class RelayStop(Request):
    """The end of a relay and of its sessions."""

    op: ClassVar[str] = "relay-stop"
    answer: ClassVar[type[Form]] = RelayAnswer


@dataclass(frozen=True, kw_only=True)
class EmulateAdd(Request):
    """Two interfaces that become the ends of a link with a known truth."""

    op: ClassVar[str] = "emulate-add"
    link: str
    interfaces: list[str]
    forward: Mapping[str, Any]
    reverse: Mapping[str, Any]
    frame_bytes: int
    held_bytes: int


@dataclass(frozen=True, kw_only=True)
class EmulateChange(Request):
    """Another truth, from the next packet on."""

    op: ClassVar[str] = "emulate-change"
    link: str
    forward: Mapping[str, Any]
    reverse: Mapping[str, Any]
    continues: bool = False


@dataclass(frozen=True, kw_only=True)
class EmulateRecord(Request):
    """What the emulator really did to the packets of a link."""

    op: ClassVar[str] = "emulate-record"
    answer: ClassVar[type[Form]] = EmulateAnswer
    link: str
    restart: bool | None = None
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class EmulateRemove(Request):
    """The end of an emulated link."""

    op: ClassVar[str] = "emulate-remove"
    answer: ClassVar[type[Form]] = EmulateAnswer
    link: str


REQUESTS: dict[str, type[Request]] = {
    request.op: request
    for request in (
        *(Hello, Exec, Sysctl, Counters, ConnectionTracking, ForgetPathMtu, Cpu, CaptureStart, CaptureStop),
        *(TunnelAdd, TunnelRemove, TunnelCounters),
        *(TranslatorAdd, TranslatorRemove, TranslatorCounters, TranslatorBringUp),
        *(MulticastForward, RouterAdvertise, RouterSolicit, PrefixDiscover),
        *(BrokerStart, BrokerStop, BrokerRequest, BrokerRelease),
        *(DnsStart, DnsCounters, DnsStop, RelayStart, RelayCounters, RelayStop),
        *(DropsStart, DropsStop, TimersStart, TimersStop, PerfStart, PerfStop, AwakeStart, Awake),
        *(EmulateAdd, EmulateChange, EmulateRecord, EmulateRemove),
        *(Serve, Run, Progress, Finish, Cancel),
    )
}
