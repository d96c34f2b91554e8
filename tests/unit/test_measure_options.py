"""iperf3's options as workloads."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.model.errors import UsageError
from sixbench.model.parameter import Scalar
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.measure_options import MeasureOptions, read_rate, read_seconds, workload_of_options

pytestmark = pytest.mark.computes

TCP = {"duration_ns": 10 * 10**9, "warmup_ns": 500_000_000, "interval_ns": 10**9}
UDP = TCP | {"datagram_bytes": 1400, "rate_bps": 10**6}
APPLICATION = {"duration_ns": 10 * 10**9, "warmup_ns": 50_000_000}


def params(**options: Any) -> dict[str, Scalar]:
    return workload_of_options(MeasureOptions(**options), (4,)).params


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, TCP),
        ({"time": "5"}, TCP | {"duration_ns": 5 * 10**9}),
        ({"time": "2.5"}, TCP | {"duration_ns": 2_500_000_000}),
        ({"time": "800ms"}, TCP | {"duration_ns": 800_000_000}),
        ({"interval": "0.5"}, TCP | {"interval_ns": 500_000_000}),
        ({"interval": "0"}, TCP),
        ({"omit": "0"}, TCP | {"warmup_ns": 0}),
        ({"parallel": 4}, TCP | {"streams": 4}),
        ({"reverse": True}, TCP | {"direction": "reverse"}),
        ({"bidir": True}, TCP | {"direction": "both"}),
        ({"length": "8K"}, TCP | {"message_bytes": 8192}),
        ({"length": "1.5m"}, TCP | {"message_bytes": 1_572_864}),
        ({"length": "8kB"}, TCP | {"message_bytes": 8000}),
        ({"bytes": "1G"}, {"bytes": 2**30, "interval_ns": 10**9}),
        ({"window": "256K"}, TCP | {"sndbuf_bytes": 262_144, "rcvbuf_bytes": 262_144}),
        ({"mss": "1400"}, TCP | {"mss_bytes": 1400}),
        ({"congestion": "reno", "nodelay": True}, TCP | {"congestion": "reno", "nodelay": True}),
        ({"zerocopy": True, "skip_rx_copy": True}, TCP | {"send": "zerocopy", "receive": "truncate"}),
        ({"udp": True}, UDP),
        ({"udp": True, "reverse": True}, UDP | {"direction": "reverse"}),
        ({"udp": True, "bitrate": "100M"}, UDP | {"rate_bps": 100 * 10**6}),
        ({"udp": True, "bitrate": "1.5g"}, UDP | {"rate_bps": 1_500_000_000}),
        ({"udp": True, "bitrate": "20Mbit"}, UDP | {"rate_bps": 20 * 10**6}),
        (
            {"udp": True, "bitrate": "2000pps", "length": "200"},
            TCP | {"datagram_bytes": 200, "rate_pps": 2000},
        ),
        ({"udp": True, "bitrate": "0"}, TCP | {"datagram_bytes": 1400}),
        (
            {"udp": True, "blockcount": 1000},
            {"datagram_bytes": 1400, "rate_bps": 10**6, "count": 1000, "interval_ns": 10**9},
        ),
        ({"pmtu": True}, {}),
        ({"pmtu": True, "settings": ("transfer=1MiB",)}, {"transfer_bytes": 2**20}),
        ({"workload": "tcp-rr", "length": "1K"}, TCP | {"message_bytes": 1024, "warmup_ns": 50_000_000}),
        (
            {"workload": "ping", "interval": "0.2", "length": "100"},
            {"duration_ns": 10 * 10**9, "warmup_ns": 50_000_000, "interval_ns": 200_000_000, "payload_bytes": 100},
        ),
        (
            {"workload": "http", "settings": ("version=3", "objects=60"), "length": "30K", "parallel": 10},
            APPLICATION | {"version": "3", "objects": 60, "object_bytes": 30_720, "parallel": 10},
        ),
        (
            {"workload": "http", "settings": ("version=1.1", "tls=none", "connection=kept"), "blockcount": 9},
            {"version": "1.1", "tls": "none", "connection": "kept", "count": 9},
        ),
        (
            {"workload": "dns", "settings": ("over=tls", "in-flight=4"), "time": "5"},
            APPLICATION | {"over": "tls", "in_flight": 4, "duration_ns": 5 * 10**9},
        ),
        ({"workload": "tls", "settings": ("session=resumed",)}, APPLICATION | {"session": "resumed"}),
        ({"workload": "quic-connect", "settings": ("session=0-rtt",)}, APPLICATION | {"session": "0-rtt"}),
        (
            {"workload": "quic-stream", "bytes": "1M", "congestion": "bbr", "window": "1M"},
            {"bytes": 2**20, "congestion": "bbr", "sndbuf_bytes": 2**20, "rcvbuf_bytes": 2**20, "interval_ns": 10**9},
        ),
        (
            {"udp": True, "settings": ("df=set", "rate=50pps")},
            TCP | {"datagram_bytes": 1400, "df": "set", "rate_pps": 50},
        ),
    ],
)
def test_options(options: dict[str, Any], expected: dict[str, Scalar]) -> None:
    assert params(**options) == expected


def test_trials_that_are_compared_are_short() -> None:
    assert workload_of_options(MeasureOptions(), (4, 6)).params["duration_ns"] == 2 * 10**9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time": "0"}, "-t: .* too small"),
        ({"time": "5K"}, "-t: .*5K"),
        ({"time": "-1"}, "-t: "),
        ({"bitrate": "10X", "udp": True}, "-b: .* unknown unit"),
        ({"bitrate": "10M"}, "-b: tcp-stream has no rate"),
        ({"length": "10", "udp": True}, "10 bytes are too few"),
        ({"length": "65508", "udp": True}, "do not fit in a UDP datagram"),
        ({"length": "9" * 50}, "-l: "),
        ({"parallel": 0}, "-P: 0 is too small"),
        ({"parallel": 4, "workload": "tcp-rr"}, "-P: tcp-rr has no streams"),
        ({"mss": "1400", "udp": True}, "-M: udp-stream has no mss"),
        ({"reverse": True, "bidir": True}, "-R and --bidir exclude each other"),
        ({"udp": True, "pmtu": True}, "-u and --pmtu ask for different workloads"),
        ({"workload": "tcp-rrr"}, 'did you mean "tcp-rr"'),
        ({"time": "5", "pmtu": True}, "-t: pmtu has no duration"),
        ({"time": "5", "bytes": "1M"}, "-t and -n exclude each other"),
        ({"settings": ("streams",)}, "write it as name=value"),
        ({"settings": ("stream=4",)}, 'has no "stream"; did you mean "streams"'),
        ({"settings": ("streams=[4",)}, "--set"),
        ({"settings": ("streams=4",), "parallel": 4}, "streams is given twice"),
        ({"udp": True, "settings": ("trace=a.pcap",)}, "trace is a file"),
        ({"workload": "http", "settings": ("page=a.har",)}, "page is a file, and only experiments can name files"),
        ({"workload": "dns", "settings": ("server=unbound",)}, "server is a program in a node, which only experiments"),
        ({"workload": "http", "settings": ("version=3", "tls=none")}, "HTTP/3 has no form without TLS"),
        ({"workload": "dns", "parallel": 4}, "-P: dns has no streams"),
        ({"workload": "tls", "reverse": True}, "-R: tls has no direction"),
        ({"udp": True, "settings": ("df=maybe",)}, "is not one of"),
        ({"time": "86400", "interval": "0.001"}, "a series of 86400000 intervals is too long"),
    ],
)
def test_an_option_that_cannot_be_obeyed_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        params(**options)


MEASURED = [name for name, kind in WORKLOADS.items() if kind.needs_network is None]


def test_every_workload_of_one_flow_of_one_family_can_be_named() -> None:
    streams, answers = ("tcp-stream", "udp-stream"), ("tcp-rr", "udp-rr", "tcp-connect", "tcp-crr")
    applications = ("tls", "quic-connect", "quic-stream", "http", "dns")
    assert {*streams, *answers, *applications, "connections", "ping", "pmtu"} == set(MEASURED)
    assert [workload_of_options(MeasureOptions(workload=name), (4, 6)).kind for name in MEASURED] == MEASURED


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in MEASURED])
def test_any_other_workload_is_refused_with_what_to_use(name: str) -> None:
    with pytest.raises(UsageError, match=rf"^--workload {name} needs .*; only experiments have it, and `sixbench new`"):
        workload_of_options(MeasureOptions(workload=name), (4, 6))


def test_a_workload_that_measure_cannot_do_names_the_options_that_come_nearest() -> None:
    for name, words in {
        "voip": "Here, -u measures loss, jitter and IPDV",
        "happy-eyeballs": "Here, -46 --workload tcp-connect",
    }.items():
        with pytest.raises(UsageError, match=words):
            workload_of_options(MeasureOptions(workload=name), (4,))


@pytest.mark.parametrize("setting", ["gaps=exponential", "sizes=uniform", "on-off=exponential"])
def test_a_flow_that_no_server_takes_is_refused_before_it_is_asked(setting: str) -> None:
    with pytest.raises(UsageError, match="a server takes only equal datagrams at equal distances"):
        workload_of_options(MeasureOptions(udp=True, settings=(setting,)), (4,))


@pytest.mark.parametrize(("name", "setting"), [("quic-stream", "migrate=true"), ("tcp-stream", "reconnect=true")])
def test_a_client_that_moves_is_refused(name: str, setting: str) -> None:
    words = rf"^--set {setting.partition('=')[0]}: only in an experiment a client loses its address"
    with pytest.raises(UsageError, match=words):
        workload_of_options(MeasureOptions(workload=name, settings=(setting,)), (4,))


def test_options_of_a_server() -> None:
    assert read_rate("--max-rate", "2G") == 2 * 10**9
    assert read_rate("--max-rate", "100Mbit") == 10**8
    assert read_seconds("--max-duration", "60") == 60
    assert read_seconds("--max-duration", "1500ms") == 2
    with pytest.raises(UsageError, match="--max-duration"):
        read_seconds("--max-duration", "soon")
