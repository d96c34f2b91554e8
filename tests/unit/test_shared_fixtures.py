"""Fixtures that tests share end with the last of these tests, whichever tests run in one process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.computes

TESTS = Path(__file__).parents[1]


def test_fixtures_of_a_package_are_in_a_package() -> None:
    """Without `__init__.py` pytest keeps them until all tests are over. Playwright refuses a second browser then, and
    other tests, which count this process's children, count the first."""
    holders = [file for file in TESTS.rglob("*.py") if re.search(r"scope=.package.\)", file.read_text())]
    assert TESTS / "pages/ui/conftest.py" in holders
    assert [file for file in holders if not (file.parent / "__init__.py").exists()] == []
