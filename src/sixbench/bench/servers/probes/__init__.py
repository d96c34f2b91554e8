"""Workloads towards servers of others: one file each, and this list of them."""

from __future__ import annotations

from collections.abc import Mapping

from .applications import HTTP, QUIC_CONNECT, TLS
from .dns import DNS
from .ping import PING
from .prober import Prober
from .tcp_connect import TCP_CONNECT

PROBERS: Mapping[str, Prober] = {
    prober.workload: prober for prober in (DNS, PING, TCP_CONNECT, TLS, QUIC_CONNECT, HTTP)
}
