"""The outcome of each datagram of a trial, as Parquet: one row a datagram sent, and one more for each duplicate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .packet_columns import packet_column
from .run_directory import PACKETS, REVERSE_PACKETS

SCHEMA = pa.schema(
    [
        ("sequence", pa.int64()),
        ("payload_bytes", pa.int32()),
        ("sent_realtime_ns", pa.int64()),
        ("received_realtime_ns", pa.int64()),
        ("status", pa.string()),
    ]
)
"""`status` is `received`, `duplicate` or `lost`. A receiver notes a limited number of datagrams. After that, `status`
and `received_realtime_ns` are null."""


def packet_log_files(client: Mapping[str, Any], server: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a trial's packets, by their names, from both agents' results. There is one for each direction.

    Raises:
        KeyError, TypeError, ValueError: their logs do not have the form that docs/protocol.md has.
    """
    files = {}
    if "reverse_sender" in server:
        sender, receiver = server["reverse_sender"], client["reverse_receiver"]
        files[REVERSE_PACKETS] = packet_log_parquet(sender["packet_log"], receiver["packet_log"])
        if "forward_sender" not in client:
            return files
        client, server = client["forward_sender"], server["forward_receiver"]
    return files | {PACKETS: packet_log_parquet(client["packet_log"], server["packet_log"])}


def packet_log_parquet(client: Mapping[str, Any], server: Mapping[str, Any]) -> bytes:
    """The `packet_log` of both agents' results as a Parquet file, in the order of sequence numbers, duplicates after
    the datagram.

    Raises:
        KeyError, TypeError, ValueError: the logs are not of the form that docs/protocol.md has.
    """
    sent_ns = packet_column(client, "sent_realtime_ns", "<u8")
    payload_bytes = packet_column(client, "payload_bytes", "<u2")
    sequence, received_ns = (
        packet_column(server, "sequence", "<u4"),
        packet_column(server, "received_realtime_ns", "<u8"),
    )
    if len(payload_bytes) != len(sent_ns) or len(sequence) != len(received_ns):
        raise ValueError("the columns of a packet log have different lengths")
    # Datagrams that the sender did not log are left out.
    received_ns, sequence = received_ns[sequence < len(sent_ns)], sequence[sequence < len(sent_ns)]
    order = np.argsort(sequence, kind="stable")
    sequence, received_ns = sequence[order], received_ns[order]
    is_duplicate = np.zeros(len(sequence), dtype=bool)
    is_duplicate[1:] = sequence[1:] == sequence[:-1]
    missing = np.setdiff1d(np.arange(len(sent_ns)), sequence, assume_unique=False)
    numbers = np.concatenate([sequence, missing])
    unknown = np.concatenate([np.zeros(len(sequence), dtype=bool), np.ones(len(missing), dtype=bool)])
    absent = None if server["omitted"] else "lost"
    statuses = [*("duplicate" if item else "received" for item in is_duplicate), *[absent] * len(missing)]
    place = np.argsort(numbers, kind="stable")
    table = pa.table(
        [
            pa.array(numbers[place]),
            pa.array(payload_bytes[numbers][place].astype(np.int32)),
            pa.array(sent_ns[numbers][place]),
            pa.array(np.concatenate([received_ns, np.zeros(len(missing), dtype=np.int64)])[place], mask=unknown[place]),
            pa.array([statuses[at] for at in place], type=pa.string()),
        ],
        schema=SCHEMA,
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content
