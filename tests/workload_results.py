"""Answers of agents in trials of each workload, and the values that follow from them."""

from __future__ import annotations

from typing import Any

from path_mtu_results import REPORTED

from sixbench.model.parameter import Params
from sixbench.model.workload import Traffic, TrialMeasurements
from sixbench.model.workloads import WORKLOADS

Result = dict[str, Any]

HISTOGRAM = {
    "unit": "ns",
    "count": 3,
    "min": 10,
    "max": 30,
    "mean": 20.5,
    "stdev": 8.2,
    "p50": 20,
    "p90": 30,
    "p99": 30,
    "p999": 30,
    "buckets": [[10, 1], [20, 1], [30, 1]],
}
EMPTY = {"unit": "ns", "count": 0, "buckets": []}


def summarise(kind: str, params: Params, client: Result, server: Result | None = None) -> TrialMeasurements:
    """Values of a workload by such results."""
    return WORKLOADS[kind].summarise(params, client, server or {})


def traffic(kind: str, params: Params, client: Result, server: Result | None = None) -> Traffic:
    """Traffic that must have crossed the wire by such results."""
    return WORKLOADS[kind].traffic(params, client, server or {})


STREAM_RECEIVER = {
    "received_bytes": 1100,
    "measured_bytes": 1000,
    "measured_ns": 8_000,
    "started_ns": 0,
    "ended_ns": 8_100,
    "reads": 5,
    "streams": [{"measured_bytes": 1000, "measured_ns": 8_000}],
    "series": {"t_ns": [1], "bytes": [1000]},
}
STREAM_SENDER = {
    "sent_bytes": 1200,
    "tcp_info": {"retransmits": 2, "segments_out": 100},
    "series": {"t_ns": [1, 2, 3], "rtt_ns": [100, None, 130]},
}


