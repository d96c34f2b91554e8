"""HAR files to pages: hosts, sizes, order and dependencies, and what is said of files that are none."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import ExperimentError
from sixbench.model.recorded_page import MAX_HOSTS, MAX_OBJECTS, PageObject, RecordedPage
from sixbench.plan import har_file
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.har_file import HarError, page_of, read_har
from sixbench.plan.yaml_source import read_yaml

pytestmark = pytest.mark.computes

ORIGIN = "https://example.org"


def entry(
    url: str,
    started_ms: int = 0,
    time_ms: float = 10,
    body_bytes: int = 100,
    *,
    status: int = 200,
    redirect: str = "",
    **more: Any,
) -> dict[str, Any]:
    """An entry, as browsers write it."""
    return {
        "startedDateTime": f"2026-01-31T12:00:{started_ms // 1000:02}.{started_ms % 1000:03}Z",
        "time": time_ms,
        "request": {"method": "GET", "url": url},
        "response": {"status": status, "redirectURL": redirect, "bodySize": body_bytes, "content": {"size": 5000}},
        **more,
    }


def har(*entries: Any) -> bytes:
    return json.dumps({"log": {"version": "1.2", "entries": list(entries)}}).encode()


def objects(*entries: Any) -> list[tuple[int, int, int | None]]:
    """Host, bytes and dependency of each object."""
    return [(item.host, item.body_bytes, item.after) for item in page_of(har(*entries)).objects]


def test_objects_are_in_the_order_of_their_begins_and_hosts_numbered_so() -> None:
    assert objects(
        entry("https://cdn.example.net/late.js", 300, body_bytes=30),
        entry(f"{ORIGIN}/", 0, body_bytes=10),
        entry("https://EXAMPLE.org/style.css", 100, body_bytes=20),
    ) == [(0, 10, None), (0, 20, 0), (1, 30, 1)]


def test_an_object_waits_for_who_asked_for_it() -> None:
    script = {"type": "script", "stack": {"callFrames": [{"url": ""}], "parent": {"callFrames": [{"url": "x:a.js"}]}}}
    asked_by_script = json.loads(json.dumps(script).replace("x:", f"{ORIGIN}/"))
    assert objects(
        entry(f"{ORIGIN}/", 0, 10, _initiator={"type": "other"}),
        entry(f"{ORIGIN}/a.js", 20, 10, _initiator={"type": "parser", "url": f"{ORIGIN}/"}),
        entry(f"{ORIGIN}/b.css", 21, 10, _initiator={"type": "parser", "url": f"{ORIGIN}/"}),
        entry(f"{ORIGIN}/data", 60, 10, _initiator=asked_by_script),
        entry(f"{ORIGIN}/icon", 61, 10, _initiator={"type": "parser", "url": "https://elsewhere.example/"}),
    ) == [(0, 100, None), (0, 100, 0), (0, 100, 0), (0, 100, 1), (0, 100, 2)]


def test_without_who_asked_an_object_waits_for_what_ended_last_before_it() -> None:
    assert objects(
        entry(f"{ORIGIN}/", 0, 50),
        entry(f"{ORIGIN}/a", 50, 100),
        entry(f"{ORIGIN}/b", 60, 10),
        entry(f"{ORIGIN}/c", 100, 10),
        entry(f"{ORIGIN}/d", 151, 10),
    ) == [(0, 100, None), (0, 100, 0), (0, 100, 0), (0, 100, 2), (0, 100, 1)]


def test_an_object_waits_for_the_one_that_redirected_to_it() -> None:
    assert objects(
        entry("http://example.org/", 0, 10, 0, status=301, redirect=f"{ORIGIN}/"),
        entry(f"{ORIGIN}/", 5, 10, 70, _initiator={"type": "other"}),
    ) == [(0, 5000, None), (0, 70, 0)]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"bodySize": 700, "content": {"size": 5000}}, 700),
        ({"bodySize": -1, "_transferSize": 900, "content": {"size": 5000}}, 900),
        ({"bodySize": -1, "content": {"size": 5000, "compression": 4000}}, 1000),
        ({"content": {"size": 5000}}, 5000),
        ({"bodySize": 0, "content": {"size": 0}}, 0),
        ({}, 0),
    ],
)
def test_a_size_is_that_of_the_body_as_it_was_sent(response: dict[str, Any], expected: int) -> None:
    assert [size for _, size, _ in objects(entry(f"{ORIGIN}/") | {"response": {"status": 200, **response}})] == [
        expected
    ]


def test_what_did_not_come_by_http_or_had_no_answer_is_skipped() -> None:
    page = page_of(
        har(
            entry("data:text/plain,x"), entry("wss://example.org/"), entry(f"{ORIGIN}/a", status=0), entry(f"{ORIGIN}/")
        )
    )
    assert (len(page.objects), page.skipped) == (1, 3)


def test_the_agent_gets_numbers_and_no_names() -> None:
    page = RecordedPage(
        objects=(
            PageObject(host=0, body_bytes=300, after=None),
            PageObject(host=1, body_bytes=5, after=None),
            PageObject(host=0, body_bytes=7, after=0),
        ),
        skipped=0,
        sha256="",
    )
    assert base64.b64decode(page.encoded) == bytes([0, 0xAC, 2, 0, 1, 5, 0, 0, 7, 2])
    assert [page.connections(at_once) for at_once in (1, 2, 6)] == [2, 3, 3]


MANY = [entry(f"{ORIGIN}/{number}") for number in range(MAX_OBJECTS + 1)]
HOSTS = [entry(f"https://h{number}.example/") for number in range(MAX_HOSTS + 1)]
NESTED = b"[" * 200_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"log":\n {,}}', "line 2, column 3: it is not JSON"),
        (b"", "line 1, column 1: it is not JSON"),
        (b"\xff", "it is not UTF-8: byte 0"),
        (NESTED, "more levels"),
        (b"1" * 5000, "it is not JSON that can be read"),
        (b"[]", "it has no list log.entries"),
        (b'{"log": {"entries": {}}}', "it has no list log.entries"),
        (har(), "nothing to load"),
        (har(1), "log.entries.0 is 1, and not an object"),
        (har(entry(f"{ORIGIN}/") | {"request": []}), "log.entries.0.request is a list"),
        (har(entry("https://[") | {}), 'log.entries.0.request.url is "https://["'),
        (har(entry(f"{ORIGIN}/") | {"startedDateTime": "noon"}), 'startedDateTime is "noon", and not a time such as'),
        (har(entry(f"{ORIGIN}/") | {"startedDateTime": 5}), "startedDateTime is 5"),
        (har(entry(f"{ORIGIN}/", time_ms=float("nan"))), "log.entries.0.time is nan"),
        (har(entry(f"{ORIGIN}/") | {"time": 10**400}), "log.entries.0.time is 1000"),
        (har(entry(f"{ORIGIN}/", body_bytes=2**31)), "has 2147483648 bytes: at most 1073741824"),
        (har(*MANY), "it has 2001 objects: at most 2000"),
        (har(*HOSTS), "it has 201 hosts: at most 200"),
        (har(*([1] * 5001)), "log.entries has 5001 entries: at most 5000"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text: bytes, message: str) -> None:
    with pytest.raises(HarError) as error:
        page_of(text)
    assert message in str(error.value)
    assert len(str(error.value)) < 300


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har_file, "MAX_FILE_BYTES", 2**20)
    (tmp_path / "page.har").write_bytes(har(entry(f"{ORIGIN}/", padding="x" * 2**20)))
    with pytest.raises(HarError, match="more than 1 MiB; save it without contents"):
        read_har(tmp_path / "page.har")


EXPERIMENT = """
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv6: native6}
workloads:
  - http: {page: page.har, count: 1, VERSION}
