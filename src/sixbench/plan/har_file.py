"""Reads a HAR file (HTTP Archive 1.2) as a page that is loaded again: hosts, sizes, order and dependencies.

The file may be anyone's. Its contents, names and addresses are not kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import urljoin, urlsplit

from ..model.experiment import Combination
from ..model.files import open_regular
from ..model.quoting import shown, visible
from ..model.recorded_page import MAX_HOSTS, MAX_OBJECT_BYTES, MAX_OBJECTS, PageObject, RecordedPage
from ..model.workloads.http import (
    MAX_CONNECTIONS,
    PAGE,
    PAGES_IN_FLIGHT,
    PARALLEL,
    connections_to_host,
    pages_in_flight,
)
from .factors import Factors
from .named_files import read_named_files
from .reader import Reader
from .workload_file import WorkloadTemplate

MAX_FILE_BYTES = 64 * 2**20
"""The largest file. Contents, which a HAR file can have, are most of it."""
MAX_ENTRIES = 5000
"""The most entries, those that are skipped included."""
MAX_FRAMES = 200
"""The most calls of a stack that are looked at for the script that asked for an object."""
_LARGEST = 1e15
"""The largest number of milliseconds or bytes that is taken for one."""


class HarError(ValueError):
    """A file that is no HAR file, or has nothing or too much to load."""


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """An object as it was recorded.

    Attributes:
        started_s, ended_s: seconds since 1970.
        causes: URLs of what may have asked for it, the nearest first.
        redirects_to: the URL that its answer refers to; None: none.
    """

    url: str
    host: str
    body_bytes: int
    started_s: float
    ended_s: float
    causes: tuple[str, ...]
    redirects_to: str | None


def read_har(path: Path) -> RecordedPage:
    """Reads a HAR file.

    Objects are in the order in which they were asked for. An object waits for the one that redirected to it, or that
    asked for it (`_initiator`, as Chromium writes it). Where the file knows neither, it waits for the one that ended
    last before it began. Its size is the body as it was sent, compressed where it was.

    Raises:
        HarError: the file is not a HAR file, or has nothing or too much to load.
        OSError: the file cannot be read.
    """
    with open_regular(path) as stream:
        text = stream.read(MAX_FILE_BYTES + 1)
    if len(text) > MAX_FILE_BYTES:
        raise HarError(f"it has more than {MAX_FILE_BYTES >> 20} MiB; save it without contents")
    return page_of(text)


def page_of(text: bytes) -> RecordedPage:
    """The page of a HAR file's bytes. Raises `HarError`."""
    recorded = _entries(_parse(text))
    entries = [entry for number, item in enumerate(recorded) if (entry := _entry(item, number)) is not None]
    if not entries:
        raise HarError("it has no entry with an answer by HTTP, so that there is nothing to load")
    if len(entries) > MAX_OBJECTS:
        raise HarError(f"it has {len(entries)} objects: at most {MAX_OBJECTS}")
    entries.sort(key=lambda entry: entry.started_s)
    hosts = {host: number for number, host in enumerate(dict.fromkeys(entry.host for entry in entries))}
    if len(hosts) > MAX_HOSTS:
        raise HarError(f"it has {len(hosts)} hosts: at most {MAX_HOSTS}")
    objects = tuple(
        PageObject(host=hosts[entry.host], body_bytes=entry.body_bytes, after=after)
        for entry, after in zip(entries, _dependencies(entries), strict=True)
    )
    skipped = len(recorded) - len(entries)
    return RecordedPage(objects=objects, skipped=skipped, sha256=hashlib.sha256(text).hexdigest())


def read_pages(reader: Reader, factors: Factors, templates: Sequence[WorkloadTemplate]) -> dict[str, RecordedPage]:
    """The HAR files that workloads name, by their names. Each is read once, and what is wrong with it is noted."""
    return read_named_files(reader, factors, templates, PAGE, read_har, HarError)


def check_pages(reader: Reader, combinations: Sequence[Combination], pages: Mapping[str, RecordedPage]) -> None:
    """Notes pages that would have more connections at once than a server serves."""
    for params in (combination.workload.params for combination in combinations):
        name = params.get(PAGE.column)
        if name is None:
            continue
        count = pages_in_flight(params) * pages[str(name)].connections(connections_to_host(params))
        if count > MAX_CONNECTIONS:
            words = f"{name} would have {count} connections at once: at most {MAX_CONNECTIONS} are served"
            reader.problem(("workloads",), f"{words}; give a smaller {PARALLEL.name} or {PAGES_IN_FLIGHT.name}")