ECN = {"not_ect": 0, "ect0": 12, "ect1": 0, "ce": 0}
TLS_CLIENT = {
    "transactions": 3,
    "warmup_transactions": 1,
    "failed": {},
    "measured_ns": 9 * 10**6,
    "connect": HISTOGRAM,
    "handshake": HISTOGRAM,
    "transaction": HISTOGRAM,
    "first_byte": EMPTY,
    "handshake_sent_bytes": 900,
    "handshake_received_bytes": 6000,
    "sent_bytes": 1000,
    "received_bytes": 7000,
    "versions": {"TLSv1_3": 3},
    "ciphers": {"TLS13_AES_256_GCM_SHA384": 3},
    "kinds": {"full": 3},
}
QUIC_CLIENT = {
    "transactions": 3,
    "warmup_transactions": 1,
    "failed": {},
    "measured_ns": 9 * 10**6,
    "handshake": HISTOGRAM,
    "first_byte": HISTOGRAM,
    "sent_datagrams": 9,
    "received_datagrams": 12,
    "sent_bytes": 6000,
    "received_bytes": 9000,
    "sent_packets": 12,
    "lost_packets": 0,
    "ecn": ECN,
    "kinds": {"full": 3},
    "protocols": {"sixbench": 3},
}
HTTP_CLIENT = {
    "transactions": 3,
    "warmup_transactions": 1,
    "failed": {},
    "measured_ns": 9 * 10**6,
    "connect": HISTOGRAM,
    "handshake": HISTOGRAM,
    "first_byte": HISTOGRAM,
    "object": HISTOGRAM,
    "page": HISTOGRAM,
    "connections": 6,
    "requests": 15,
    "body_bytes": 15 * 1000,
    "sent_bytes": 3000,
    "received_bytes": 30000,
    "protocols": {"http/1.1": 15},
    "versions": {"TLSv1_3": 15},
    "ciphers": {"TLS13_AES_256_GCM_SHA384": 15},
}
HTTP_SERVER = {"requests": 20, "connections": 8, "failed": 0}
QUIC_SERVER = {
    "transactions": 3,
    "connections": 3,
    "failed": 0,
    "retries": 0,
    "sent_bytes": 9100,
    "received_bytes": 6100,
    "ecn": ECN,
}
DNS_CLIENT = {
    "transactions": 3,
    "warmup_transactions": 1,
    "failed": {},
    "measured_ns": 9 * 10**6,
    "session": HISTOGRAM,
    "response": HISTOGRAM,
    "transaction": HISTOGRAM,
    "sent_bytes": 1200,
    "received_bytes": 6000,
    "retries": 0,
    "truncated": 0,
    "protocols": {"dot": 3},
    "versions": {"TLSv1_3": 3},
    "ciphers": {"TLS13_AES_256_GCM_SHA384": 3},
}
DNS_SERVER = {"transactions": 4, "truncated": 0, "connections": 4, "failed": 0}
QUIC_SENDER = {
    "handshake_ns": 10**6,
    "measured_ns": 10**9,
    "sent_bytes": 3000,
    "quic": {
        "sent_packets": 200,
        "lost_packets": 3,
        "lost_bytes": 3600,
        "congestion_events": 1,
        "probes": 9,
        "lost_probes": 2,
        "black_holes": 0,
        "sent_datagrams": 200,
        "sent_datagram_bytes": 250_000,
        "received_datagrams": 60,
        "received_datagram_bytes": 4000,
        "rtt_ns": 10**6,
        "min_rtt_ns": 10**6,
        "cwnd_bytes": 24_000,
    },
    "datagram_bytes": 1452,
    "datagram_changes": [{"t_ns": 5, "datagram_bytes": 1336}, {"t_ns": 30, "datagram_bytes": 1452}],
    "datagram_settled_ns": 50,
    "ecn": ECN,
}
QUIC_RECEIVER = {
    "measured_ns": 10**6,
    "measured_bytes": 1000,
    "received_bytes": 2000,
    "received_datagrams": 190,
    "received_datagram_bytes": 240_000,
    "reads": 80,
    "connections": 1,
    "failed": 0,
    "ecn": ECN,
}
UDP_CLIENT = {"sent": 100, "sent_bytes": 10_000, "measured_ns": 99_000, "lateness": HISTOGRAM}
UDP_SERVER = {
    "received": 98,
    "unique": 97,
    "duplicates": 1,
    "reordered": 2,
    "lost_middle": 2,
    "lost_tail": 1,
    "unique_bytes": 9700,
    "measured_bytes": 9600,
    "measured_ns": 96_000,
    "one_way_delay": HISTOGRAM,
    "ipdv": HISTOGRAM,
    "pdv": EMPTY,
    "jitter_rfc3550_ns": 7,
    "socket_drops": 1,
}
DATAGRAMS = {"datagram_bytes": 100}


CALL = UDP_SERVER | {"pdv": HISTOGRAM, "one_way_delay_negative": 0}


RR_CLIENT = {"transactions": 1000, "lost": 0, "measured_ns": 2_000_000_000, "rtt": HISTOGRAM, "rtt_jitter": HISTOGRAM}


CONNECTIONS = {"transactions": 10, "measured_ns": 10**9, "connect": HISTOGRAM, "failed": {"timeout": 2, "refused": 0}}


PING = {"sent": 10, "received": 8, "lost": 2, "rtt": HISTOGRAM, "rtt_jitter": EMPTY}


REFUSED = {"refused": 0, "errors": {}}


