"""What `tools/test-fresh` refuses before it makes anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("runs", "settings", "said"),
    [
        (["rot"], {}, "rot is not a run; there are root, lint, long, peers, guest, user and wheels"),
        (["root"], {"FRESH_COMMIT": "0123456"}, "FRESH_COMMIT: 0123456 is no commit here"),
    ],
)
def test_what_is_not_there_is_refused_by_name(runs: list[str], settings: dict[str, str], said: str) -> None:
    done = subprocess.run(
        [ROOT / "tools" / "test-fresh", *runs], env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"test-fresh: {said}\n"
