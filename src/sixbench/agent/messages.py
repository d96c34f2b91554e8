"""The protocol's messages, typed. See docs/protocol.md for what they mean.

A request cannot be sent with a field that it does not have, and an answer that lacks a field is noticed where it
arrives, not where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from ..model.errors import AgentError


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request. `answer` names the fields that its `ok` object must have, with their types."""

    op: ClassVar[str]
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {}

    def to_json(self, request_id: int) -> dict[str, Any]:
        """The object that is one line; fields that are None are left out."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"id": request_id, "op": self.op} | {name: value for name, value in given.items() if value is not None}

    def check(self, answer: object) -> dict[str, Any]:
        """The `ok` object, once it is found to be of the right form. Raises `AgentError` of code `agent-broken`."""
        if not isinstance(answer, dict):
            raise AgentError("agent-broken", f"{self.op} was answered with what is no object")
        for name, kind in self.answer.items():
            if name not in answer:
                raise AgentError("agent-broken", f"{self.op} was answered without {name}")
            if not isinstance(answer[name], kind):
                raise AgentError(
                    "agent-broken", f"{self.op} was answered with {name} of type {type(answer[name]).__name__}"
                )
        return answer


@dataclass(frozen=True, kw_only=True)
class Hello(Request):
    """The first request: the versions must agree."""

    op: ClassVar[str] = "hello"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"protocol": int, "version": str, "pid": int}
    protocol: int
    version: str


@dataclass(frozen=True, kw_only=True)
class Exec(Request):
    """A command in the node."""

    op: ClassVar[str] = "exec"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"exit": int, "stdout": str, "stderr": str}
    argv: list[str]
    stdin: str | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sysctl(Request):
    """Settings of the node, written and read."""

    op: ClassVar[str] = "sysctl"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"values": dict}
    set: Mapping[str, str] | None = None
    get: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Counters(Request):
    """Counters of interfaces and protocols."""

    op: ClassVar[str] = "counters"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"interfaces": dict, "snmp": dict}


@dataclass(frozen=True, kw_only=True)
class Cpu(Request):
    """A CPU sample."""

    op: ClassVar[str] = "cpu"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"clock_ns": int, "realtime_ns": int, "cores": list}


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
    """What was captured."""

    op: ClassVar[str] = "capture-stop"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"packets": list, "matched": int}
    capture: str


@dataclass(frozen=True, kw_only=True)
class DropsStart(Request):
    """Watches from now on where the kernel drops packets in these namespaces, and which of the trial's."""

    op: ClassVar[str] = "drops-start"
    netns_inodes: Sequence[int]
    token: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class DropsStop(Request):
    """What was dropped."""

    op: ClassVar[str] = "drops-stop"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"dropped": list}


@dataclass(frozen=True, kw_only=True)
class PerfStart(Request):
    """Counts the cycles and instructions of the whole machine from now on."""

    op: ClassVar[str] = "perf-start"


@dataclass(frozen=True, kw_only=True)
class PerfStop(Request):
    """How many there were."""

    op: ClassVar[str] = "perf-stop"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {
        "cycles": int,
        "instructions": int,
        "enabled_ns": int,
        "running_ns": int,
    }


@dataclass(frozen=True, kw_only=True)
class Serve(Request):
    """The serving side of a trial."""

    op: ClassVar[str] = "serve"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"port": int}
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
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {}
    port: int
    cookie: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Finish(Request):
    """The end of a serving side; answered with its result."""

    op: ClassVar[str] = "finish"
    session: str
    sent: int | None = None
    timeout_ns: int
    first_silence_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Progress(Request):
    """What has arrived at a session so far."""

    op: ClassVar[str] = "progress"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"now_ns": int}
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
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"ifindex": int, "overhead_bytes": int}
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
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"tunnels": dict}
    device: str | None = None
    run_time: str | None = None


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


@dataclass(frozen=True, kw_only=True)
class RouterSolicit(Request):
    """A question to the routers on a device."""

    op: ClassVar[str] = "router-solicit"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"router": str, "prefixes": list}
    device: str
    timeout_ns: int
    destination: str | None = None


@dataclass(frozen=True, kw_only=True)
class BrokerStart(Request):
    """A tunnel broker in the node."""

    op: ClassVar[str] = "broker-start"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"port": int}
    address: str
    clients: list[str]
    token: str = field(repr=False)
    pool: str
    tunnel: Mapping[str, Any]
    device_prefix: str
    lifetime_s: int
    max_clients: int


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
    """A tunnel that a broker is asked for."""

    op: ClassVar[str] = "broker-request"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"device": str, "address": str}
    broker: str
    port: int
    token: str = field(repr=False)
    local: str
    device: str
    tunnel: Mapping[str, Any]
    timeout_ns: int | None = None


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
    """What was really done to the packets of a link."""

    op: ClassVar[str] = "emulate-record"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"forward": dict, "reverse": dict}
    link: str
    restart: bool | None = None
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class EmulateRemove(Request):
    """The end of an emulated link."""

    op: ClassVar[str] = "emulate-remove"
    answer: ClassVar[dict[str, type | tuple[type, ...]]] = {"forward": dict, "reverse": dict}
    link: str


REQUESTS: dict[str, type[Request]] = {
    request.op: request
    for request in (
        *(Hello, Exec, Sysctl, Counters, Cpu, CaptureStart, CaptureStop),
        *(TunnelAdd, TunnelRemove, TunnelCounters),
        *(MulticastForward, RouterAdvertise, RouterSolicit),
        *(BrokerStart, BrokerStop, BrokerRequest, BrokerRelease),
        *(DropsStart, DropsStop, PerfStart, PerfStop),
        *(EmulateAdd, EmulateChange, EmulateRecord, EmulateRemove),
        *(Serve, Run, Progress, Finish, Cancel),
    )
}
