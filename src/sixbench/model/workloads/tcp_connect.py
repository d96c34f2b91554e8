"""`tcp-connect`: how long a TCP connection takes to open."""

from __future__ import annotations

from ..quantity import FAILURES
from ..server import ServerUse
from .short_connections import kind_of

KIND = kind_of(
    name="tcp-connect",
    title="TCP connection",
    doc="Open a socket, connect, close: a given number at once, or a given number each second.",
    payload_bytes=0,
    headline=("connect_p50", "connect_p99", "transactions_rate", "cpu_busy"),
    metrics=("connect_mean", "connect_p50", "connect_p99", "transactions_rate", FAILURES),
    to_servers=ServerUse(parameters=("count", "timeout"), defaults={"count": 1}, first=1),
)
