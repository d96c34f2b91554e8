"""The protocol's requests, typed. See docs/protocol.md for what they mean.

A request cannot be sent with a field that it does not have, and an answer of another form than its request's is
noticed where it arrives, not where it is used.
"""

from __future__ import annotations

from typing import Any

from .device_under_test import DeviceCounters, DeviceLog, DeviceStart
from .devices import (
    TranslatorAdd,
    TranslatorBringUp,
    TranslatorCounters,
    TranslatorRemove,
    TunnelAdd,
    TunnelCounters,
    TunnelRemove,
)
from .links import EmulateAdd, EmulateChange, EmulateRecord, EmulateRemove, VlanBegin
from .node import ConnectionTracking, Counters, Cpu, Exec, ForgetPathMtu, Hello, PacketSend, Sysctl
from .request import Request
from .services import (
    BrokerRelease,
    BrokerRequest,
    BrokerStart,
    BrokerStop,
    DhcpAsk,
    DhcpServe,
    DnsCounters,
    DnsStart,
    DnsStop,
    MulticastForward,
    PrefixDiscover,
    RelayCounters,
    RelayStart,
    RelayStop,
    RouterAdvertise,
    RouterSolicit,
)
from .traffic import Cancel, Finish, Progress, Run, Serve
from .watching import (
    Awake,
    AwakeStart,
    CaptureStart,
    CaptureStop,
    DropsStart,
    DropsStop,
    PerfStart,
    PerfStop,
    TimersStart,
    TimersStop,
)

__all__ = [
    "REQUESTS",
    "Awake",
    "AwakeStart",
    "BrokerRelease",
    "BrokerRequest",
    "BrokerStart",
    "BrokerStop",
    "Cancel",
    "CaptureStart",
    "CaptureStop",
    "ConnectionTracking",
    "Counters",
    "Cpu",
    "DeviceCounters",
    "DeviceLog",
    "DeviceStart",
    "DnsCounters",
    "DnsStart",
    "DnsStop",
    "DropsStart",
    "DropsStop",
    "EmulateAdd",
    "EmulateChange",
    "EmulateRecord",
    "EmulateRemove",
    "Exec",
    "Finish",
    "ForgetPathMtu",
    "Hello",
    "MulticastForward",
    "PacketSend",
    "PerfStart",
    "PerfStop",
    "PrefixDiscover",
    "Progress",
    "RelayCounters",
    "RelayStart",
    "RelayStop",
    "Request",
    "RouterAdvertise",
    "RouterSolicit",
    "Run",
    "Serve",
    "Sysctl",
    "TimersStart",
    "TimersStop",
    "TranslatorAdd",
    "TranslatorBringUp",
    "TranslatorCounters",
    "TranslatorRemove",
    "TunnelAdd",
    "TunnelCounters",
    "TunnelRemove",
    "VlanBegin",
]

REQUESTS: dict[str, type[Request[Any]]] = {
    request.op: request
    for request in (
        *(Hello, Exec, Sysctl, Counters, ConnectionTracking, ForgetPathMtu, Cpu, PacketSend),
        *(CaptureStart, CaptureStop, DropsStart, DropsStop, TimersStart, TimersStop),
        *(PerfStart, PerfStop, AwakeStart, Awake),
        *(TunnelAdd, TunnelRemove, TunnelCounters),
        *(TranslatorAdd, TranslatorRemove, TranslatorCounters, TranslatorBringUp),
        *(MulticastForward, RouterAdvertise, RouterSolicit, PrefixDiscover, DhcpServe, DhcpAsk),
        *(BrokerStart, BrokerStop, BrokerRequest, BrokerRelease),
        *(DnsStart, DnsCounters, DnsStop, RelayStart, RelayCounters, RelayStop),
        *(DeviceStart, DeviceCounters, DeviceLog),
        *(EmulateAdd, EmulateChange, EmulateRecord, EmulateRemove, VlanBegin),
        *(Serve, Run, Progress, Finish, Cancel),
    )
}
