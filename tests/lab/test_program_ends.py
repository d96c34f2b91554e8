"""Other people's servers with our client, and their clients with our server, over IPv4, IPv6 and NAT64.

Skipped where they are not installed (with the reason), failed there if `SIXBENCH_EXPECT_PROGRAMS=1`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lab.debian_servers import require_programs
from lab.experiments import Finished, run, wrong

from sixbench.agent import Agent, AgentHub, find_agent
from sixbench.bench.environment import end_versions
from sixbench.bench.requirements import check_ends, has_feature
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import AgentError, CapabilityError
from sixbench.model.programs import RECIPES, dnsperf
from sixbench.model.reason import ReasonKind
from sixbench.model.trial import TrialRecord
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

OTHERS = ("openssl",)
"""Programs that are no recipes."""
PATHS = ("ipv4", "ipv6", "nat64")
NETWORK = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6, nat64: {nat64: [r1]}}
blocks: 1
workloads:
"""
SERVERS = """\
  - dns: {count: 5, over: [udp, tcp, tls, https], connection: [new, kept], server: unbound}
  - dns: {count: 5, answer: 2000B, server: unbound}
  - tls: {count: 5, session: [full, resumed], server: nginx}
  - tls: {count: 5, chain: 5KiB, server: caddy}
  - http: {count: 3, objects: 4, version: ["1.1", "2"], connection: [new, kept], server: [nginx, caddy]}
  - http: {count: 3, objects: 4, tls: none, server: [nginx, caddy]}
  - http: {count: 3, objects: 4, version: "3", connection: [new, kept], server: [caddy, ngtcp2]}
"""
DNSPERF_OVER_TLS = """\
  - dns: {count: 20, over: [tls, https], connection: kept, client: dnsperf}
"""
KDIG_OVER_QUIC = """\
  - dns: {count: 5, over: quic, client: kdig}
"""
AIOQUIC = f"{sys.executable} {Path(__file__).with_name('aioquic_end.py')}"
AIOQUIC_SERVED = "{address} {port} {certificate} {key}"
AIOQUIC_AT_AN_END = f"""\
  - http:
      count: 3
      objects: 4
      version: "3"
      connection: [new, kept]
      server: {{program: "{AIOQUIC} server {AIOQUIC_SERVED}", ready-within: 9s}}
  - http:
      count: 5
      version: "3"
      connection: kept
      client: {{program: "{AIOQUIC} client {{peer}} {{port}} {{authority}} {{name}} {{count}} 10240"}}
  - quic-connect:
      count: 4
      session: [full, resumed]
      timeout: 10s
      server: {{program: "{AIOQUIC} connect-server {AIOQUIC_SERVED}", ready-within: 9s}}
"""
"""Without 0-RTT: aioquic wants a CRYPTO frame in each packet of the first datagram, where quinn puts a 0-RTT packet
that has none."""
S_CLIENT = "openssl s_client -connect {peer-host}:{port} -servername {name} -CAfile {authority} -verify_return_error"
CLIENTS = f"""\
  - dns: {{count: 5, over: [udp, tcp, tls, https], client: kdig}}
  - dns: {{duration: 1s, over: [udp, tcp], connection: kept, in-flight: 4, client: dnsperf}}
  - http: {{count: 5, version: ["1.1", "2"], connection: kept, client: [curl, h2load]}}
  - http: {{count: 5, tls: none, connection: kept, client: [curl, h2load]}}
  - http: {{count: 5, version: "3", connection: kept, client: ngtcp2}}
  - tls: {{count: 1, client: {{program: "{S_CLIENT}"}}}}
"""


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    require_programs(*(recipe.program for recipe in RECIPES), *OTHERS)


@pytest.fixture(scope="module")
def hub() -> Any:
    with AgentHub(find_agent()) as hub:
        yield hub


