"""The clocks of a trial's two ends, by an exchange over the trial's own path, between their agents.

Datagrams go both ways at the same time, in a session of `udp-stream` like that of any trial: the sender writes its time
into each, and the receiver's kernel notes when it came (docs/protocol.md). So it is as wide as the least round trip of
the path, and no connection of control has a part in it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...model.errors import CapabilityError
from ...model.parameter import Scalar
from ...model.workload import Part
from ...model.workloads import udp_stream
from ..parts import ALONE, Hosts, run_parts

if TYPE_CHECKING:
    from ...stats.two_clocks import Exchange, Flow

DATAGRAMS = 60
"""Number of datagrams each way. The fastest of so many is near the fastest that there is."""

EXCHANGE: Mapping[str, Scalar] = {
    "datagram_bytes": 64,
    "rate_pps": 1000,
    "count": DATAGRAMS,
    "direction": "both",
    "packet_log": True,
}
"""At 1000 a second each finds the path empty, unless that is slower than 1 Mbit/s."""


def read_link(hosts: Hosts, key: str) -> tuple[Exchange, int]:
    """Datagrams that arrived, and their arrival times by this machine. Raises `CapabilityError` where nothing came one
    way, and `AgentError`.

    Args:
        key: the name of the session.
    """
    from ...stats.two_clocks import Exchange

    part = Part(name=ALONE, workload=udp_stream.KIND.name, params=dict(EXCHANGE))
    client, server = run_parts([part], hosts, key, secrets.token_hex(16), lambda running: None)
    exchange = Exchange(
        there=flow_of(client["forward_sender"], server["forward_receiver"]),
        back=flow_of(server["reverse_sender"], client["reverse_receiver"]),
    )
    if not (len(exchange.there.sent_ns) and len(exchange.back.sent_ns)):
        raise CapabilityError("no datagram of the clock measurement arrived in one direction")
    return exchange, time.time_ns()


def flow_of(sender: Mapping[str, Any], receiver: Mapping[str, Any]) -> Flow:
    """The datagrams that arrived, by the packet logs of both ends. Raises `CapabilityError` where these are not
    whole."""
    from ...stats.two_clocks import matched
    from ...store.packet_columns import packet_column

    sent, arrived = sender["packet_log"], receiver["packet_log"]
    if sent["omitted"] or arrived["omitted"]:
        raise CapabilityError("the flow has more datagrams than agents note")
    return matched(
        packet_column(sent, "sent_realtime_ns", "<u8"),
        packet_column(arrived, "sequence", "<u4"),
        packet_column(arrived, "received_realtime_ns", "<u8"),
    )