"""


def experiment(folder: Path, more: str = "version: 2") -> Any:
    (folder / "experiment.yaml").write_text(EXPERIMENT.replace("VERSION", more))
    return read_experiment(read_yaml(folder / "experiment.yaml"), MECHANISMS)


def test_an_experiment_has_the_pages_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "page.har").write_bytes(har(entry(f"{ORIGIN}/"), entry(f"{ORIGIN}/a", 20)))
    pages = experiment(tmp_path).pages
    assert [(item.body_bytes, item.after) for item in pages["page.har"].objects] == [(100, None), (100, 0)]


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (None, "version: 2", "5: workloads.0.http.page: reading page.har: No such file or directory"),
        (b"{", "version: 2", "5: workloads.0.http.page: page.har: line 1, column 2: it is not JSON"),
        (har(entry(f"{ORIGIN}/")), "objects: 2", "the page says what its objects are; leave out objects"),
        (har(*HOSTS[:200]), "in-flight: 3", "page.har would have 600 connections at once: at most 512"),
    ],
)
def test_what_is_wrong_with_a_page_is_said_of_the_experiment(
    tmp_path: Path, text: bytes | None, more: str, message: str
) -> None:
    if text is not None:
        (tmp_path / "page.har").write_bytes(text)
    with pytest.raises(ExperimentError) as error:
        experiment(tmp_path, more)
    assert message in str(error.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just(f"{ORIGIN}/a"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["url", "stack", "parent"]), inner),
    max_leaves=8,
)
KEYS = ("startedDateTime", "time", "request", "response", "_initiator")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file in which any value of any entry may be another one."""
    entries = []
    for number in range(draw(st.integers(1, 4))):
        drawn: dict[str, Any] = entry(
            f"{ORIGIN}/{number}", draw(st.integers(0, 59_999)), _initiator={"url": f"{ORIGIN}/0"}
        )
        for key in draw(st.sets(st.sampled_from(KEYS), max_size=2)):
            drawn[key] = draw(VALUES)
        for part in (drawn["request"], drawn["response"]):
            if isinstance(part, dict) and draw(st.booleans()):
                part[draw(st.sampled_from(["url", "status", "bodySize", "content", "redirectURL"]))] = draw(VALUES)
        entries.append(drawn)
    return har(*entries)


@settings(max_examples=200, deadline=None)
@given(text=damaged() | st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_no_file_is_more_than_a_page_or_an_error(text: bytes) -> None:
    try:
        page = page_of(text)
    except HarError:
        return
    assert 0 < len(page.objects) <= MAX_OBJECTS
    for index, item in enumerate(page.objects):
        assert item.after is None or 0 <= item.after < index
    numbers = base64.b64decode(page.encoded)
    assert len(numbers) >= 3 * len(page.objects)
