"""CITATION.cff is what reference managers read: valid, and of this version."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import sixbench

pytestmark = pytest.mark.computes

REPOSITORY = Path(__file__).parents[2]

KEYS = {
    *("abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords"),
    *("license", "license-url", "message", "preferred-citation", "references", "repository", "repository-artifact"),
    *("repository-code", "title", "type", "url", "version"),
}
"""All that the Citation File Format 1.2.0 has at the top level."""


def test_the_citation_is_valid_and_of_this_version() -> None:
    cited = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert cited.keys() <= KEYS
    assert {"cff-version", "message", "title", "authors"} <= cited.keys(), "what the format demands"
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] in ("software", "dataset")
    assert cited["authors"] == [{"name": "The sixbench developers"}]
    assert cited["version"] == project["version"] == sixbench.__version__
    assert cited["license"] == project["license"].split(" AND ")[0], "of sixbench itself, without what it brings"
    assert all(isinstance(word, str) for word in cited["keywords"])


def test_the_documents_say_how_to_cite() -> None:
    assert re.search(r"\(CITATION\.cff\)", (REPOSITORY / "README.md").read_text())
