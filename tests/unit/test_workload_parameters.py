"""Parameters of workloads: what they take, and which go together."""

from __future__ import annotations

import re

import pytest

from sixbench.model.parameter import Params
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes

FOUR_SIX = frozenset({4, 6})
DATAGRAMS = {"datagram_bytes": 100}


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("tcp-stream", {"duration_ns": 1}, None),
        ("tcp-stream", {"bytes": 1}, None),
        ("tcp-stream", {}, "give one of duration or bytes"),
        ("tcp-stream", {"duration_ns": 1, "bytes": 1}, "give one of duration or bytes, not 2"),
        ("tcp-stream", {"bytes": 1, "warmup_ns": 1}, "a transfer of a number of bytes has no warm-up"),
        ("tcp-stream", {"bytes": 1, "warmup_ns": 0}, None),
        ("udp-stream", {"duration_ns": 1}, "datagram is missing: the size of the UDP payload, such as 1400B"),
        (
            "udp-stream",
            {**DATAGRAMS, "duration_ns": 1, "rate_bps": 1, "rate_pps": 1},
            "give rate or packet-rate, not both",
        ),
        ("udp-stream", {**DATAGRAMS, "count": 1, "bytes": 1}, "give one of duration or bytes or count, not 2"),
        (
            "udp-stream",
            {"datagram_bytes": 65508, "count": 1},
            "65508 bytes do not fit in a UDP datagram: at most 65507 over IPv4",
        ),
        ("udp-stream", {"datagram_bytes": 31, "count": 1}, "31 bytes are too few"),
        ("udp-stream", {"rate_pps": 1, "gaps": "exponential", "count": 1}, "give one of datagram or sizes.mean"),
        ("udp-stream", {**DATAGRAMS, "gaps": "exponential", "count": 1}, "give one of rate or gaps.mean"),
        ("udp-stream", {**DATAGRAMS, "gaps_mean_ns": 5, "rate_pps": 1, "count": 1}, "rate or gaps.mean, not both"),
        ("udp-stream", {**DATAGRAMS, "gaps_mean_ns": 5000, "count": 1}, None),
        ("udp-stream", {**DATAGRAMS, "gaps_mean_ns": 5, "gaps_shape": 2.0, "count": 1}, "gaps.shape has no effect"),
        ("udp-stream", {**DATAGRAMS, "rate_pps": 5, "gaps": "pareto", "count": 1}, "gaps: pareto needs gaps.shape"),
        (
            "udp-stream",
            {**DATAGRAMS, "rate_pps": 5, "gaps": "pareto", "gaps_shape": 1.0, "count": 1},
            "gaps.shape must be above 1",
        ),
        (
            "udp-stream",
            {**DATAGRAMS, "rate_pps": 5, "sizes": "uniform", "sizes_min_bytes": 40, "sizes_max_bytes": 50, "count": 1},
            "sizes: the mean of a uniform distribution follows from min and max; leave out datagram",
        ),
        (
            "udp-stream",
            {"rate_pps": 5, "sizes": "uniform", "sizes_min_bytes": 60, "sizes_max_bytes": 50, "count": 1},
            "sizes.min must be at most sizes.max",
        ),
        (
            "udp-stream",
            {"rate_bps": 5, "sizes": "uniform", "sizes_min_bytes": 40, "sizes_max_bytes": 50, "count": 1},
            None,
        ),
        ("udp-stream", {**DATAGRAMS, "rate_pps": 5, "sizes": "exponential", "bytes": 1}, "bytes cannot end a flow"),
        ("udp-stream", {**DATAGRAMS, "rate_pps": 5, "on_ns": 10**6, "count": 1}, "on-off needs both"),
        (
            "udp-stream",
            {**DATAGRAMS, "rate_pps": 5, "on_ns": 10**6, "off_ns": 10**6, "on_off_shape": 2.0, "count": 1},
            "on-off.shape is for pareto",
        ),
        ("udp-stream", {**DATAGRAMS, "seed": 1, "count": 1}, "seed has no effect"),
        (
            "udp-stream",
            {**DATAGRAMS, "rate_pps": 5, "gaps": "exponential", "gaps_max_ns": 0, "count": 1},
            "the mean of gaps must be from gaps.min to gaps.max",
        ),
        ("udp-stream", {"trace": "a.pcap", "count": 1}, None),
        (
            "udp-stream",
            {**DATAGRAMS, "rate_pps": 1, "trace": "a.pcap", "count": 1},
            "trace gives the times and sizes; leave out datagram, packet-rate",
        ),
        (
            "udp-stream",
            {"sizes": "normal", "sizes_mean_bytes": 900, "sizes_stdev_bytes": 9, "rate_bps": 10**13, "count": 1},
            "the mean gap is under 1 us",
        ),
        (
            "udp-stream",
            {**DATAGRAMS, "gaps": "gamma", "gaps_shape": 2.0, "gaps_mean_ns": 1000, "duration_ns": 10**13},
            "a flow of 10000000000 datagrams is too long",
        ),
        ("voip", {"count": 1}, None),
        ("voip", {"codec": "g729", "packetisation_ns": 10**7, "count": 1}, "a packet of 22 bytes is too small"),
        ("voip", {"packetisation_ns": 15 * 10**6, "count": 1}, "a multiple of 10 ms, a frame of g711"),
        ("voip", {}, "give one of duration or count"),
        ("udp-rr", {"response_bytes": 65508, "count": 1}, "at most 65507 over IPv4"),
        ("udp-rr", {"message_bytes": 64, "response_bytes": 64, "count": 1}, None),
        ("tcp-rr", {"count": 1, "duration_ns": 1}, "give one of duration or count, not 2"),
        ("tcp-crr", {"count": 1}, None),
        ("ping", {"count": 1, "duration_ns": 1}, "give one of duration or count, not 2"),
    ],
)
def test_parameters_that_do_not_go_together(kind: str, params: Params, message: str | None) -> None:
    checked = WORKLOADS[kind].check(params, FOUR_SIX)
    assert (checked is None) is (message is None)
    assert checked is None or message is None or message in checked.text
    assert checked is None or checked.name is None or WORKLOADS[kind].parameter(checked.name)


