"""Outcomes of a tunnel's packets stand in `bpf/outcomes.h`. Whoever else names reasons is held against it."""

import json
import re
from pathlib import Path

import pytest

from sixbench.model.device import QUIET_DROPS

pytestmark = pytest.mark.computes

ROOT = Path(__file__).parents[2]
DROPPED_BY_THE_SLOW_PATH = "outer-too-big"
"""Reason of packets that programs leave to the slow path, which drops them where they may not be fragmented."""


def reasons(*verdicts: str) -> set[str]:
    """Those with which a packet can be counted."""
    header = (ROOT / "bpf" / "outcomes.h").read_text()
    lines = re.findall(r'OUTCOME\((\w+), "([a-z0-9-]+)", (\w+),', header)
    return {reason for name, reason, verdict in lines if verdict in verdicts and name != "UNDECIDED"}


def documented(kind: str) -> set[str]:
    """Reasons of `slow` or of `drops` in the protocol document."""
    paragraphs = (ROOT / "docs" / "protocol.md").read_text().split("\n\n")
    [paragraph] = [text for text in paragraphs if text.startswith(f"**Reasons of `{kind}`:**")]
    return set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", paragraph))


def test_the_protocol_document_names_each_reason() -> None:
    assert documented("slow") == reasons("SLOW")
    assert documented("drops") == reasons("DROP") | {DROPPED_BY_THE_SLOW_PATH}


def test_drops_that_mean_nothing_are_drops() -> None:
    assert reasons("DROP") >= QUIET_DROPS


def test_the_vectors_have_known_outcomes() -> None:
    vectors = [json.loads(path.read_text()) for path in (ROOT / "vectors" / "tunnel").glob("*.json")]
    assert {vector["outcome"] for vector in vectors} <= reasons("PASS", "DONE", "SLOW", "DROP")
