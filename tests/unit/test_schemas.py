"""Run directories that were written before are read: `tests/schemas` has some of each schema, as they were written.

A schema that has a fixture there is read for as long as the fixture is there. A new schema gets one of its own, by
`sixbench run` on the `experiment.yaml` of the one before, without what `sixbench report` derives.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sixbench.analysis import analyse
from sixbench.model.record_json import record_to_json
from sixbench.model.trial import TrialRecord
from sixbench.report import FORMATS
from sixbench.report.evidence import PacketSum, by_path
from sixbench.report.evidence.losses import LossSum
from sixbench.report.evidence.tunnels import TunnelSum
from sixbench.store import Run, details, read_run, verify_run
from sixbench.store.ledger import hashes_of

pytestmark = pytest.mark.computes

SCHEMAS = Path(__file__).parents[1] / "schemas"
FRAGMENTS, EVENTS = (SCHEMAS / "run-2" / name for name in ("fragments", "events"))
DIRECTORIES = sorted(manifest.parent for manifest in SCHEMAS.rglob("manifest.json"))


def known(data: Any) -> Any:
    """JSON without what is null: a key that is null says as little as one that is not there."""
    if isinstance(data, dict):
        return {key: known(value) for key, value in data.items() if value is not None}
    return [known(value) for value in data] if isinstance(data, list) else data


def written(directory: Path, trial: TrialRecord) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((directory / "trials" / trial.key / "trial.json").read_text())
    return content


@pytest.fixture(params=DIRECTORIES, ids=[str(directory.relative_to(SCHEMAS)) for directory in DIRECTORIES])
def run(request: pytest.FixtureRequest) -> Run:
    return read_run(request.param)


def test_every_trial_is_read_and_is_as_it_was_recorded(run: Run) -> None:
    assert verify_run(run) == []
    assert {trial.key for trial in run.trials} == run.manifest.accepted.keys()


@pytest.mark.parametrize("kept_bytes", [0, details.MOST_KEPT_BYTES], ids=["read-again", "in-memory"])
def test_nothing_that_a_record_says_is_lost_by_reading_it(
    run: Run, kept_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(details, "MOST_KEPT_BYTES", kept_bytes)
    for trial in read_run(run.directory).trials:
        before = written(run.directory, trial)
        assert known(json.loads(json.dumps(record_to_json(trial)))) == known(before) | {
            "schema": record_to_json(trial)["schema"]
        }


@pytest.mark.parametrize("name", ["terminal", "json", "html"])
def test_it_is_reported(run: Run, name: str, tmp_path: Path) -> None:
    copy = read_run(shutil.copytree(run.directory, tmp_path / run.directory.name))
    assert len(FORMATS[name].render(copy, analyse(copy))) > 100


def test_what_the_report_says_of_fragments_losses_and_a_tunnel() -> None:
    paths = by_path(read_run(FRAGMENTS))
    native, tunnel = (path.of(PacketSum) for path in paths)
    assert [link.link for link in native.links] == ["access", "core", "exit"]
    assert (native.middle, tunnel.middle) == (native.links[1], tunnel.links[1])
    assert [link.claimed for link in tunnel.links] == [["ipv6"], ["ipv6 in ipv4"], ["ipv6"]]
    assert tunnel.links[1].seen == {"ipv6 in ipv4": 30}
    assert tunnel.links[1].outer == {"198.18.1.1 > 198.18.1.2": 30}
    assert [(end.node, end.carried_packets) for end in paths[1].of(TunnelSum).ends] == [("r1", 42), ("r2", 30)]
    lost = [(place.where, place.datagrams, place.other_packets) for place in paths[1].of(LossSum).places]
    assert lost == [("on core, coming from r1", 7, 5), ("at an unknown place", 4, 0)]


def test_what_a_record_says_of_an_event() -> None:
    [trial] = read_run(EVENTS).trials
    assert (trial.status, trial.reasons) == ("ok", [])
    [event] = trial.evidence.events or ()
    assert (event.link, event.mtu_bytes, event.due_ns) == ("four", 1400, 50_000_000)


def test_a_worker_that_was_called_a_cell(tmp_path: Path) -> None:
    """As in `sixbench.run/2` and `sixbench.trial/2`."""
    directory = shutil.copytree(EVENTS, tmp_path / "events")
    [record] = directory.glob("trials/*/trial.json")
    trial = json.loads(record.read_text()) | {"cell": "lab1", "attempt": 1}
    record.write_text(json.dumps(trial))
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["cells"] = {"lab1": {"environment": manifest["environment"]}}
    manifest["accepted"][trial["key"]] |= hashes_of({"trial.json": record.read_bytes()})
    (directory / "manifest.json").write_text(json.dumps(manifest))
    run = read_run(directory)
    assert run.problems == ()
    assert run.manifest.workers.keys() == {"lab1"}
    assert [trial.worker for trial in run.trials] == ["lab1"]
