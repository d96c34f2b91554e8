"""Quantities as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from sixbench.model import units

pytestmark = pytest.mark.computes


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_size, "64B", 64),
        (units.parse_size, "8 KiB", 8192),
        (units.parse_size, "1.5MB", 1_500_000),
        (units.parse_size, ".5KiB", 512),
        (units.parse_size, "2GiB", 2 * 2**30),
        (units.parse_rate, "100Mbit", 100_000_000),
        (units.parse_rate, "9.6kbit", 9600),
        (units.parse_rate, "1bit", 1),
        (units.parse_packet_rate, "10kpps", 10_000),
        (units.parse_packet_rate, "1.488095Mpps", 1_488_095),
        (units.parse_duration, "5s", 5_000_000_000),
        (units.parse_duration, "2min", 120_000_000_000),
        (units.parse_duration, "50 ms", 50_000_000),
        (units.parse_duration, "100us", 100_000),
        (units.parse_duration, "100µs", 100_000),
        (units.parse_duration, 0, 0),
        (units.parse_duration, "0ns", 0),
        (units.parse_ratio, "2%", 0.02),
        (units.parse_ratio, "0.5%", 0.005),
        (units.parse_ratio, 0, 0.0),
    ],
)
def test_a_quantity_with_its_unit(parse: Callable[[object], float], text: object, value: float) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (
            units.parse_rate,
            "100 mbits",
            '"100 mbits" is not a rate: unknown unit "mbits", '
            "it takes one of bit, kbit, Mbit, Gbit; did you mean 100Mbit?",
        ),
        (units.parse_rate, 100, "100 has no unit; a rate takes one of bit, kbit, Mbit, Gbit, such as 100Mbit"),
        (units.parse_rate, "1Gbps", "did you mean 1Gbit?"),
        (units.parse_size, "64K", "did you mean 64kB?"),
        (units.parse_size, "64kb", "did you mean 64kB?"),
        (units.parse_size, "1.5B", '"1.5B" is not a whole number of bytes; round it'),
        (units.parse_size, "-5B", "write a number and one of B, kB"),
        (units.parse_size, None, "nothing is not a size; write a number and a unit, such as 64KiB"),
        (units.parse_size, True, "true is not a size; write a number and a unit, such as 64KiB"),
        (units.parse_size, ["1B"], "a list is not a size; write a number and a unit, such as 64KiB"),
        (units.parse_size, {}, "a mapping is not a size; write a number and a unit, such as 64KiB"),
        (units.parse_size, "", '"" is not a size'),
        (units.parse_size, "B", '"B" is not a size'),
        (units.parse_size, "1e3B", '"1e3B" is not a size'),
        (units.parse_size, "1,5kB", '"1,5kB" is not a size'),
        (units.parse_size, "٣B", '"٣B" is not a size'),
        (units.parse_size, 1e22, "1e+22 is not a size"),
        (units.parse_size, "9" * 100_000 + "B", "9..."),
        (units.parse_size, "5" + " " * 1_000_000 + "!", "is not a size"),
        (units.parse_duration, "5 sec", "did you mean 5s?"),
        (units.parse_duration, "1h", 'unknown unit "h", it takes one of ns, us, ms, s, min'),
        (units.parse_duration, "0.1ns", "is not a whole number of nanoseconds"),
        (units.parse_ratio, 0.02, "0.02 has no unit; a percentage takes one of %, such as 2%"),
        (units.parse_packet_rate, "10Mbit", 'unknown unit "Mbit", it takes one of pps, kpps, Mpps'),
    ],
)
def test_a_wrong_quantity_says_what_would_be_right(
    parse: Callable[[object], float], text: object, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        parse(text)
    assert len(str(caught.value)) < 250


def test_a_quantity_is_not_rounded_on_the_way() -> None:
    assert units.parse_size("1.000000001GB") == 1_000_000_001
    assert units.parse_size("123456789012345678901234567890B") == 123456789012345678901234567890
    with pytest.raises(ValueError, match="not a whole number"):
        units.parse_size("1.00000000000000000000000000000000001GB")


@pytest.mark.parametrize(
    ("format", "value", "text"),
    [
        (units.format_size, 65536, "64KiB"),
        (units.format_size, 1_000_000, "1MB"),
        (units.format_size, 1_234_567, "1234567B"),
        (units.format_size, 0, "0B"),
        (units.format_rate, 100_000_000, "100Mbit"),
        (units.format_rate, 1_234_567_891, "1234567891bit"),
        (units.format_packet_rate, 10_000, "10kpps"),
        (units.format_packet_rate, 1_488_095, "1488095pps"),
        (units.format_duration, 5_000_000_000, "5s"),
        (units.format_duration, 60_000_000_000, "1min"),
        (units.format_duration, 1_500_000_000, "1500ms"),
        (units.format_duration, 12_345_678_901, "12345678901ns"),
    ],
)
def test_a_quantity_is_written_exactly(format: Callable[[float], str], value: float, text: str) -> None:
    assert format(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "scaled"),
    [
        (94.15e6, "bit/s", (94.15, "Mbit/s")),
        (1500, "ns", (1.5, "µs")),
        (0.25, "ns", (0.25, "ns")),
        (0, "bit/s", (0, "bit/s")),
        (-2e9, "ns", (-2, "s")),
        (2048, "B", (2, "KiB")),
        (12_000, "1/s", (12, "k/s")),
        (0.97, "cores", (0.97, "cores")),
    ],
)
def test_a_value_is_scaled_to_what_reads_best(value: float, unit: str, scaled: tuple[float, str]) -> None:
    assert units.scale(value, unit) == scaled
