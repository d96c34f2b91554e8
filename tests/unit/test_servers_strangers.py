"""Manifests and records of strangers that measure to servers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reach_agents import RecordedAgent
from reach_runs import (
    NAMES,
    experiment,
    fault_sentences,
    measured,
)

from sixbench.cli.consent import require_consent_to_pace
from sixbench.cli.main import main
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import StoreError, UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.survey import ServerAddresses, Survey, SurveyedServer, Vantage
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml
from sixbench.store.manifest_json import manifest_from_json, manifest_to_json


def test_a_manifest_whose_survey_lacks_a_server_is_refused() -> None:
    run = measured(RecordedAgent(names=NAMES), experiment("www.example.org"))
    data = json.loads(json.dumps(manifest_to_json(run.manifest)))
    data["environment"]["survey"]["servers"] = []
    with pytest.raises(StoreError, match=r"the survey lacks .*www\.example\.org.*, to which c0001 goes"):
        manifest_from_json(data, "manifest.json")


EVIL = "\x1b[31m\u202e"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("vantage", "proxies"), [EVIL]),
        (("cannot",), {"ping": EVIL}),
        (("cannot",), {"ping": "x" * 10**5}),
        (("servers", 0, "left_out"), {EVIL: "text"}),
        (("servers", 0, "announced"), ["h3"] * 20_000),
        (("servers", 0, "families", "ipv6", "address"), EVIL),
        (("servers", 0, "families", "ipv5"), {}),
    ],
)
def test_a_survey_that_cannot_be_shown_is_refused(place: tuple[Any, ...], value: Any) -> None:
    run = measured(RecordedAgent(names=NAMES), experiment("www.example.org"))
    data = json.loads(json.dumps(manifest_to_json(run.manifest)))
    *within, last = place
    part = data["environment"]["survey"]
    for key in within:
        part = part[key]
    part[last] = value
    with pytest.raises(StoreError, match="the survey has") as raised:
        manifest_from_json(data, "manifest.json")
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"servers": [{"name": EVIL}]}, "a server has the name"),
        ({"servers": [{"name": "0.0.0.0"}]}, "a server has the name"),
        ({"servers": [{"name": "www.example.org", "port": 0}]}, "and the port 0"),
        ({"servers": [{"name": "other.example"}]}, r"its server is .*www\.example\.org"),
    ],
)
def test_servers_of_a_manifest_that_are_none_are_refused(change: dict[str, Any], words: str) -> None:
    run = measured(RecordedAgent(names=NAMES), experiment("www.example.org"))
    data = json.loads(json.dumps(manifest_to_json(run.manifest)))
    data["experiment"] |= change
    with pytest.raises(StoreError, match=words):
        manifest_from_json(data, "manifest.json")


@pytest.mark.parametrize("workload", [{"kind": "udp-stream", "params": {}}, {"kind": "tcp-connect", "params": {}}])
def test_a_manifest_asks_nothing_of_servers_that_nobody_can(workload: dict[str, Any]) -> None:
    run = measured(RecordedAgent(names=NAMES), experiment("www.example.org"))
    data = json.loads(json.dumps(manifest_to_json(run.manifest)))
    data["experiment"]["combinations"][0]["workload"] = workload
    with pytest.raises(StoreError, match="with its parameters goes to no server"):
        manifest_from_json(data, "manifest.json")


def test_a_manifest_without_a_survey_is_refused() -> None:
    run = measured(RecordedAgent(names=NAMES), experiment("www.example.org"))
    data = json.loads(json.dumps(manifest_to_json(run.manifest)))
    del data["environment"]["survey"]
    with pytest.raises(StoreError, match="has no survey of them"):
        manifest_from_json(data, "manifest.json")


def test_records_of_strangers_are_shown_within_bounds() -> None:
    run = measured(RecordedAgent(names=NAMES), experiment("www.example.org"))
    odd: list[dict[str, Any]] = [
        {"outcome": f"{EVIL}{number}" + "x" * 9000, "reason": EVIL + "y" * 9000} for number in range(500)
    ]
    odd += [{"outcome": ["silence"], "icmp": {"type": "z" * 9000, "code": {}, "from": EVIL}, "status": [429]}]
    trials = [replace(trial, client={"attempts": odd}) for trial in run.trials]
    sentences = fault_sentences(replace(run, trials=trials))
    assert all(text.isprintable() and len(text) < 5000 for text in sentences)
    assert len(sentences) == 2


STRANGE = "experiment: a\nservers: [{name: NAME, mine: true}]\nworkloads: [tcp-connect]\nblocks: 3\n"


def strange(name: str) -> Experiment:
    return read_experiment(parse_yaml(STRANGE.replace("NAME", name), "test.yaml"), MECHANISMS)


def test_an_experiment_of_others_does_not_lift_the_pace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "servers.yaml"
    file.write_text(STRANGE.replace("NAME", "www.example.org"))
    assert main(["run", str(file), "--out", str(tmp_path / "run")]) == 2
    assert "connection a second go to www.example.org. If the servers are yours, allow it with --mine" in (
        " ".join(capsys.readouterr().err.split())
    )
    assert not (tmp_path / "run").exists()
    require_consent_to_pace(strange("www.example.org"), allowed=True)
    require_consent_to_pace(strange("192.168.1.20"), allowed=False)
    with pytest.raises(UsageError, match=r"8\.8\.8\.8"):
        require_consent_to_pace(strange("8.8.8.8"), allowed=False)


@pytest.mark.parametrize(("address", "is_refused"), [("8.8.8.8", True), ("192.168.1.20", False)])
def test_a_run_of_others_that_goes_on_does_not_lift_the_pace(address: str, is_refused: bool) -> None:
    entry = ServerAddresses(addresses=("192.168.1.20",), address=address, source="192.168.1.2")
    surveyed = SurveyedServer(label="www.example.org", families={"ipv4": entry}, mine=True)
    survey = Survey(vantage=Vantage(), servers=(surveyed,))
    if is_refused:
        with pytest.raises(UsageError, match=r"www\.example\.org"):
            require_consent_to_pace(experiment("www.example.org"), [survey], allowed=False)
    else:
        require_consent_to_pace(experiment("www.example.org"), [survey], allowed=False)
