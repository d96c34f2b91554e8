"""Run directories that are damaged, or of other versions."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from reasons import kinds, texts
from stored import record

from sixbench.model.errors import StoreError
from sixbench.model.reason import ReasonKind
from sixbench.model.record_json import record_from_json, record_to_json
from sixbench.model.trial import TrialRecord
from sixbench.store import Manifest, create_run, read_run

pytestmark = pytest.mark.computes


def test_what_is_no_run_directory(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere", Path("/dev/null")):
        with pytest.raises(StoreError, match=r"is not a run directory: it has no manifest\.json"):
            read_run(place)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "schema nothing is not sixbench.run/3: written by another version of sixbench?"),
        (b'{"schema": "sixbench.run/9"}', 'schema "sixbench.run/9" is not sixbench.run/3'),
        (b'{"schema": "sixbench.run/3"}', "damaged manifest"),
        (b"[" * 100_000, "not JSON"),
        (b'{"schema": NaN}', "not JSON: NaN is not a number"),
    ],
)
def test_a_damaged_manifest(tmp_path: Path, manifest: Manifest, content: bytes, message: str) -> None:
    create_run(tmp_path / "run", manifest)
    (tmp_path / "run/manifest.json").write_bytes(content)
    with pytest.raises(StoreError, match=message) as caught:
        read_run(tmp_path / "run")
    assert "manifest.json" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "sixbench.trial/0"}, 'its schema is "sixbench.trial/0", and this sixbench reads sixbench.trial/3'),
        ({"sequence": "1"}, 'sequence is "1", which is not a whole number'),
        ({"metrics": 5}, "metrics is 5, which is not an object"),
        ({"reasons": None}, "reasons is nothing, which is not a list"),
        ({"status": "fine"}, 'status is "fine", which is not ok, invalid or failed'),
        ({"key": None}, "key is nothing, which is not text"),
        ({"block": True}, "block is true, which is not a whole number"),
    ],
)
def test_a_damaged_trial(tmp_path: Path, manifest: Manifest, change: dict[str, Any], message: str) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    run = read_run(tmp_path / "run")
    assert run.problems == (f"{path}: damaged trial record: {message}",)
    assert run.trials == []


def test_a_trial_that_lacks_a_key(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    data = json.loads(path.read_text())
    del data["status"]
    path.write_text(json.dumps(data))
    [problem] = read_run(tmp_path / "run").problems
    assert problem.startswith(f"{path}: damaged trial record: ")


def test_what_a_later_version_adds_is_ignored(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    for path in (tmp_path / "run/manifest.json", tmp_path / "run/trials/b001-c0001-ipv4/trial.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"added_later": {"a": 1}}))
    (tmp_path / "run/accepted.jsonl").unlink()
    run = read_run(tmp_path / "run")
    assert run.trials == [record()]
    assert run.manifest == manifest


@pytest.mark.parametrize("value", [[None], None], ids=["a list of nothing", "null"])
@pytest.mark.parametrize("name", [item.name for item in fields(TrialRecord)])
def test_every_field_of_a_record_is_checked(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name.removesuffix("s")):
        record_from_json(record_to_json(record()) | {name: value})


def test_a_record_whose_reasons_are_texts_is_still_read(tmp_path: Path, manifest: Manifest) -> None:
    """As `sixbench.trial/1` wrote them."""
    create_run(tmp_path / "run", manifest).add_trial(record(status="failed"), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    old = {"schema": "sixbench.trial/1", "reasons": ["h1: peer-lost", "tester-limited: sent 5"]}
    path.write_text(json.dumps(json.loads(path.read_text()) | old))
    (tmp_path / "run/accepted.jsonl").unlink()
    [trial] = read_run(tmp_path / "run").trials
    assert texts(trial.reasons) == ["h1: peer-lost", "tester-limited: sent 5"]
    assert kinds(trial.reasons) == [ReasonKind.UNTYPED, ReasonKind.UNTYPED]
    assert record_to_json(trial)["reasons"][0] == {"kind": "untyped", "text": "h1: peer-lost"}


@pytest.mark.parametrize("reasons", [["h1: peer-lost"], [{"kind": "nonsense", "text": "x"}], [{"text": "x"}]])
def test_reasons_of_another_form_are_damage(tmp_path: Path, manifest: Manifest, reasons: list[Any]) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"reasons": reasons}))
    [problem] = read_run(tmp_path / "run").problems
    assert problem.startswith(f"{path}: damaged trial record: ")
