"""The matrix of path MTU discovery."""

from __future__ import annotations

import pytest
from stored import bare_record

from sixbench.model.trial import TrialRecord
from sixbench.report.figures.path_mtu import _arrived, _searched

pytestmark = pytest.mark.computes


def trial(**metrics: float) -> TrialRecord:
    return bare_record("udp-stream", metrics=metrics)


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        ({"loss_ratio": 0.0}, "0 %"),
        ({"loss_ratio": 0.02, "refused_ratio": 0.0}, "2 %"),
        ({"loss_ratio": 1.0, "refused_ratio": 0.98}, "100 %"),
        ({"refused_ratio": 1.0}, "100 %"),
    ],
)
def test_what_was_refused_did_not_arrive_either(metrics: dict[str, float], text: str) -> None:
    assert _arrived([trial(**metrics)]).text == text


def test_nothing_is_said_where_there_is_no_trial() -> None:
    assert _arrived([]).text == _searched([]).text == "–"


def test_a_search_that_cannot_be_judged_is_left_open() -> None:
    assert _searched([trial(pmtu_forward_bytes=1400.0)]).text == "–"