@pytest.fixture(scope="module")
def with_servers(hub: AgentHub, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return run(hub, NETWORK + SERVERS, tmp_path_factory.mktemp("servers") / "run")


@pytest.fixture(scope="module")
def with_clients(hub: AgentHub, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return run(hub, NETWORK + CLIENTS, tmp_path_factory.mktemp("clients") / "run")


def of(finished: Finished, workload: str, end: str, program: str) -> list[TrialRecord]:
    """The trials of a workload with a program."""
    return [
        trial
        for trial in finished.trials
        if trial.workload == workload and str(trial.params.get(f"{end}_program", "")).find(program) >= 0
    ]


def test_other_peoples_servers_answer_our_client_over_each_path(with_servers: Finished) -> None:
    assert wrong(with_servers.trials) == []
    assert len(with_servers.trials) == len(PATHS) * (8 + 1 + 2 + 1 + 8 + 2 + 4)


def test_our_server_answers_other_peoples_clients_over_each_path(with_clients: Finished) -> None:
    assert wrong(with_clients.trials) == []
    assert len(with_clients.trials) == len(PATHS) * (4 + 2 + 4 + 2 + 1 + 1)


def test_aioquic_is_either_end_over_each_path(hub: AgentHub, tmp_path: Path) -> None:
    trials = run(hub, NETWORK + AIOQUIC_AT_AN_END, tmp_path / "run").trials
    assert wrong(trials) == []
    assert len(trials) == len(PATHS) * (2 + 1 + 2)
    for trial in trials:
        if "client_program" in trial.params:
            assert trial.server["requests"] == 5
        elif trial.workload == "http":
            assert trial.client["protocols"] == {"h3": 12}
        else:
            assert trial.client["kinds"] == {str(trial.params.get("session", "full")): 4}


def test_our_server_answers_dnsperf_over_tls_or_one_that_cannot_is_refused(hub: AgentHub, tmp_path: Path) -> None:
    feature = dnsperf.RECIPE.feature({"over": "tls"})
    assert feature is not None
    if not has_feature(feature):  # Debian 12
        with pytest.raises(CapabilityError, match="the program dnsperf has no option tls-sni"):
            check_ends(read_experiment(parse_yaml(NETWORK + DNSPERF_OVER_TLS, "x.yaml"), MECHANISMS))
        return
    finished = run(hub, NETWORK + DNSPERF_OVER_TLS, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert [trial.server["transactions"] for trial in finished.trials] == [20] * len(finished.trials)


def test_our_server_answers_kdig_over_quic_and_not_by_another_transport(hub: AgentHub, tmp_path: Path) -> None:
    [agent] = hub.start(["asker"]).values()
    agent.call("exec", argv=["ip", "link", "set", "lo", "up"])
    asked = agent.call("exec", argv=["kdig", "+quic", "+retry=0", "+timeout=1", "@127.0.0.1", "-p", "4433", "name"])
    hub.stop([agent])
    if "(QUIC)" not in asked["stdout"] + asked["stderr"]:  # Debian 12 builds it without, and it asks by UDP
        alone = NETWORK.replace("ipv4: native4, ", "").replace(", nat64: {nat64: [r1]}", "")
        [trial] = run(hub, alone + KDIG_OVER_QUIC.replace("count: 5", "count: 1"), tmp_path / "run").trials
        assert trial.status == "failed"
        assert [reason.kind for reason in trial.reasons] == [ReasonKind.DEVICE_ENDED]
        return
    finished = run(hub, NETWORK + KDIG_OVER_QUIC, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert [trial.server["transactions"] for trial in finished.trials] == [5] * len(PATHS)


def test_answers_of_unbound_are_what_the_experiment_claims(with_servers: Finished) -> None:
    trials = of(with_servers, "dns", "server", "unbound")
    assert {(trial.params["over"], *trial.client["protocols"]) for trial in trials if "over" in trial.params} == {
        *(("udp", "udp"), ("tcp", "tcp"), ("tls", "none"), ("https", "h2"))
    }
    for trial in trials:
        assert trial.client["transactions"] == 5
        assert trial.client["failed"] == {}
    long = [trial for trial in trials if "answer_bytes" in trial.params]
    assert [trial.client["truncated"] for trial in long] == [5] * len(PATHS)


def test_a_chain_of_somebody_elses_server_is_as_long_as_asked_for(with_servers: Finished) -> None:
    for trial in of(with_servers, "tls", "server", "caddy"):
        assert trial.metrics["handshake_received_bytes"] > 5120
        assert trial.client["versions"] == {"TLSv1_3": 5}
    kinds = [list(trial.client["kinds"]) for trial in of(with_servers, "tls", "server", "nginx")]
    assert sorted(map(tuple, kinds)) == [("full",)] * len(PATHS) + [("resumed",)] * len(PATHS)


def test_what_only_the_program_knows_is_absent(with_clients: Finished) -> None:
    for trial in of(with_clients, "dns", "client", "kdig"):
        assert trial.server["transactions"] == 5
        assert set(trial.histograms) == set()
        assert "transaction_p50_ns" not in trial.metrics
        assert trial.metrics["transactions_rate_per_s"] > 0
        assert trial.theory == {}
    for trial in of(with_clients, "dns", "client", "dnsperf"):
        assert trial.metrics["transaction_mean_ns"] > 0
        assert trial.metrics["questions_unanswered_ratio"] == 0


def test_the_record_has_what_the_program_used_and_a_file_its_output(with_clients: Finished) -> None:
    for trial in of(with_clients, "dns", "client", "kdig"):
        assert trial.evidence.programs is not None
        used = trial.evidence.programs["h1"]
        assert (used.exit, used.processes) == (0, 0)
        assert used.ran_ns
        output = (with_clients.directory / "trials" / trial.key / "h1.log").read_text()
        assert output.count("status: NOERROR") == 5
        assert "program" not in trial.client


def test_programs_say_their_versions() -> None:
    for workloads, programs in (
        (SERVERS, {"unbound", "nginx", "caddy"}),
        (CLIENTS, {"kdig", "dnsperf", "curl", "h2load"}),
    ):
        versions = end_versions(read_experiment(parse_yaml(NETWORK + workloads, "x.yaml"), MECHANISMS))
        assert versions.keys() == programs
        assert all(re.fullmatch(r"[0-9]+\.[0-9][0-9.]*", version) for version in versions.values())


def test_a_server_that_ends_fails_the_trial_with_its_last_words(hub: AgentHub, tmp_path: Path) -> None:
    dying = """\
  - tls: {count: 5, server: {program: "sh {dir}/start", files: {start: "echo no such site; exit 3"}}}
  - tls: {count: 5, server: {program: "sleep 60", ready-within: 100ms}}
  - tls: {count: 5, client: {program: "sh -c 'echo lost the way >&2; exit 4'"}}
"""
    trials = run(hub, NETWORK.replace(", ipv6: native6, nat64: {nat64: [r1]}", "") + dying, tmp_path / "run").trials
    assert [trial.status for trial in trials] == ["failed"] * 3
    assert {reason.kind for trial in trials for reason in trial.reasons} == {ReasonKind.DEVICE_ENDED}
    words = [reason.text for trial in trials for reason in trial.reasons]
    assert any("sh ended with 3 before it was ready; its last output: no such site" in text for text in words)
    assert any("sleep was not ready after 0.1 s: it does not listen at tcp port" in text for text in words)
    assert any("the client sh ended with 4; its last output: lost the way" in text for text in words)


def serve(agent: Agent, session: str, **program: Any) -> dict[str, Any]:
    """A program of this node as a server."""
    fields = {"argv": [], "name": "a program", "memory_bytes": 1 << 30, "ready_timeout_ns": 5 * 10**9, "listens": "tcp"}
    return agent.call(
        "serve",
        session=session,
        workload="tls",
        address="127.0.0.1",
        peer="127.0.0.1",
        token="00112233445566778899aabbccddeeff",
        params={},
        program=fields | program,
    )


LISTENER = """\
import os, socket, subprocess, sys
subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(open(sys.argv[2]).read().count("BEGIN CERTIFICATE"), oct(os.stat(sys.argv[3]).st_mode), flush=True)
socket.create_server(("127.0.0.1", int(sys.argv[1]))).accept()
"""


@pytest.mark.parametrize("op", ["finish", "cancel"])
def test_nothing_of_a_server_is_left_when_its_session_ends(hub: AgentHub, op: str) -> None:
    [agent] = hub.start([f"server-{op}"]).values()
    agent.call("exec", argv=["ip", "link", "set", "lo", "up"])
    argv = ["python3", "{dir}/listen", "{port}", "{certificate}", "{key}"]
    answer = serve(agent, "a", argv=argv, files={"listen": LISTENER}, chain_bytes=1536)
    assert answer["certificate"]

    def listening() -> str:
        return str(agent.call("exec", argv=["ss", "-Hltn"])["stdout"])

    assert f":{answer['port']}" in listening()
    namespace = agent.call("exec", argv=["readlink", "/proc/self/ns/net"])["stdout"].strip()
    result = agent.call(op, session="a", **({"timeout_ns": 1} if op == "finish" else {}))
    assert listening() == ""
    assert [pid for pid, name in processes_in(namespace).items() if name in ("python3", "sleep", "unshare")] == []
    assert not Path("/run/device").exists()
    if op == "finish":
        assert result["program"]["output"] == "2 0o100600\n"
        assert result["program"]["processes"] == 2
        assert "ended" not in result["program"]
    hub.stop([agent])


def processes_in(namespace: str) -> dict[int, str]:
    """Names of the processes in a network namespace, by number."""
    names = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str((entry / "ns/net").readlink()) == namespace:
                names[int(entry.name)] = (entry / "comm").read_text().strip()
        except OSError:  # it has ended
            continue
    return names


def test_a_command_that_does_not_exist_is_named(hub: AgentHub) -> None:
    [agent] = hub.start(["nobody"]).values()
    with pytest.raises(AgentError, match="starting a program: No such file or directory"):
        serve(agent, "a", argv=["/nonexistent/program"])
    with pytest.raises(AgentError, match="a file of a program cannot be named"):
        serve(agent, "a", argv=["true"], files={"key.pem": ""})
    hub.stop([agent])
