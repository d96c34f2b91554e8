"""Experiments with servers that are measured from several machines, by agents with recorded answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from reach_agents import MS, RecordedAgent

from sixbench.analysis import analyse
from sixbench.bench.servers.hiding import HIDDEN
from sixbench.bench.servers.probes.prober import Probed
from sixbench.bench.servers.probing import probe_servers
from sixbench.bench.servers.rests import ServerRests
from sixbench.bench.servers.runner import ServerRunner
from sixbench.cli.consent import require_consent_to_hosts
from sixbench.cli.main import main
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import CapabilityError, ExperimentError, StoreError, UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.observer import Observer
from sixbench.model.survey import Survey
from sixbench.plan.changes import ExperimentChanges
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.hosts_override import number_of_vantages, with_vantages
from sixbench.plan.reach_experiment import ReachOptions, server_of, text_of
from sixbench.plan.schedule import all_trials
from sixbench.plan.yaml_source import Source, parse_yaml
from sixbench.report import servers, terminal
from sixbench.report.server_faults import faults_by_vantage
from sixbench.store import Environment, Manifest, Run
from sixbench.store.manifest_json import manifest_from_json, manifest_to_json

V4, V6 = "203.0.113.1", "2001:db8:1::1"
NAMES = {"www.example.org": {"A": [V4], "AAAA": [V6]}}
HOSTS = "hosts:\n  berlin: {ssh: bench@berlin}\n  oslo: {ssh: bench@oslo}\n"


def source(hosts: str = HOSTS, *, names: str = "[www.example.org]", blocks: int = 8, more: str = "") -> Source:
    workloads = "workloads: [tcp-connect]\nrepeats: 0\n"
    text = f"experiment: reach\nservers: {names}\n{workloads}blocks: {blocks}\n{more}{hosts}"
    return parse_yaml(text, "reach.yaml")


def read(given: Source) -> Experiment:
    return read_experiment(given, MECHANISMS)


@dataclass(kw_only=True)
class RecordedHosts:
    """Starts recorded agents on hosts.

    Attributes:
        agents: by host.
        gone: hosts that cannot be reached.
    """

    agents: dict[str | None, RecordedAgent]
    gone: set[str] = field(default_factory=set)
    joined: set[str] = field(default_factory=set)

    def has_joined(self, name: str) -> bool:
        return name in self.joined

    def join(self, hosts: list[Any]) -> None:
        for host in hosts:
            if host.name in self.gone:
                raise CapabilityError(f"reaching {host.name} ({host.ssh}): Connect call failed ('192.0.2.66', 22)")
            self.joined.add(host.name)

    def start_here(self, name: str, on: str | None = None) -> RecordedAgent:
        return self.agents[on]

    def stop(self, agents: list[Any]) -> None:
        """They need no end."""


def hosts_with(**rtts: Callable[[str], int]) -> RecordedHosts:
    """A host for each name, with its own round trips and its own addresses."""
    agents: dict[str | None, RecordedAgent] = {
        name: RecordedAgent(names=NAMES, rtt_ns=rtt_ns, sources={4: f"198.51.{number}.7", 6: f"2001:db8:{number}::7"})
        for number, (name, rtt_ns) in enumerate(rtts.items(), start=100)
    }
    return RecordedHosts(agents=agents)


def twice(address: str) -> int:
    return 20 * MS if ":" in address else 10 * MS


def same(address: str) -> int:
    return 10 * MS


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found out about this machine, nor about the system of a host."""
    environment = Environment(kernel="", machine="", cpu="", distribution="", cores=1, memory_bytes=0, versions={})
    probing = "sixbench.bench.servers.probing"
    monkeypatch.setattr(f"{probing}.gather", lambda *_, **__: environment)
    monkeypatch.setattr(f"{probing}.read_sysctls", lambda _: {})
    monkeypatch.setattr(f"{probing}.find_agent", Path)
    monkeypatch.setattr(f"{probing}.facts_of", lambda _: None)