@pytest.mark.parametrize(
    ("kind", "parameter", "value", "message"),
    [
        ("tcp-rr", "message", "0B", '"0B" is too small: at least 1B'),
        ("tcp-rr", "message", "2GiB", '"2GiB" is too large: at most 1GiB'),
        ("tcp-rr", "duration", "999us", '"999us" is too small: at least 1ms'),
        ("tcp-rr", "count", "5", '"5" is not a whole number, such as 1'),
        ("tcp-rr", "count", 0, "0 is too small: at least 1"),
        ("tcp-rr", "count", True, "true is not a whole number"),
        ("tcp-rr", "count", 2.5, "2.5 is not a whole number"),
        ("tcp-rr", "nodelay", "yes", '"yes" is neither true nor false'),
        ("tcp-rr", "nodelay", 1, "1 is neither true nor false"),
        ("tcp-rr", "congestion", "", '"" is not a word'),
        ("tcp-rr", "congestion", "cubic; reboot", "is not a word: 1 to 15 letters"),
        ("tcp-rr", "congestion", None, "nothing is not a word"),
        ("tcp-stream", "direction", "sideways", '"sideways" is not one of forward, reverse, both'),
        ("tcp-stream", "direction", ["forward"], "a list is not one of"),
        ("tcp-stream", "streams", 10**30, "is too large: at most 1024"),
        ("udp-stream", "packet-rate", "0pps", "is too small: at least 1pps"),
        ("udp-stream", "gaps.shape", "2", '"2" is not a number, such as 1.5'),
        ("udp-stream", "gaps.shape", True, "true is not a number"),
        ("udp-stream", "gaps.shape", 0, "0 is too small: at least 0.01"),
        ("udp-stream", "trace", "", "is not the path of a file"),
        ("udp-stream", "trace", "a\0b", "is not the path of a file"),
    ],
)
def test_a_parameter_says_what_would_be_right(kind: str, parameter: str, value: object, message: str) -> None:
    actual_parameter = WORKLOADS[kind].parameter(parameter)
    assert actual_parameter is not None
    with pytest.raises(ValueError, match=re.escape(message)):
        actual_parameter.parse(value)


@pytest.mark.parametrize(
    ("kind", "params", "gap_ns"),
    [
        ("ping", {}, 10**7),
        ("ping", {"interval_ns": 10**6}, 10**6),
        ("tcp-crr", {"rate_per_s": 1000}, 10**6),
        ("tcp-crr", {}, None),
        ("voip", {}, 20 * 10**6),
        ("voip", {"codec": "g723.1"}, 30 * 10**6),
        ("udp-stream", {"datagram_bytes": 125, "rate_bps": 10**6}, 10**6),
        ("udp-stream", {"datagram_bytes": 125}, None),
        ("tcp-rr", {}, None),
    ],
)
def test_a_workload_knows_how_far_apart_what_it_counts_is(kind: str, params: Params, gap_ns: float | None) -> None:
    assert WORKLOADS[kind].gap_ns(params) == gap_ns
