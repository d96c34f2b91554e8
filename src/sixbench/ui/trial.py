"""One trial of a run: its status, its series, and its packets. A run may come from a stranger, so all sizes are
limited, and files are served only as the run recorded them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from ..agent import find_agent
from ..agent.decoding import Frame, decode_frames
from ..model.capture_file import ETHERNET, CaptureError, Record, read_capture
from ..model.captured import IpHeader, KeptPacket, Layer, TransportHeader
from ..model.errors import StoreError
from ..model.experiment import Experiment
from ..model.trial import TrialRecord
from ..report import words
from ..report.page_loads import page_load
from ..store import PACKETS, QLOG, REVERSE_PACKETS, SERIES, TLS_KEYS, TRIAL, Run

CAPTURE = ".pcapng"

MOST_FILE_BYTES = 2**26
"""Largest file of a trial that is served. A capture has some 17 MiB at most, the packets of a log some 10 MiB."""

MOST_VALUES = 2**18
"""Values of a trial's series that are drawn. An hour has 36,000 intervals of each series."""

MOST_DRAWN = 24
"""Series of a trial that are drawn."""

MOST_LARGEST = 20
"""Largest packets of a link that are shown with a trial. A record of sixbench has 4."""

PACKETS_AT_ONCE = 100
"""Packets of a capture that are decoded and shown at a time."""

_UNITS = {"bps": "bit/s", "ns": "ns"}
"""Units of quantities, by the last part of their name. Other names have no unit."""


