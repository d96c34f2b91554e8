"""Somebody else's server or client in a workload: how it is read, what is refused, whom it needs the consent of, and
what is known of its trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sixbench.bench.environment import end_versions
from sixbench.bench.estimate import estimate
from sixbench.bench.parts import parts_of
from sixbench.bench.program_ends import output_of, require_alive, require_success, use_of
from sixbench.cli.consent import refuse_programs_in_guests, require_consent
from sixbench.cli.plan_summary import summary_of
from sixbench.mechanisms import MECHANISMS
from sixbench.model.bypass import bypassed_column
from sixbench.model.errors import AgentError, ExperimentError, UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.programs import CLIENT, RECIPES, SERVER, client_end, curl, h2load, recipes, server_end
from sixbench.model.programs.dnsperf import read_summary
from sixbench.model.programs.end import AGENT_WORDS, LENGTHS
from sixbench.model.programs.unbound import zone_texts
from sixbench.model.workload import Workload
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.measure_options import MeasureOptions, workload_of_options
from sixbench.plan.yaml_source import parse_yaml
from sixbench.workers.refusals import refuse_foreign

pytestmark = pytest.mark.computes

OUTPUTS = Path(__file__).parents[1] / "golden/program_output"
OPENSSL = "openssl s_client -connect {peer-host}:{port} -servername {name} -CAfile {authority}"


def experiment(workload: str, **given: Any) -> Experiment:
    """An experiment with one workload."""
    data = {
        "topology": {"nodes": {"h1": "host", "h2": "host"}, "links": [{"endpoints": ["h1", "h2"]}]},
        "between": ["h1", "h2"],
        "paths": {"ipv6": "native6"},
        "workloads": [{workload: given}],
    }
    return read_experiment(parse_yaml(json.dumps(data), "x.yaml"), MECHANISMS)


def only_workload(workload: str, **given: Any) -> Workload:
    [combination] = experiment(workload, **given).combinations
    return combination.workload


def plan_words(read: Experiment) -> str:
    """The plan on one line."""
    return " ".join(summary_of(read, estimate(read), "x.yaml", list_trials=False).split())


@pytest.mark.parametrize(
    ("workload", "given", "words"),
    [
        (
            "dns",
            {"server": "apache"},
            'apache" is no server that sixbench knows: give unbound, nginx, caddy, ngtcp2, or {program',
        ),
        ("dns", {"server": "kdig"}, "is no server that sixbench knows"),
        ("dns", {"client": "unbound"}, "is no client that sixbench knows"),
        ("dns", {"server": "nginx"}, "nginx is a server of tls, http, not of dns"),
        ("dns", {"server": "unbound", "client": "kdig", "count": 1}, "one end of a trial is sixbench's"),
        (
            "dns",
            {"server": "unbound", "over": "quic"},
            "over: unbound answers over udp, tcp, tls and https, not over quic",
        ),
        ("dns", {"client": "kdig"}, "kdig asks a number of questions, and takes no time: give count"),
        ("dns", {"client": "kdig", "count": 1, "in-flight": 2}, "in-flight: kdig asks one question after the other"),
        ("dns", {"client": "dnsperf"}, "dnsperf keeps its connections: give connection: kept"),
        ("quic-connect", {"server": {"program": "x"}, "retry": True}, "retry is for sixbench's own server"),
        ("tls", {"server": {"files": {}}}, "program is missing: the command that starts it"),
        ("tls", {"server": {"program": "x", "port": 1}}, "is none of program, files, ready-within, memory"),
        ("tls", {"server": {"program": "x {prot}"}}, "{prot} stands in a command or a file, and only these have a"),
        ("tls", {"server": {"program": "x 'y"}}, "is not a command"),
        ("tls", {"server": {"program": "x", "files": {"../x": ""}}}, "is not the name of a file"),
        ("tls", {"server": {"program": "x", "files": {"key.pem": ""}}}, "is the file of the trial's own"),
        ("tls", {"server": {"program": "x", "ready-within": "1min"}}, "is out of range"),
        ("tls", {"client": {"program": "x {duration}"}, "count": 3}, "stands in a command or a file: give duration"),
        ("http", {"server": "nginx", "version": "3"}, "version: nginx speaks HTTP 1.1, 2 here, not 3"),
        ("http", {"server": "ngtcp2"}, "ngtcp2's server speaks HTTP 3 here, not 1.1"),
        ("http", {"server": "caddy", "object": "1MB"}, "object: caddy has its object in a file here: at most 128000B"),
        (
            "http",
            {"client": "curl", "connection": "kept"},
            "curl loads a number of objects, and takes no time: give count",
        ),
        ("http", {"client": "h2load"}, "h2load keeps its connections: give connection: kept"),
        ("http", {"client": "ngtcp2", "version": "3"}, "ngtcp2's client loads a number of objects, and takes no time"),
        (
            "http",
            {"client": "ngtcp2", "version": "3", "count": 1, "connection": "kept", "parallel": 2},
            "parallel: ngtcp2's client asks for all objects at once: leave parallel out",
        ),
        ("http", {"client": "caddy"}, "is no client that sixbench knows: give kdig, dnsperf, curl, h2load, ngtcp2, or"),
        ("ping", {"server": "unbound"}, "unknown"),
    ],
)
def test_an_end_that_cannot_be_is_refused_with_its_line(workload: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ExperimentError) as error:
        experiment(workload, **given)
    assert words in str(error.value)
    assert str(error.value).startswith("x.yaml:1: workloads")


def test_a_program_is_a_level_like_any_parameter() -> None:
    read = experiment("dns", over=["udp", "tls"], server="unbound", count=3)
    assert [combination.levels["server_program"] for combination in read.combinations] == ["unbound", "unbound"]
    swept = experiment("tls", server=["nginx", "caddy", {"program": OPENSSL}], count=3)
    assert len(swept.combinations) == 3
    assert f"server: [nginx, caddy, {OPENSSL}]" in plan_words(swept)


def test_what_is_kept_reads_back_as_itself() -> None:
    kept = only_workload("tls", server={"program": "x -c {dir}/c", "files": {"c": "listen {host}:{port};"}}).params
    SERVER.require(kept["server_program"])
    CLIENT.require("kdig")
    with pytest.raises(ValueError, match="is not a program"):
        SERVER.require('{"program": ')


def test_our_end_gets_its_own_parameters_alone() -> None:
    for workload, given in [("dns", {"server": "unbound"}), ("tls", {"client": {"program": OPENSSL}})]:
        read = only_workload(workload, **given)
        [part] = parts_of(WORKLOADS[workload], read.params)
        assert not {"server_program", "client_program"} & part.params.keys()
        assert (part.server is None) == ("client" in given)
        assert (part.client is None) == ("server" in given)


def test_a_server_has_a_certificate_where_its_protocol_needs_one() -> None:
    for over, listens, has_chain in [
        *(("udp", "udp", False), ("tcp", "tcp", False)),
        *(("tls", "tcp", True), ("https", "tcp", True)),
    ]:
        end = server_end("dns", only_workload("dns", over=over, server="unbound").params)
        assert end is not None
        assert (end.listens, end.chain_bytes is not None) == (listens, has_chain)
    end = server_end("tls", only_workload("tls", server="nginx", chain="5KiB").params)
    assert end is not None
    assert end.fields["chain_bytes"] == 5120
    other = server_end("quic-connect", only_workload("quic-connect", server={"program": "x", "memory": "1GiB"}).params)
    assert other is not None
    assert (other.listens, other.memory_bytes, other.name) == ("udp", 1 << 30, "x")


def test_a_program_that_is_both_ends_is_the_one_that_is_asked_for() -> None:
    served = server_end("http", only_workload("http", server="ngtcp2", version="3").params)
    asking = only_workload("http", client="ngtcp2", version="3", count=3, objects=4, connection="kept").params
    asked = client_end("http", asking)
    assert served is not None
    assert asked is not None
    assert served.argv[0] == "gtlsserver"
    assert "gtlsclient -q -n 12 " in asked.files["start"]
    assert [recipe.package for recipe in recipes(asking)] == ["ngtcp2-client"]


def test_versions_are_those_of_the_programs_that_say_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, says in (("nginx", "echo nginx version: nginx/1.26.3 >&2"), ("dnsperf", "exit 1"), ("gtlsserver", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{says}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for workload, given, versions in (
        ("tls", {"server": ["nginx", {"program": "x"}]}, {"nginx": "1.26.3"}),
        ("tls", {"server": "caddy"}, {}),
        ("dns", {"client": "dnsperf", "connection": "kept"}, {}),
        ("http", {"server": "ngtcp2", "version": "3"}, {}),
        ("tls", {}, {}),
    ):
        assert end_versions(experiment(workload, **given)) == versions


def test_a_client_ends_when_the_time_of_the_trial_is_over() -> None:
    given_command = client_end(
        "tls", only_workload("tls", client={"program": "x {duration}"}, duration="2500ms").params
    )
    assert given_command is not None
    assert (given_command.argv, given_command.limit_ns) == (("x", "2.5"), 2_500_000_000)
    known = client_end("dns", only_workload("dns", client="dnsperf", connection="kept", duration="2s").params)
    assert known is not None
    assert known.limit_ns == 7_000_000_000
    counted = client_end("dns", only_workload("dns", client="kdig", count=3).params)
    assert counted is not None
    assert counted.limit_ns is None
    assert [word for word in counted.argv if word.endswith(".{name}")] == [
        f"00000000000{number}.{{name}}" for number in (1, 2, 3)
    ]


def test_recipes_have_only_words_that_mean_something() -> None:
    import re

    kept = {"connection": "kept", "count": 2}
    samples = {
        "unbound": {"over": "https"},
        "kdig": {"count": 2},
        "dnsperf": {"connection": "kept", "over": "https"},
        "ngtcp2": kept | {"version": "3"},
        "curl": kept,
        "h2load": kept,
    }
    for recipe in RECIPES:
        for workload in recipe.command:
            read = only_workload(workload, **{recipe.side: recipe.name}, **samples.get(recipe.name, {}))
            end = (server_end if recipe.side == "server" else client_end)(workload, read.params)
            assert end is not None
            for text in (*end.argv, *end.files.values()):
                assert set(re.findall(r"(?<!%)\{([a-z][a-z-]*)\}", text)) <= AGENT_WORDS | LENGTHS


def test_a_zone_file_has_answers_of_the_length_that_is_asked_for() -> None:
    for answer_bytes in (100, 128, 339, 340, 341, 1232, 4096):
        texts = zone_texts(answer_bytes)
        data_bytes = sum(1 + len(text) for text in texts.split('"')[1::2])
        assert 12 + (45 + 4) + (2 + 10 + data_bytes) + 11 == answer_bytes


def test_commands_of_an_experiment_need_consent_and_recipes_none() -> None:
    require_consent((), combinations=experiment("dns", server="unbound").combinations, allowed=False)
    given_command = experiment("tls", client={"program": OPENSSL})
    require_consent(given_command.paths, combinations=given_command.combinations, allowed=True)
    with pytest.raises(UsageError, match=r"workloads\.tls runs a program of the experiment, with all rights .*openssl"):
        require_consent(given_command.paths, combinations=given_command.combinations, allowed=False)
    assert f"Programs of the experiment tls {OPENSSL}" in plan_words(given_command)
    with pytest.raises(UsageError, match=r"workloads\.tls runs a program of the experiment, which no worker does"):
        refuse_foreign(given_command)
    for read in (given_command, experiment("dns", server="unbound")):
        with pytest.raises(UsageError, match=r"has a server or a client of others, which an emulated machine"):
            refuse_programs_in_guests(read.paths, read.combinations)


def test_measure_has_no_programs() -> None:
    with pytest.raises(UsageError, match="server is a program in a node, which only experiments have"):
        workload_of_options(MeasureOptions(workload="tls", settings=("server=nginx",)), (6,))


def program(**given: Any) -> dict[str, Any]:
    """The result of an end that is a program."""
    used = {"ran_ns": 2 * 10**9, "cpu_ns": 5, "peak_memory_bytes": 7, "processes": 0, "listening": []}
    return {"program": {**used, "output": "", "omitted_bytes": 0, **given}}


def test_a_trial_of_somebody_elses_client_has_what_our_server_counted() -> None:
    params = only_workload("tls", client={"program": "x"}, count=10).params
    kind = WORKLOADS["tls"]
    measured = kind.summarise(params, program(exit=0, ended="x ended with 0"), {"transactions": 10, "failed": 1})
    assert measured.metrics == {"transactions_rate_per_s": 5.0}
    assert measured.histograms == {}
    assert (measured.invalid, measured.notes) == ([], ["handshakes that failed at the server: 1"])
    assert kind.traffic(params, program(), {"transactions": 10}).packets == 40
    nothing = kind.summarise(params, program(), {"transactions": 0, "failed": 0})
    assert [reason.text for reason in nothing.invalid] == ["the server completed no handshake"]
    assert bypassed_column(kind, params) is None


def test_the_summary_of_dnsperf_gives_what_it_measured_itself() -> None:
    summary = (OUTPUTS / "dnsperf.txt").read_text()
    metrics = read_summary(summary)
    assert metrics == {
        "transactions_rate_per_s": 10586.267494,
        "transaction_mean_ns": pytest.approx(50_000),
        "questions_unanswered_ratio": 0.0,
    }
    assert set(metrics) <= {
        f"{name}{end}" for name in WORKLOADS["dns"].metrics for end in ("", "_ns", "_per_s", "_ratio", "_bytes")
    }
    for broken in ("", summary[:40], "Queries per second:   nan\nAverage Latency (s):  -1\n", "Queries lost: 5"):
        assert read_summary(broken) == {}


def test_what_clients_of_http_say_of_themselves_is_read() -> None:
    assert h2load.read_summary((OUTPUTS / "h2load.txt").read_text()) == {
        "requests_rate_per_s": 1685.18,
        "object_mean_ns": 60_000.0,
    }
    assert curl.read_transfers((OUTPUTS / "curl.txt").read_text()) == {
        "connect_mean_ns": pytest.approx(167_000),
        "handshake_mean_ns": pytest.approx(6_390_000),
        "object_mean_ns": pytest.approx((116_000 + 37_000) / 2),
    }
    for broken in ("", "{", "[" * 100_000, '{"time_connect": 1}', '{"time_connect": NaN}', "finished in 1ms, x req/s"):
        assert curl.read_transfers(broken) == h2load.read_summary(broken) == {}


def test_programs_that_failed_fail_the_trial() -> None:
    require_success(program())
    require_success(program(exit=0, ended="x ended with 0"))
    with pytest.raises(AgentError, match="the client x ended with 1; its last output: no route"):
        require_success(program(exit=1, ended="x ended with 1; its last output: no route"))
    with pytest.raises(AgentError, match="the client x was ended by signal 9"):
        require_success(program(ended="x was ended by signal 9"))
    require_alive(program())
    with pytest.raises(AgentError, match="the server x ended with 0"):
        require_alive(program(exit=0, ended="x ended with 0"))


def test_the_record_has_what_a_program_used_and_a_file_its_output() -> None:
    used = use_of(program(exit=0))
    assert used is not None
    assert (used.cpu_ns, used.peak_memory_bytes, used.ran_ns, used.exit) == (5, 7, 2 * 10**9, 0)
    assert use_of({"transactions": 1}) is None
    assert output_of(program(output="hello\n", omitted_bytes=3)) == b"(3 bytes before this are gone)\nhello\n"
    assert output_of({"transactions": 1}) == output_of(program()) == b""
