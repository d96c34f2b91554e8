"""The protocol's requests, typed. See docs/protocol.md for what they mean.

A request cannot be sent with a field that it does not have, and an answer of another form than its request's is
noticed where it arrives, not where it is used.
"""

from .device_under_test import DeviceCounters, DeviceLog, DeviceStart
from .devices import (
    TranslatorAdd,
    TranslatorBringUp,
    TranslatorCountersRequest,
    TranslatorRemove,
    TunnelAdd,
    TunnelCountersRequest,
    TunnelRemove,
)
from .links import EmulateAdd, EmulateChange, EmulateRecord, EmulateRemove, VlanBegin
from .node import (
    ConnectionTracking,
    Counters,
    Cpu,
    Exec,
    ForgetPathMtu,
    Hello,
    LoopTimes,
    PacketSend,
    PlaceRequest,
    Sysctl,
)
from .request import REQUESTS, Request
from .servers import (
    ApplicationRequest,
    HopsRequest,
    PathMtuRequest,
    PingRequest,
    ResolveRequest,
    TcpConnectRequest,
    VantageRequest,
)
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
    RelayCountersRequest,
    RelayStart,
    RelayStop,
    RouterAdvertise,
    RouterSolicit,
)
from .traffic import Cancel, ClientRunRequest, Finish, ProgressRequest, Serve
from .watching import (
    Awake,
    AwakeStart,
    CaptureStart,
    CaptureStop,
    ConnectionLogsStart,
    ConnectionLogsStop,
    DropsStart,
    DropsStop,
    PerfStart,
    PerfStop,
    TimersStart,
    TimersStop,
)
