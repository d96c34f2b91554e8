"""The packet logs of both ends, as one table."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sixbench.store.packet_log import packet_log_files, packet_log_parquet

pytestmark = pytest.mark.computes


def column(numbers: list[int], form: str) -> str:
    return base64.b64encode(np.array(numbers, dtype=form).tobytes()).decode()


def sender(sent_ns: list[int], sizes: list[int], omitted: int = 0) -> dict[str, Any]:
    return {"sent_realtime_ns": column(sent_ns, "<u8"), "payload_bytes": column(sizes, "<u2"), "omitted": omitted}


def receiver(arrivals: list[tuple[int, int]], omitted: int = 0) -> dict[str, Any]:
    return {
        "sequence": column([number for number, _ in arrivals], "<u4"),
        "received_realtime_ns": column([at for _, at in arrivals], "<u8"),
        "omitted": omitted,
    }


def rows(client: dict[str, Any], server: dict[str, Any]) -> list[tuple[Any, ...]]:
    table = pq.read_table(io.BytesIO(packet_log_parquet(client, server)))
    return list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def test_received_reordered_duplicate_lost() -> None:
    now = 1_790_000_000_000_000_000
    client = sender([now, now + 10, now + 20, now + 30], [32, 65527, 100, 200])
    server = receiver([(0, now + 5), (2, now + 25), (1, now + 26), (2, now + 27)])
    assert rows(client, server) == [
        (0, 32, now, now + 5, "received"),
        (1, 65527, now + 10, now + 26, "received"),
        (2, 100, now + 20, now + 25, "received"),
        (2, 100, now + 20, now + 27, "duplicate"),
        (3, 200, now + 30, None, "lost"),
    ]


def test_what_one_end_did_not_note_is_not_made_up() -> None:
    # The receiver noted nothing after a while: whether the last came is not known.
    assert rows(sender([1, 2], [40, 40]), receiver([(0, 9)], omitted=1))[1] == (1, 40, 2, None, None)
    # The sender noted nothing of datagram 2.
    assert len(rows(sender([1, 2], [40, 40], omitted=1), receiver([(0, 9), (2, 9), (1, 9)]))) == 2
    assert rows(sender([], []), receiver([])) == []


def test_each_direction_has_its_file() -> None:
    sent, arrived = {"packet_log": sender([1], [40])}, {"packet_log": receiver([(0, 2)])}
    assert packet_log_files(sent, arrived).keys() == {"packets.parquet"}
    assert packet_log_files({"reverse_receiver": arrived}, {"reverse_sender": sent}).keys() == {
        "packets-reverse.parquet"
    }
    client = {"forward_sender": sent, "reverse_receiver": arrived}
    server = {"forward_receiver": arrived, "reverse_sender": sent}
    assert packet_log_files(client, server).keys() == {"packets.parquet", "packets-reverse.parquet"}


@pytest.mark.parametrize(
    ("sent", "arrived"),
    [
        ({}, {"packet_log": receiver([(0, 2)])}),
        ({"packet_log": sender([1, 2], [40])}, {"packet_log": receiver([(0, 2)])}),
        ({"packet_log": {"sent_realtime_ns": "?"}}, {"packet_log": receiver([(0, 2)])}),
        ({"packet_log": sender([1], [40])}, {"packet_log": {"sequence": None}}),
    ],
)
def test_logs_that_are_missing_or_broken_are_refused(sent: dict[str, Any], arrived: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        packet_log_files(sent, arrived)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 2**62)), max_size=60), st.integers(0, 21))
def test_every_datagram_and_every_duplicate_has_its_row(arrivals: list[tuple[int, int]], sent: int) -> None:
    actual_rows = rows(sender(list(range(sent)), [50] * sent), receiver(arrivals))
    known = [number for number, _ in arrivals if number < sent]
    statuses = [row[4] for row in actual_rows]
    assert [row[0] for row in actual_rows] == sorted([*known, *(set(range(sent)) - set(known))])
    assert statuses.count("received") == len(set(known))
    assert statuses.count("duplicate") == len(known) - len(set(known))
    assert statuses.count("lost") == sent - len(set(known))