def probed(hub: RecordedHosts, given: Source) -> tuple[Experiment, Environment]:
    hub.agents.setdefault(None, RecordedAgent())
    experiment, environment = probe_servers(cast(Any, hub), read(given), lambda: given)
    return experiment, replace(environment, hosts={})


def runner_of(hub: RecordedHosts, planned: Experiment, surveys: dict[str | None, Survey]) -> ServerRunner:
    return ServerRunner(
        hub=cast(Any, hub),
        experiment=planned,
        surveys=surveys,
        observer=Observer(),
        presence=None,
        directory=None,
        rests=ServerRests(sleep=lambda _: None),
    )


def measured(hub: RecordedHosts, given: Source) -> Run:
    planned, environment = probed(hub, given)
    runner = runner_of(hub, planned, environment.all_surveys)
    records = [runner.run(trial, number)[0].record for number, trial in enumerate(all_trials(planned), start=1)]
    manifest = Manifest(
        run="test",
        experiment=planned,
        environment=environment.with_surveys(runner.last_surveys()),
        state="complete",
        started_realtime_ns=1,
    )
    return Run(directory=Path(), manifest=manifest, trials=records)


def shown(run: Run) -> str:
    return " ".join(terminal.render(run, analyse(run)).split())


def test_each_vantage_has_its_own_change() -> None:
    run = measured(hosts_with(berlin=twice, oslo=same), source())
    assert {trial.status for trial in run.trials} == {"ok"}
    changes = {
        finding.levels["vantage"]: finding.ratio
        for finding in analyse(run).findings
        if finding.metric == "connect_p50" and finding.path == "ipv6"
    }
    assert changes == {"berlin": pytest.approx(2), "oslo": pytest.approx(1)}
    assert {trial.evidence.client for trial in run.trials if trial.levels["vantage"] == "oslo"} == {
        "198.51.101.7",
        "2001:db8:101::7",
    }


def test_servers_are_pooled_within_a_vantage_and_never_over_vantages() -> None:
    names = {"a.example": NAMES["www.example.org"], "b.example": NAMES["www.example.org"]}
    hub = hosts_with(berlin=twice, oslo=same)
    for agent in hub.agents.values():
        agent.names = names
    analysis = analyse(measured(hub, source(names="[a.example, b.example]")))
    groups = [group for group in analysis.groups if group.metric == "connect_p50"]
    assert [(group.factor, group.levels, len(group.members)) for group in groups] == [
        ("server", {"vantage": "berlin"}, 2),
        ("server", {"vantage": "oslo"}, 2),
    ]


def test_the_report_says_what_is_seen_from_where() -> None:
    hub = hosts_with(berlin=same, oslo=same)
    hub.agents["oslo"].outcomes[("tcp-connect", V6)] = "silence"
    run = measured(hub, source())
    text = shown(run)
    assert "At berlin and oslo: IPv6 from here is native; IPv4 from here is native." in text
    [fault] = faults_by_vantage(run)["oslo"]
    assert fault.startswith(f"IPv6 to www.example.org ({V6}) fails by tcp-connect: SYN unanswered in 8 of 8")
    assert faults_by_vantage(run)["berlin"] == []
    table = servers.faults_table(run)
    assert table is not None
    assert table.rows == [["oslo", fault]]


def test_a_vantage_without_a_family_is_said_and_the_others_go_on() -> None:
    hub = hosts_with(berlin=same, oslo=same)
    hub.agents["oslo"].interfaces[V6] = None
    run = measured(hub, source())
    assert "At oslo: IPv6 leads to no server from here; IPv4 from here is native." in shown(run)
    paths = {(trial.levels["vantage"], trial.path) for trial in run.trials}
    assert paths == {("berlin", "ipv4"), ("berlin", "ipv6"), ("oslo", "ipv4")}


def test_a_manifest_of_vantages_is_read_back_and_checked() -> None:
    run = measured(hosts_with(berlin=same, oslo=same), source())
    data = json.loads(json.dumps(manifest_to_json(run.manifest)))
    assert manifest_from_json(data, "manifest.json") == run.manifest
    del data["environment"]["surveys"]["oslo"]
    with pytest.raises(StoreError, match="no survey of them, or one from elsewhere than its vantages"):
        manifest_from_json(data, "manifest.json")


