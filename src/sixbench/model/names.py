"""Names that people read, of workloads, metrics, levels and paths, in place of the names of columns and combinations.

Every text that a person reads takes its names from here. Output for programs keeps the names of columns
(`rtt_p50_ns`, `message_bytes`, `c0002`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .metric import METRICS
from .parameter import Scalar
from .units import format_size, scale
from .workloads import WORKLOADS

MISSING = "–"
"""The text in place of a value that is not known."""

_SUFFIXES = {"_bytes": "B", "_bps": "bit/s", "_ns": "ns", "_pps": "packets/s", "_per_s": "1/s"}
_ABBREVIATIONS = {"mtu", "mss", "tcp", "udp", "rtt", "cpu", "ip"}
_TIMES = ("rtt", "transaction_", "connect_", "one_way_delay_", "ipdv_", "pdv_", "tcp_")
"""Metrics whose label ends with a statistic."""

_PACKET_SIZES = {"mtu", "mss", "datagram", "payload", "frame"}
"""Sizes of packets, which nobody counts in KiB."""

PROTOCOLS = {
    "ethernet": "Ethernet",
    "vlan": "VLAN",
    "arp": "ARP",
    "ipv4": "IPv4",
    "ipv6": "IPv6",
    "tcp": "TCP",
    "udp": "UDP",
    "icmp": "ICMP",
    "icmpv6": "ICMPv6",
    "gre": "GRE",
    "gre-key": "GRE key",
    "vxlan": "VXLAN",
    "teredo": "Teredo",
    "464xlat": "464XLAT",
    "bih": "BIH",
    "ds-lite": "DS-Lite",
    "dstm": "DSTM",
    "isatap": "ISATAP",
    "map-e": "MAP-E",
    "map-t": "MAP-T",
    "nat-pt": "NAT-PT",
    "nat64": "NAT64",
    "siit": "SIIT",
    "siit-dc": "SIIT-DC",
    "trt": "TRT",
}
"""Headers, and mechanisms whose name an RFC writes in another form than experiments do."""


def workload_title(kind: str) -> str:
    """A workload's name for headings."""
    return WORKLOADS[kind].title if kind in WORKLOADS else kind


def workload_in_sentence(kind: str) -> str:
    """A workload's name in the middle of a sentence: `latency under load`, `TCP bulk transfer`."""
    title = workload_title(kind)
    is_proper_name = kind in WORKLOADS and WORKLOADS[kind].is_proper_name
    return title if is_proper_name or not title[1:2].islower() else title[:1].lower() + title[1:]


def protocol(kind: str) -> str:
    """The name of a header or a mechanism as its RFC writes it: `IPv6` for `ipv6`."""
    return PROTOCOLS.get(kind, kind)


def metric_label(name: str) -> str:
    """The metric for axes and tables, without its unit."""
    return METRICS[name].label if name in METRICS else name.replace("_", " ")


def metric_in_sentence(name: str) -> str:
    """The metric as the subject of a sentence: `goodput`, `median round-trip time`, `rate of transactions`."""
    label = {"transactions_rate": "Rate of transactions", "packets_rate": "Rate of datagrams"}.get(
        name, metric_label(name)
    )
    if label[1:2].islower():
        label = label[:1].lower() + label[1:]
    thing, comma, statistic = label.rpartition(", ")
    return f"{statistic} {thing}" if comma and name.startswith(_TIMES) else label


def level(column: str, value: Scalar | None) -> str:
    """A level with its unit, from the suffix of its column: `1 KiB`, `100 Mbit/s`, `5 ms`."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if column.endswith("_ratio"):
        return f"{100 * value:g} %"
    suffix = next((suffix for suffix in _SUFFIXES if f"_{column}".endswith(suffix)), None)
    if suffix == "_bytes":
        if any(word in _PACKET_SIZES for word in column.split("_")):
            return f"{value:g} B"
        return re.sub(r"(?<=\d)(?=[A-Za-z])", " ", format_size(value))
    if suffix is None:
        return f"{value:g}"
    scaled, name = scale(value, _SUFFIXES[suffix])
    return f"{scaled:g} {name}"


def factor(column: str) -> str:
    """A column without its unit, for people: `message` for `message_bytes`, `link MTU` for `link_mtu_bytes`."""
    suffix = next((suffix for suffix in (*_SUFFIXES, "_ratio") if column.endswith(suffix) and column != suffix), "")
    words = column.removesuffix(suffix).replace("_", " ").split()
    return " ".join(PROTOCOLS.get(word) or (word.upper() if word in _ABBREVIATIONS else word) for word in words)


def levels(values: Mapping[str, Scalar], columns: Iterable[str] | None = None) -> str:
    """Levels as a phrase: `message 1 KiB, link rate 100 Mbit/s`; only those of `columns` if given."""
    chosen = values if columns is None else [column for column in columns if column in values]
    return ", ".join(f"{factor(column)} {level(column, values[column])}" for column in chosen)


def subject(workload: str, metric: str, path: str, values: Mapping[str, Scalar]) -> str:
    """The thing that a value measures, in the middle of a sentence: `goodput of TCP bulk transfer over ipv6 at message
    64 KiB`."""
    at = levels(values)
    return f"{metric_in_sentence(metric)} of {workload_in_sentence(workload)} over {path}{f' at {at}' if at else ''}"
