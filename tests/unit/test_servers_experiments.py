"""Experiments to servers as the command line and files describe them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from reach_runs import (
    experiment,
)

from sixbench.cli.main import main
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import ExperimentError, UsageError
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.reach_experiment import ReachOptions, read_list, server_of, text_of
from sixbench.plan.yaml_source import parse_yaml


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("www.example.org", "www.example.org"),
        ("www.example.org:8443", "www.example.org:8443"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]:8443", "[2001:db8::1]:8443"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("192.0.2.1,2001:db8::1", "192.0.2.1,2001:db8::1"),
    ],
)
def test_a_server_on_the_command_line(text: str, label: str) -> None:
    assert server_of(text).label == label


@pytest.mark.parametrize(
    "text",
    [
        *("192.0.2.0/24", "https://www.example.org", "a:0", "a:70000", "192.0.2.1,192.0.2.2", ""),
        *("0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "::ffff:192.0.2.1"),
        *("fe80::1%eth0", "192.0.2.1%\x1b[31m", "0.0.0.0,2001:db8::1"),
    ],
)
def test_what_is_no_server_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        server_of(text)


def test_a_list_of_servers(tmp_path: Path) -> None:
    file = tmp_path / "servers.txt"
    file.write_text("# mine\nwww.example.org\n\nns1.example.net:853 # a resolver\n")
    assert [server.label for server in read_list(file)] == ["www.example.org", "ns1.example.net:853"]
    file.write_bytes(b"\xef\xbb\xbfwww.example.org\r\n")
    assert [server.label for server in read_list(file)] == ["www.example.org"]
    file.write_text("www.example.org\n10.0.0.0/8\n")
    with pytest.raises(UsageError, match=r"servers\.txt:2: "):
        read_list(file)


def test_the_experiment_of_the_command_line_is_read() -> None:
    options = ReachOptions(
        servers=(server_of("www.example.org"), server_of("192.0.2.1:8443", mine=True)),
        resolver="192.0.2.53",
        hides_addresses=True,
        until="decided",
        time="10min",
        seed=7,
    )
    read = read_experiment(parse_yaml(text_of(options), "the command line"), MECHANISMS)
    assert read.servers == options.servers
    assert (read.resolver, read.hides_addresses, read.seed) == ("192.0.2.53", True, 7)
    assert read.blocks.until == "decided"
    assert read.blocks.time_ns == 600 * 10**9
    assert replace(read.statistics, pool=None).margin == 0.05
    assert read.statistics.pool == "server"


def test_http_is_measured_by_each_version_where_it_is_named() -> None:
    options = ReachOptions(servers=(server_of("www.example.org"),), workloads=("http", "ping"))
    read = read_experiment(parse_yaml(text_of(options), "the command line"), MECHANISMS)
    assert [item.levels.get("version") for item in read.combinations] == ["1.1", "2", "3", None]


def test_a_pace_that_is_too_fast_is_told_once() -> None:
    with pytest.raises(ExperimentError) as raised:
        experiment(*(f"s{number}.example" for number in range(100)), workloads="[{ping: {interval: 1ms}}]")
    assert str(raised.value).count("an echo request each 200ms at most") == 1


def test_hundreds_of_servers_are_one_experiment() -> None:
    names = [server_of(f"s{number}.example") for number in range(900)]
    read = read_experiment(parse_yaml(text_of(ReachOptions(servers=tuple(names))), "the command line"), MECHANISMS)
    assert len(read.servers) == 900
    assert read.blocks.minimum == 5


@pytest.mark.parametrize(
    "words",
    [["rfc"], ["lab", "up", "--path", "ipv6", "--foreground"], ["theory", "--datagram", "1000", "--experiment"]],
)
def test_commands_that_need_a_network_say_so(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "servers.yaml"
    file.write_text("experiment: a\nservers: [www.example.org]\nworkloads: [ping]\nblocks: 3\n")
    assert main([*words, str(file)]) == 2
    assert "has servers, and" in capsys.readouterr().err