def _parse(text: bytes) -> Any:
    try:
        # Some programs begin the file with a byte order mark.
        return json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise HarError(f"it is not UTF-8: byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise HarError(f"line {error.lineno}, column {error.colno}: it is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise HarError("it has more levels than any HAR file") from error
    except ValueError as error:
        raise HarError(f"it is not JSON that can be read: {visible(str(error))}") from error


def _entries(data: Any) -> list[Any]:
    log = data.get("log") if isinstance(data, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise HarError("it is not a HAR file: it has no list log.entries")
    if len(entries) > MAX_ENTRIES:
        raise HarError(f"log.entries has {len(entries)} entries: at most {MAX_ENTRIES}")
    return entries


def _entry(item: Any, number: int) -> _Entry | None:
    """An entry; None if it had no answer, or did not come by HTTP."""
    place = f"log.entries.{number}"
    request, response = (_mapping(_mapping(item, place).get(key), f"{place}.{key}") for key in ("request", "response"))
    url = request.get("url")
    if not isinstance(url, str):
        raise HarError(f"{place}.request.url is {shown(url)}, and not a URL")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise HarError(f"{place}.request.url is {shown(url)}, and not a URL: {visible(str(error))}") from error
    status = response.get("status")
    if parts.scheme not in ("http", "https") or not host or not isinstance(status, int) or status <= 0:
        return None
    started_s = _started(item.get("startedDateTime"), place)
    redirect = response.get("redirectURL")
    return _Entry(
        url=url,
        host=host,
        body_bytes=_body_bytes(response, place),
        started_s=started_s,
        ended_s=started_s + _length_s(item.get("time"), place),
        causes=_causes(item.get("_initiator")),
        redirects_to=_joined(url, redirect) if isinstance(redirect, str) and redirect else None,
    )


def _mapping(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise HarError(f"{place} is {shown(value)}, and not an object")
    return value


def _started(value: Any, place: str) -> float:
    try:
        started = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        words = f"{place}.startedDateTime is {shown(value)}, and not a time such as 2026-01-31T12:00:00.000Z"
        raise HarError(words) from error
    # Times without a zone are compared with one another only.
    return (started if started.tzinfo else started.replace(tzinfo=UTC)).timestamp()


def _length_s(value: Any, place: str) -> float:
    """The time that an entry took; it is in ms there."""
    if value is None:
        return 0.0
    if not _is_number(value):
        raise HarError(f"{place}.time is {shown(value)}, and not a number of milliseconds")
    return max(0.0, value / 1000)


def _is_number(value: Any) -> TypeGuard[float]:
    return not isinstance(value, bool) and isinstance(value, int | float) and -_LARGEST <= value <= _LARGEST


def _body_bytes(response: Mapping[str, Any], place: str) -> int:
    """The length of the body as it was sent. Sizes are -1 where they are not known."""
    content = response.get("content")
    content = content if isinstance(content, dict) else {}
    sizes: dict[str, int] = {}
    for name, size in (
        ("bodySize", response.get("bodySize")),
        ("_transferSize", response.get("_transferSize")),
        ("content.size", content.get("size")),
        ("content.compression", content.get("compression")),
    ):
        if size is None:
            continue
        if not _is_number(size):
            raise HarError(f"{place}.response.{name} is {shown(size)}, and not a number of bytes")
        sizes[name] = int(size)
    uncompressed = sizes.get("content.size", 0) - sizes.get("content.compression", 0)
    body_bytes = next(
        (size for size in (sizes.get("bodySize", -1), sizes.get("_transferSize", -1), uncompressed) if size > 0), 0
    )
    if body_bytes > MAX_OBJECT_BYTES:
        raise HarError(f"{place}.response has {body_bytes} bytes: at most {MAX_OBJECT_BYTES}")
    return body_bytes


def _causes(initiator: Any) -> tuple[str, ...]:
    """URLs of what asked for an object: of the document, or of the scripts in the stack."""
    if not isinstance(initiator, dict):
        return ()
    urls: list[Any] = [initiator.get("url")]
    stack = initiator.get("stack")
    while isinstance(stack, dict) and len(urls) < MAX_FRAMES:
        frames = stack.get("callFrames")
        if isinstance(frames, list):
            urls += [frame.get("url") for frame in frames[:MAX_FRAMES] if isinstance(frame, dict)]
        stack = stack.get("parent")
    return tuple(url for url in urls if isinstance(url, str) and url)


def _joined(url: str, reference: str) -> str | None:
    try:
        return urljoin(url, reference)
    except ValueError:
        return None


def _dependencies(entries: Sequence[_Entry]) -> list[int | None]:
    """For each entry, in the order of their begins, the index of the earlier one that it waits for."""
    latest: dict[str, int] = {}
    redirected: dict[str, int] = {}
    dependencies: list[int | None] = []
    for index, entry in enumerate(entries):
        asked_by = next((latest[url] for url in entry.causes if url in latest), None)
        after = redirected.get(entry.url, asked_by)
        dependencies.append(_ended_before(entries, index) if after is None else after)
        latest[entry.url] = index
        if entry.redirects_to is not None:
            redirected[entry.redirects_to] = index
    return dependencies


def _ended_before(entries: Sequence[_Entry], index: int) -> int | None:
    """The index of the entry that ended last before this one began; None if none had."""
    started_s = entries[index].started_s
    ended = [earlier for earlier in range(index) if entries[earlier].ended_s <= started_s]
    return max(ended, key=lambda earlier: entries[earlier].ended_s, default=None)