OF_FAMILY = {"wins": 5, "begun": 10, "failed": {}, "alone": {"connect": HISTOGRAM, "failed": {}}}
RACED = {"races": 10, "connect": HISTOGRAM, "failed": {}, "ipv4": OF_FAMILY, "ipv6": OF_FAMILY}
HELD = {
    "attempts": 3,
    "established": 3,
    "failed": {},
    "alive": 3,
    "lost": {},
    "connect": HISTOGRAM,
    "check": HISTOGRAM,
    "establishing_ns": 10**6,
}
BROUGHT_UP = {
    "clat": {"begun_ns": 100, "discovered_ns": 400, "configured_ns": 900, "discovered": {"asked": 1}},
    "probe": {
        "began_ns": 50,
        "sent": 9,
        "refused": {},
        "errors": {},
        "answered": {"number": 8, "sent_ns": 950, "received_ns": 1100},
    },
}
STREAMS_OF_CLIENT = {"forward_sender": STREAM_SENDER, "reverse_receiver": STREAM_RECEIVER}
STREAMS_OF_SERVER = {"forward_receiver": STREAM_RECEIVER, "reverse_sender": STREAM_SENDER}
FLOWS_RECEIVER = STREAM_RECEIVER | {"streams": [{"measured_bytes": 1000, "measured_ns": 10**9}]}
GOOD: dict[str, tuple[Params, Result, Result]] = {
    "tcp-stream": ({}, {"forward_sender": STREAM_SENDER}, {"forward_receiver": STREAM_RECEIVER}),
    "udp-stream": (DATAGRAMS, UDP_CLIENT, UDP_SERVER),
    "frames": (
        {"frame_bytes": 64, "rate_pps": 1000, "count": 10},
        {
            "sent": 10,
            "sent_bytes": 640,
            "due": 10,
            "measured_ns": 9 * 10**6,
            "lateness": HISTOGRAM,
            "inter_frame_error": HISTOGRAM,
        },
        UDP_SERVER | {"unique": 10, "lost_middle": 0, "lost_tail": 0, "corrupt": 0, "late": 0, "ring_drops": 0},
    ),
    "tcp-rr": ({}, RR_CLIENT, {}),
    "udp-rr": ({}, RR_CLIENT, {}),
    "tcp-connect": ({}, CONNECTIONS, {}),
    "tcp-crr": ({}, CONNECTIONS | {"transaction": HISTOGRAM}, {}),
    "connections": ({}, HELD, {"accepted": 3, "answered": 3}),
    "tls": ({}, TLS_CLIENT, {"transactions": 3, "early": 0, "failed": 0}),
    "quic-connect": ({}, QUIC_CLIENT, QUIC_SERVER),
    "quic-stream": ({}, QUIC_SENDER, QUIC_RECEIVER),
    "http": ({}, HTTP_CLIENT, HTTP_SERVER),
    "dns": ({"over": "tls"}, DNS_CLIENT, DNS_SERVER),
    "dns64": (
        {"rate_per_s": 1000, "duration_ns": 10**7},
        {
            "sent": 10,
            "due": 10,
            "right": 7,
            "wrong": 1,
            "late": 1,
            "failed": {"SERVFAIL": 1},
            "measured_ns": 9 * 10**6,
            "lateness": HISTOGRAM,
            "response": HISTOGRAM,
        },
        {"asked": 10, "answered": 10},
    ),
    "ping": ({}, PING, {}),
    "bring-up": ({}, {"repetitions": [BROUGHT_UP]}, {}),
    "voip": ({}, UDP_CLIENT | {"scheduled_ns": 99_000}, UDP_SERVER | {"pdv": HISTOGRAM, "one_way_delay_negative": 0}),
    "pmtu": ({}, {"forward": REPORTED, "received_bytes": 1}, {"reverse": REPORTED, "received_bytes": 1}),
    "compete": (
        {},
        {"parts": {family: {"forward_sender": STREAM_SENDER} for family in ("ipv4", "ipv6")}},
        {"parts": {family: {"forward_receiver": FLOWS_RECEIVER} for family in ("ipv4", "ipv6")}},
    ),
    "happy-eyeballs": ({}, RACED, {"accepted_by_family": {"ipv4": 10, "ipv6": 10}}),
    "latency-under-load": (
        {},
        {"parts": {"idle": PING, "loaded": PING, "load": STREAMS_OF_CLIENT}},
        {"parts": {"idle": {}, "loaded": {}, "load": STREAMS_OF_SERVER}},
    ),
}