def test_a_level_that_is_no_vantage_is_refused() -> None:
    run = measured(hosts_with(berlin=same, oslo=same), source())
    data = json.loads(json.dumps(manifest_to_json(run.manifest)))
    data["experiment"]["combinations"][0]["levels"]["vantage"] = "rome"
    with pytest.raises(StoreError, match='c0001 has the vantage "rome", which the experiment lacks'):
        manifest_from_json(data, "manifest.json")


def test_vantages_that_cannot_be_reached_are_named_with_their_lines() -> None:
    hub = hosts_with(berlin=same, oslo=same)
    hub.gone |= {"berlin", "oslo"}
    with pytest.raises(CapabilityError) as error:
        probed(hub, source())
    first, second = str(error.value).splitlines()
    assert first.startswith("reach.yaml:7: hosts.berlin: reaching berlin (bench@berlin): Connect call failed")
    assert second.startswith("reach.yaml:8: hosts.oslo: reaching oslo (bench@oslo)")


def test_a_vantage_that_goes_in_mid_run_fails_its_trials_alone() -> None:
    hub = hosts_with(berlin=same, oslo=same)
    planned, environment = probed(hub, source(blocks=2))
    runner = runner_of(hub, planned, environment.all_surveys)
    hub.gone.add("oslo")
    hub.joined.discard("oslo")
    records = [runner.run(trial, number)[0].record for number, trial in enumerate(all_trials(planned), start=1)]
    status = {(record.levels["vantage"], record.status) for record in records}
    assert status == {("berlin", "ok"), ("oslo", "failed")}
    [text] = {reason.text for record in records for reason in record.reasons}
    assert text.startswith("reaching oslo (bench@oslo)")
    assert runner.last_surveys().keys() == {"berlin"}


def test_addresses_of_all_vantages_are_hidden() -> None:
    hub = hosts_with(berlin=same, oslo=same)
    run = measured(hub, source(more="hide-addresses: true\n"))
    everything = json.dumps(manifest_to_json(run.manifest)) + "".join(
        json.dumps([trial.client, str(trial.evidence), trial.notes]) for trial in run.trials
    )
    for prefix in ("198.51.100.", "198.51.101.", "2001:db8:100:", "2001:db8:101:"):
        assert prefix not in everything
    assert V6 in everything
    assert {trial.evidence.client for trial in run.trials} == {HIDDEN}


def test_an_error_of_ssh_has_no_address_where_they_are_hidden() -> None:
    hub = hosts_with(berlin=same, oslo=same)
    hub.gone.add("oslo")
    with pytest.raises(CapabilityError) as error:
        probed(hub, source(more="hide-addresses: true\n"))
    assert "oslo cannot be reached; see what this says: ssh bench@oslo true" in str(error.value)
    assert "192.0.2.66" not in str(error.value)


@pytest.mark.parametrize(
    ("hosts", "more", "words"),
    [
        (
            "hosts:\n  here:\n  local:\n",
            "",
            "reach.yaml:8: hosts.local: here and local are both this machine; keep one",
        ),
        (
            "hosts:\n  a: {ssh: x@y}\n  b: {ssh: x@y}\n",
            "",
            "reach.yaml:8: hosts.b: a and b are both x@y; keep one",
        ),
        (
            "hosts:\n  a: {ssh: 'x@[2001:db8::1]:22'}\n",
            "hide-addresses: true\n",
            "reach.yaml:8: hosts.a.ssh: the run's files name a so, and its address is to be hidden; give it a name in "
            "~/.ssh/config, and that name here",
        ),
        (
            "hosts:\n  a: {ssh: x@y, address: 192.0.2.9}\n",
            "hide-addresses: true\n",
            "reach.yaml:8: hosts.a.address: the address of a is to be hidden, and servers are measured without it; "
            "leave it out",
        ),
        ("hosts:\n  a: {shh: x@y}\n", "", 'reach.yaml:7: hosts.a.shh: unknown key; did you mean "ssh"?'),
    ],
)
def test_vantages_that_are_wrong(hosts: str, more: str, words: str) -> None:
    with pytest.raises(ExperimentError) as error:
        read(source(hosts, more=more))
    assert words in str(error.value)


