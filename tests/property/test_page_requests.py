"""Requests of the page that nobody's browser sends: each is refused in words, and the next good one is answered."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from served import OWN_ORIGIN, served
from starlette.testclient import TestClient

pytestmark = pytest.mark.computes

ADDRESSES = ("/api/check", "/api/start", "/api/measure/check", "/api/measure/start")
NAMES = ("name", "text", "quick", "blocks", "settings", "port", "key", "options", "ask", "number")
GOOD = {"host": "192.0.2.1", "options": "-46"}

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.just("\ud800")
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


def deep(opening: str, closing: str, levels: int) -> bytes:
    return (opening * levels + "0" + closing * levels).encode()


DEEP = st.builds(
    deep, st.sampled_from(['{"name": ', '{"settings": ', '{"text": ']), st.just("}"), st.integers(17, 900)
) | st.builds(deep, st.just("["), st.just("]"), st.integers(1, 2000))

TWICE = st.builds(
    lambda name, value: f'{{"{name}": {value}, "{name}": {value}}}'.encode(), st.sampled_from(NAMES), st.integers()
)


BODIES = VALUES.map(lambda value: json.dumps(value).encode()) | DEEP | TWICE | st.binary(max_size=200)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("runs")) as served_page:
        yield served_page


@given(address=st.sampled_from(ADDRESSES), body=BODIES)
@example(address="/api/start", body=b"[" * 959 + b"]" * 959)
@example(address="/api/start", body=b"[" * 2**17)
@example(address="/api/start", body=b'{"name": "quickstart", "blocks": NaN}')
@example(address="/api/start", body=b'{"name": "quickstart", "blocks": ' + b"9" * 5000 + b"}")
@example(address="/api/start", body=b'{"name": "quickstart", "settings": ["seed=\\ud800"]}')
@example(address="/api/measure/start", body=b'{"host": "\\ud800"}')
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_cannot_be_asked_is_refused_in_words_and_the_next_request_is_answered(
    client: TestClient, address: str, body: bytes
) -> None:
    answer = client.post(address, content=body, headers=OWN_ORIGIN)
    assert 400 <= answer.status_code < 500
    assert all(isinstance(line, str) and line for line in answer.json()["problems"])
    assert client.get("/api/jobs").json() == {"jobs": []}
    right = client.post("/api/measure/check", json=GOOD, headers=OWN_ORIGIN)
    assert (right.status_code, right.json()["command"].split()[:3]) == (200, ["sixbench", "measure", "192.0.2.1"])
