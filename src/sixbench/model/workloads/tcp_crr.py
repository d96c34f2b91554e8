"""`tcp-crr`: the web client of the papers: connect, one byte there, one byte back, close."""

from __future__ import annotations

from .short_connections import kind_of

KIND = kind_of(
    name="tcp-crr",
    title="TCP connection, request and response",
    doc=(
        "Open a socket, connect, send one byte, get one byte back, close: a given number at once, or a given "
        "number each second."
    ),
    payload_bytes=1,
    headline=("transactions_rate", "transaction_p50", "connect_p50", "cpu_busy"),
    metrics=(
        "transactions_rate",
        *("transaction_mean", "transaction_p50", "transaction_p99"),
        *("connect_mean", "connect_p50", "connect_p99"),
    ),
)
