"""The depth of JSON: by its value, and by its brackets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sixbench.model.nesting import depth, json_depth

pytestmark = pytest.mark.computes

MOST = 12
VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{}"\\\\a', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='[]{}"\\\\', max_size=3), inner, max_size=3)
    ),
)


@given(value=VALUES)
def test_brackets_tell_the_depth_of_a_value(value: object) -> None:
    assert json_depth(json.dumps(value).encode(), MOST) == depth(value, MOST)


@pytest.mark.parametrize("levels", [0, 1, MOST, MOST + 1, 900])
def test_depth_is_counted_up_to_one_more_than_the_bound(levels: int) -> None:
    text = "[" * levels + "0" + "]" * levels
    assert json_depth(text.encode(), MOST) == depth(json.loads(text), MOST) == min(levels, MOST + 1)