def test_the_file_of_vantages_is_named_in_its_errors(tmp_path: Path) -> None:
    file = tmp_path / "vantage.yaml"
    file.write_text("hosts:\n  a: {ssh: x@y}\n  b: {ssh: x@y}\n")
    with pytest.raises(ExperimentError) as error:
        read(with_vantages(source(""), file))
    assert str(error.value).startswith(f"{file}:3: hosts.b: a and b are both x@y")
    file.write_text("nodes: {client: a}\n")
    with pytest.raises(ExperimentError, match=r"vantage\.yaml:1: nodes: unknown key; known here: hosts"):
        number_of_vantages(file)
    file.write_text("hosts: {}\n")
    with pytest.raises(ExperimentError, match="it names no machine; give one"):
        number_of_vantages(file)


def test_the_file_that_a_run_keeps_has_its_vantages(tmp_path: Path) -> None:
    file = tmp_path / "vantage.yaml"
    file.write_text(f"{HOSTS}  local:\n")
    options = ReachOptions(servers=(server_of("www.example.org"),), vantages=number_of_vantages(file))
    planned = read(with_vantages(parse_yaml(text_of(options), "the command line"), file))
    assert [host.name for host in planned.vantages] == ["berlin", "oslo", "local"]
    assert read(parse_yaml(planned.text, "experiment.yaml")).vantages == planned.vantages


def test_many_vantages_leave_fewer_blocks(tmp_path: Path) -> None:
    names = [f"h{number}" for number in range(60)]
    file = tmp_path / "vantage.yaml"
    file.write_text("hosts:\n" + "".join(f"  {name}: {{ssh: {name}}}\n" for name in names))
    options = ReachOptions(servers=tuple(server_of(f"s{number}.example") for number in range(20)), vantages=60)
    read(with_vantages(parse_yaml(text_of(options), "the command line"), file))


def test_the_command_says_what_is_wrong_with_a_vantage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "vantage.yaml"
    assert main(["reach", "www.example.org", "--from", str(file)]) == 2
    assert f"reading {file}: No such file or directory" in capsys.readouterr().err


def test_going_on_from_other_machines_takes_consent() -> None:
    planned = read(source())
    with pytest.raises(UsageError, match=r"is measured from other machines, .*bench@berlin, bench@oslo.*--allow-hosts"):
        require_consent_to_hosts(planned, allowed=False)
    require_consent_to_hosts(planned, allowed=True)
    require_consent_to_hosts(read(source("hosts:\n  local:\n")), allowed=False)


@dataclass(kw_only=True)
class _Body:
    outcome: str = "answered"
    body_bytes: int = 0


def test_vantages_do_not_ask_a_server_one_right_after_the_other() -> None:
    slept: list[float] = []
    rests = ServerRests(now_ns=lambda: 0, sleep=slept.append)
    nothing = Probed(attempts=[], result={})
    rests.wait(V4, "berlin")
    rests.note(V4, "berlin", nothing)
    rests.wait(V4, "berlin")  # its own agent keeps the rest
    rests.wait(V6, "oslo")
    assert slept == []
    rests.wait(V4, "oslo")
    rests.note(V4, "oslo", Probed(attempts=cast(Any, [_Body(body_bytes=2**20)]), result={}))
    rests.wait(V4, "berlin")
    assert slept == [1, 16]


def test_an_experiment_with_servers_gets_its_vantages_by_hosts_too(tmp_path: Path) -> None:
    file = tmp_path / "vantage.yaml"
    file.write_text(HOSTS)
    planned = read(ExperimentChanges(hosts=file).apply_to(source("")))
    assert [(host.name, host.ssh) for host in planned.vantages] == [("berlin", "bench@berlin"), ("oslo", "bench@oslo")]