def trials(experiment: Experiment, ended: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All trials in brief.

    Args:
        ended: the `trial-ended` event of each trial.
    """
    numbers = {combination.name: index for index, combination in enumerate(experiment.combinations)}
    return {
        "trials": [
            {
                "key": event["key"],
                "block": event["block"],
                "combination": numbers[event["combination"]],
                "path": event["path"],
                "status": event["status"],
                "repeat": event.get("repeat"),
            }
            for event in ended
        ]
    }


def trial(run: Run, key: str) -> dict[str, Any]:
    """A trial. Raises `StoreError` where there is none."""
    record = _record(run, key)
    files = [name for name in _files(run.manifest.experiment) if _has(run, key, name)]
    facts: dict[str, Any] = {
        "key": key,
        "status": record.status,
        "reasons": [{"kind": reason.kind, "text": reason.text} for reason in record.reasons],
        "notes": list(record.notes),
        "files": files,
        "page": _page(record),
        "links": _packets(record, files),
    }
    try:
        drawn = _series(run, key)
    except StoreError as error:
        return facts | {"series": [], "series_left_out": 0, "series_problem": str(error)}
    return facts | {"series": drawn[:MOST_DRAWN], "series_left_out": max(0, len(drawn) - MOST_DRAWN)}


def file(run: Run, key: str, name: str) -> bytes | None:
    """A file of a trial; None where it has none of that name. Raises `StoreError`."""
    _record(run, key)
    if name not in _files(run.manifest.experiment):
        return None
    return run.recorded_file(key, name, MOST_FILE_BYTES)


def packets(run: Run, key: str, link: str, first: int, agent: int | None = None) -> dict[str, Any]:
    """Packets of a trial on a link with their headers, in the order in which they were captured.

    Args:
        first: number of packets to skip.
        agent: a descriptor of the agent; None: the agent is searched for.

    Raises:
        StoreError: there is no such capture, or the capture is damaged.
        CapabilityError, AgentError: the agent cannot decode them.
    """
    content = file(run, key, link + CAPTURE)
    if content is None:
        raise StoreError(f"the trial has no packets of {link}")
    try:
        records = read_capture(io.BytesIO(content))
        start_ns, chosen = None, []
        for index, record in enumerate(islice(records, first + PACKETS_AT_ONCE + 1)):
            start_ns = record.time_ns if index == 0 else start_ns
            if index >= first:
                chosen.append(record)
    except CaptureError as error:
        raise StoreError(f"{key}/{link}{CAPTURE}: {error}") from error
    if any(record.link_type != ETHERNET for record in chosen):
        raise StoreError(f"{key}/{link}{CAPTURE}: it has packets that are not Ethernet frames")
    shown = chosen[:PACKETS_AT_ONCE]
    binary = find_agent() if agent is None else Path(f"/proc/self/fd/{agent}")
    frames = [Frame(data=record.data, wire_bytes=record.original_bytes) for record in shown]
    decoded = decode_frames(binary, frames, agent)
    return {
        "packets": [
            _packet(packet) | {"number": first + index, "after_ns": _after_ns(record, start_ns)}
            for index, (record, packet) in enumerate(zip(shown, decoded, strict=True), start=1)
        ],
        "more": len(chosen) > PACKETS_AT_ONCE,
    }


def _after_ns(record: Record, start_ns: int | None) -> int | None:
    return None if record.time_ns is None or start_ns is None else record.time_ns - start_ns


def _record(run: Run, key: str) -> TrialRecord:
    record = run.by_key.get(key)
    if record is None:
        raise StoreError("the run has no such trial")
    return record


def _links(experiment: Experiment) -> list[str]:
    return list(dict.fromkeys(link.name for topology in experiment.topologies for link in topology.links))


def _files(experiment: Experiment) -> list[str]:
    """The possible names of a trial's files."""
    links = _links(experiment)
    return [TRIAL, SERIES, PACKETS, REVERSE_PACKETS, TLS_KEYS, QLOG, *(link + CAPTURE for link in links)]


def _has(run: Run, key: str, name: str) -> bool:
    known = run.manifest.accepted.get(key)
    return name in known if known is not None else run.file(key, name, MOST_FILE_BYTES) is not None


def _packets(record: TrialRecord, files: list[str]) -> list[dict[str, Any]]:
    """The packets on each link of the path, in order: the largest with their headers, as the agent decoded them, and
    the file with all kept packets."""
    return [
        {
            "link": segment.link,
            "node": segment.node,
            "captured": segment.captured_packets,
            "not_captured": segment.capture_dropped,
            "stacks": [{"stack": words.protocols(stack), "packets": count} for stack, count in segment.stacks.items()],
            "packets": [_packet(packet) for packet in segment.packets[:MOST_LARGEST]],
            "file": segment.link + CAPTURE if segment.link + CAPTURE in files else None,
        }
        for segment in record.evidence.segments or ()
    ]


def _page(record: TrialRecord) -> dict[str, Any] | None:
    """The last page that the trial loaded; None if it kept none."""
    load = page_load(record)
    return None if load is None else asdict(load)


def _series(run: Run, key: str) -> list[dict[str, Any]]:
    """Each quantity of each source over time, with `None` at times when only others of the source have a value."""
    from ..store.series import read_series

    content = run.recorded_file(key, SERIES, MOST_FILE_BYTES)
    if content is None:
        return []
    series = []
    for source, columns in read_series(content, f"{key}/{SERIES}", MOST_VALUES).items():
        names = [name for name in columns if not name.endswith(":t_ns")]
        times = sorted({int(t) for name in names for t in columns[f"{name}:t_ns"]})
        for name in names:
            values = dict(zip(map(int, columns[f"{name}:t_ns"]), columns[name], strict=True))
            series.append(_drawn_series(source, name, times, [values.get(t) for t in times]))
    return series


def _drawn_series(source: str, name: str, times: list[int], values: list[float | None]) -> dict[str, Any]:
    title, unit = name.replace("_", " "), ""
    if name == "bytes":
        # The bytes that arrived in each interval become a rate.
        title, unit = "goodput", "bit/s"
        values = [
            None if value is None or end <= start else 8e9 * value / (end - start)
            for start, end, value in zip([0, *times], times, values, strict=False)
        ]
    elif name.rpartition("_")[2] in _UNITS:
        title, _, ending = title.rpartition(" ")
        unit = _UNITS[ending]
    drawn = {"source": source.replace("_", " "), "title": title, "unit": unit, "t_ns": times, "values": values}
    return drawn | {"of_intervals": name == "bytes"}


def _packet(packet: KeptPacket) -> dict[str, Any]:
    return {
        "wire_bytes": packet.wire_bytes,
        "stack": " / ".join(words.protocol(layer.kind) for layer in packet.layers),
        "layers": [_layer(layer) for layer in packet.layers],
    }


def _layer(layer: Layer) -> dict[str, Any]:
    """A header: its name, its length, its source and destination, and its other fields."""
    values = {name: value for name, value in asdict(layer).items() if value not in (None, (), "")}
    ends: dict[str, Any] = {}
    if isinstance(layer, IpHeader):
        ends = {"from": values.pop("source", None), "to": values.pop("destination", None)}
    elif isinstance(layer, TransportHeader):
        ends = {"from": _port(values.pop("source_port", None)), "to": _port(values.pop("destination_port", None))}
    name, size = words.protocol(values.pop("kind")), values.pop("bytes", None)
    return {"name": name, "bytes": size, **ends, "rest": ", ".join(_field_words(*item) for item in values.items())}


def _port(number: int | None) -> str | None:
    return None if number is None else f"port {number}"


def _field_words(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(_field_words(f"{name}_{key}", inner) for key, inner in value.items() if inner is not None)
    if name.endswith("_bytes"):
        return f"{name.removesuffix('_bytes').replace('_', ' ')} {value} bytes"
    shown = ("yes" if value else "no") if isinstance(value, bool) else value
    return f"{name.replace('_', ' ')} {' '.join(shown) if isinstance(shown, tuple) else shown}"
