"""The JSON of run directories is read as Python's own parser reads it, by whichever parser is faster."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sixbench.model.errors import StoreError
from sixbench.store.run_json import json_object

pytestmark = pytest.mark.computes

HERE = Path("runs/mine")
CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"

texts = st.text(st.characters(exclude_categories=["Cs"]).filter(lambda letter: not re.match(f"[{CONTROLS}]", letter)))
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def exact(value: Any) -> str:
    """The value with the types and all digits of its numbers."""
    return repr(value)


@settings(max_examples=50)
@given(st.dictionaries(texts, values, max_size=5), st.booleans())
def test_every_value_comes_back_as_it_was_written(written: dict[str, Any], is_ascii: bool) -> None:
    content = json.dumps(written, ensure_ascii=is_ascii).encode()
    assert exact(json_object(content, HERE)) == exact(written)


@pytest.mark.parametrize(
    "number",
    [
        *("-0", "-0.0", "5", "5.0", "5e0", "0.1", "1.0000000000000002220446049250313"),
        *("1E400", "1e-400", "2.5e-324", "1.7976931348623157e308"),
        *("9007199254740993", "9223372036854775808", "-9223372036854775809", "9" * 4300),
    ],
)
def test_numbers_are_those_that_python_reads(number: str) -> None:
    content = f'{{"a": {number}}}'
    assert exact(json_object(content.encode(), HERE)) == exact(json.loads(content))


def test_the_last_of_equal_keys_counts() -> None:
    assert json_object(b'{"a": 1, "b": 2, "a": 3}', HERE) == {"a": 3, "b": 2}


@pytest.mark.parametrize(
    "content", [b'{"a": 01}', b'{"a": 1,}', b'{"a": 1} x', b'{"a": "\n"}', b'{"a": "\xff"}', b"", b"\xef\xbb\xbf{}"]
)
def test_what_is_not_json_is_refused_in_the_words_of_python(content: bytes) -> None:
    with pytest.raises((json.JSONDecodeError, UnicodeDecodeError)) as words:  # these differ between versions of Python
        json.loads(content.decode())
    with pytest.raises(StoreError) as error:
        json_object(content, HERE, "trials", "trial.json")
    assert str(error.value) == f"runs/mine/trials/trial.json: not JSON: {words.value}"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused(number: str) -> None:
    with pytest.raises(StoreError) as error:
        json_object(f'{{"a": {number}}}'.encode(), HERE, "trials", "trial.json")
    assert str(error.value) == f"runs/mine/trials/trial.json: not JSON: {number} is not a number"


def test_half_a_surrogate_pair_is_no_character() -> None:
    assert json_object(rb'{"a": "\ud83d\ude00"}', HERE) == {"a": "\U0001f600"}
    with pytest.raises(StoreError, match=r"not JSON: .*surrogates not allowed"):
        json_object(rb'{"a": "\ud83d"}', HERE)


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b'{"a": "\x7f"}', "\\x7f"),
        (rb'{"a": "\u001b[2J"}', "\\x1b[2J"),
        (rb'{"a": "\r"}', "\\r"),
        ('{"a": "\u202e"}'.encode(), "\\u202e"),
        ('{"a": "é\x85"}'.encode(), "é\\x85"),
    ],
)
def test_control_characters_stand_escaped_in_texts(content: bytes, shown: str) -> None:
    assert json_object(content, HERE) == {"a": shown}


@pytest.mark.parametrize("levels", [41, 150, 600])
def test_deep_values_are_refused(levels: int) -> None:
    content = b'{"a": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"
    with pytest.raises(StoreError, match="runs/mine: more than 40 levels deep"):
        json_object(content, HERE)
