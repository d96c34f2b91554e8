"""A measurement to another machine, as the page requests it: the options of `sixbench measure`, read before anything is
started. The key is a secret: it is in no file, no command line and no answer."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

from ..model.errors import UsageError
from ..model.quoting import printable
from ..model.topology import Family
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS, pmtu
from ..plan.measure_options import MeasureOptions, workload_of_options
from ..report.path_mtu_table import directions, facts
from ..store import Run

PORT = 5210
"""The default of `sixbench serve`."""

INTERVAL = ("-i", "0.2")
"""Interval of the values of streams, unless the options set another, so that the page has values to show."""

_HOST = re.compile(r"[0-9A-Za-z][0-9A-Za-z.:%_-]*(,[0-9A-Za-z:][0-9A-Za-z.:%_-]*)?|::[0-9A-Fa-f:.]*")
_KEY = re.compile(r"[0-9A-Fa-f]{64}")
_VALUE = re.compile(r"[0-9A-Za-z.][^\x00-\x20\x7f]{0,99}")
MOST_WORDS = 60

_FAMILIES: dict[str, tuple[Family, ...]] = {"-4": (4,), "-6": (6,), "-46": (4, 6), "-64": (4, 6)}
_FLAGS = {
    "-R": "reverse",
    "--bidir": "bidir",
    "-u": "udp",
    "-N": "nodelay",
    "-Z": "zerocopy",
    "--skip-rx-copy": "skip_rx_copy",
    "--pmtu": "pmtu",
}
_VALUES = {
    "-t": "time",
    "-O": "omit",
    "-P": "parallel",
    "-b": "bitrate",
    "-l": "length",
    "-n": "bytes",
    "-k": "blockcount",
    "-w": "window",
    "-M": "mss",
    "-C": "congestion",
    "-i": "interval",
    "--workload": "workload",
    "--set": "settings",
    "--blocks": "blocks",
}
_COUNTS = {"parallel", "blockcount", "blocks"}


@dataclass(frozen=True, kw_only=True)
class MeasurementOfPage:
    """A measurement that can be started.

    Attributes:
        words: the arguments of `sixbench measure`, without the key.
        key: 64 hexadecimal digits; None: the other machine has no key.
        title: the measurement in words.
    """

    words: list[str]
    key: str | None = field(repr=False)
    title: str


def read_measurement(data: Any) -> MeasurementOfPage:
    """Reads `host`, `port`, `key` and `options` of the page. Raises `UsageError`."""
    if not isinstance(data, dict) or not all(
        isinstance(data.get(name, ""), str) for name in ("host", "key", "options")
    ):
        raise UsageError("the request of the page is not a measurement")
    host, key, port = data.get("host", "").strip(), data.get("key", "").strip(), data.get("port", PORT)
    if not _HOST.fullmatch(host) or len(host) > 300:
        raise UsageError("give the name or the address of a machine, or its addresses of both families with a comma")
    if type(port) is not int or not 1 <= port <= 65535:
        raise UsageError("a port is a number from 1 to 65535")
    if key and not _KEY.fullmatch(key):
        raise UsageError("a key is 64 hexadecimal digits, as sixbench key makes it")
    options, families = _read(data.get("options", ""))
    workload = workload_of_options(
        MeasureOptions(**{k: v for k, v in options.items() if k != "blocks"}), families or (6,)
    )
    words = [host, *([] if port == PORT else ["-p", str(port)]), *_split(data.get("options", ""))]
    flow = WORKLOADS[WORKLOADS[workload.kind].served_by]
    has_values = "receiver" in flow.progress and "interval" not in options
    families_words = " and ".join(f"IPv{family}" for family in families)
    return MeasurementOfPage(
        words=words + (list(INTERVAL) if has_values else []),
        key=key or None,
        title=f"{workload.kind} to {host}" + (f" over {families_words}" if families else ""),
    )


def command(measurement: MeasurementOfPage) -> str:
    """The same command for a terminal, with a file in place of the key."""
    key = ["--key", "FILE"] if measurement.key else []
    return shlex.join(["sixbench", "measure", *measurement.words, *key])


def held_key(key: str) -> int:
    """The descriptor of a file in memory with the key, which only this user can read. Closing it removes the file.

    `/proc/PID/fd/N` names it for processes of this user.
    """
    descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
    os.fchmod(descriptor, 0o600)
    os.write(descriptor, key.encode())
    return descriptor


def path_mtus(run: Run) -> dict[str, Any]:
    """The path MTU of each direction in the last trial of each path, with the known hops."""
    last = {record.path: record for record in run.trials if record.workload == pmtu.KIND.name}
    return {"ways": [direction for record in last.values() for direction in _directions(record)]}


def _directions(record: TrialRecord) -> list[dict[str, Any]]:
    if "forward" not in record.client or "reverse" not in record.server:
        return []
    return [
        {
            "path": record.path,
            "direction": name,
            "facts": [{"name": label, "value": value} for label, value in facts(measured)],
            "hops": [
                {"index": index, "address": address}
                for index, address in enumerate(measured.get("hops") or (), start=1)
            ],
            "limiting": (measured.get("limiting_hop") or {}).get("index"),
        }
        for name, measured in directions(record)
    ]


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"the options cannot be read: {error}") from None
    if len(words) > MOST_WORDS:
        raise UsageError(f"there are more than {MOST_WORDS} options and values")
    return words


def _read(text: str) -> tuple[dict[str, Any], tuple[Family, ...]]:
    """The options by their names in `MeasureOptions`, with `blocks`, and the families. Raises `UsageError`."""
    words = iter(_split(text))
    options: dict[str, Any] = {}
    families: list[Family] = []
    for word in words:
        if word in _FAMILIES:
            families += [family for family in _FAMILIES[word] if family not in families]
        elif word in _FLAGS:
            options[_FLAGS[word]] = True
        elif word in _VALUES:
            _put(options, word, next(words, ""))
        else:
            known = ", ".join([*_FAMILIES, *_FLAGS, *_VALUES])
            raise UsageError(
                f"{printable(word)[:40]} is not an option here; there are {known}, each with a space before its value"
            )
    return options, tuple(sorted(families))


def _put(options: dict[str, Any], option: str, value: str) -> None:
    name = _VALUES[option]
    if not _VALUE.fullmatch(value):
        raise UsageError(f"{option} lacks its value")
    if name == "settings":
        options[name] = (*options.get(name, ()), value)
    elif name in _COUNTS:
        if not value.isdecimal() or not 1 <= int(value) <= 10**9:
            raise UsageError(f"{option}: {printable(value)} is not a number from 1 on")
        options[name] = int(value)
    else:
        options[name] = value
