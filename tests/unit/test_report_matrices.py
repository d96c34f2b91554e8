"""Tables of named levels by paths, or by another factor's names."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.model.finding import Analysis, Estimate
from sixbench.report.matrices import matrices

pytestmark = pytest.mark.computes


def estimate(path: str, levels: dict[str, Any], value: float, half: float | None = None, **more: Any) -> Estimate:
    known = {"workload": "tcp-connect", "metric": "connect_p50", "unit": "ns", "combination": "c1", "n": 3} | more
    low, high = (None, None) if half is None else (value - half, value + half)
    return Estimate(path=path, levels=levels, value=value, ci_low=low, ci_high=high, **known)


def analysis(*estimates: Estimate) -> Analysis:
    return Analysis(findings=[], estimates=list(estimates), claims=[], published=[], tables=[], remarks=[])


def test_a_row_a_level_and_a_column_a_path_with_half_of_each_interval() -> None:
    actual_matrices = matrices(
        analysis(
            estimate("ipv4", {"link_profile": "dsl"}, 20e6, 0.5e6),
            estimate("ipv6", {"link_profile": "dsl"}, 21e6, 0.5e6),
            estimate("ipv4", {"link_profile": "geo"}, 630e6),
        ),
        0.95,
    )
    [table] = actual_matrices
    assert table.title == "TCP connection: Connection time, median by link profile (± 95 % confidence)"
    assert [column.name for column in table.columns] == ["link profile", "ipv4", "ipv6"]
    assert table.rows == [["dsl", "20.00 ± 0.50 ms", "21.00 ± 0.50 ms"], ["geo", "630.0 ms", "–"]]


def test_columns_keep_their_order_where_the_first_row_lacks_one() -> None:
    dsl, geo = {"link_profile": "dsl"}, {"link_profile": "geo"}
    times = [estimate(path, dsl, 1e6, metric="connect_p99") for path in ("ipv4", "ipv6", "6rd")]
    actual_matrices = matrices(
        analysis(
            *times, *(estimate(path, levels, 1e6) for levels, path in ((dsl, "6rd"), (geo, "ipv4"), (geo, "6rd")))
        ),
        0.95,
    )
    assert [column.name for column in actual_matrices[0].columns] == ["link profile", "ipv4", "6rd"]


def test_with_one_path_another_factor_of_names_stands_across_and_the_rest_is_in_the_title() -> None:
    levels = [
        {"access": access, "ipv6_state": ipv6, "attempt_delay_ns": delay_ns}
        for access in ("dsl", "lte", "geo")
        for ipv6 in ("near", "far")
        for delay_ns in (10**8, 25 * 10**7)
    ]
    actual_matrices = matrices(analysis(*(estimate("ipv4", level, 1e6) for level in levels)), 0.95)
    assert [table.title.partition(" by ")[2] for table in actual_matrices] == [
        "access and IPv6 state, attempt delay 100 ms",
        "access and IPv6 state, attempt delay 250 ms",
    ]
    assert [column.name for column in actual_matrices[0].columns] == ["access", "near", "far"]


def test_without_names_or_anything_across_there_is_none() -> None:
    sizes = [estimate(path, {"message_bytes": size}, 1e6) for path in ("ipv4", "ipv6") for size in (64, 128)]
    assert matrices(analysis(*sizes), 0.95) == []
    assert matrices(analysis(*(estimate("ipv4", {"link_profile": name}, 1e6) for name in ("dsl", "geo"))), 0.95) == []
    other = [estimate("ipv4", {"link_profile": name}, 1e6, metric="cpu_irq", unit="cores") for name in ("dsl", "geo")]
    assert matrices(analysis(*other, estimate("ipv6", {"link_profile": "dsl"}, 1, metric="cpu_irq")), 0.95) == []


def test_kernels_stand_beside_each_other_and_paths_below_each_other() -> None:
    actual_matrices = matrices(
        analysis(
            *(
                estimate(
                    path,
                    {"message_bytes": size, "kernel": kernel},
                    size * 1e6 * (1 + index),
                    size * 1e4,
                    workload="tcp-stream",
                    metric="goodput",
                    unit="bit/s",
                )
                for size in (64, 1024)
                for index, kernel in enumerate(("debian-5.10", "debian-6.12"))
                for path in ("ipv4", "ipv6")
                if (kernel, path, size) != ("debian-6.12", "ipv6", 1024)
            )
        ),
        0.95,
    )
    [table] = actual_matrices
    assert table.title == "TCP bulk transfer: Goodput, kernel by kernel, Gbit/s (± 95 % confidence)"
    assert [column.name for column in table.columns] == ["message", "path", "debian-5.10", "debian-6.12"]
    assert table.rows == [
        ["64 B", "ipv4", "0.06400 ± 0.00064", "0.1280 ± 0.00064"],
        ["64 B", "ipv6", "0.06400 ± 0.00064", "0.1280 ± 0.00064"],
        ["1 KiB", "ipv4", "1.024 ± 0.010", "2.048 ± 0.010"],
        ["1 KiB", "ipv6", "1.024 ± 0.010", "–"],
    ]
