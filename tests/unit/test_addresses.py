"""Addresses and ports that people write: where one is wrong, each command says so in one sentence, and ends with 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sixbench.model.addresses import read_address, why_no_host
from sixbench.model.errors import ExperimentError, UsageError
from sixbench.model.identifiers import SSH_DESTINATION
from sixbench.plan.hosts_override import apply_hosts
from sixbench.plan.yaml_source import parse_yaml
from sixbench.workers.address import read_address as read_scheduler

pytestmark = pytest.mark.computes

LONG = "a" * 300


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("127.0.0.1:18786", "give the address alone, as --bind 127.0.0.1, and the port with --port 18786"),
        ("[2001:db8::1]:80", "give the address alone, as --bind 2001:db8::1, and the port with --port 80"),
        ("[::1]", "give the address alone, as --bind ::1"),
        ("lab1", "such as 192.0.2.1 or 2001:db8::1"),
        ("", "such as 192.0.2.1"),
        ("1.2.3", "such as 192.0.2.1"),
        ("192.0.2.1/24", "such as 192.0.2.1"),
        ("\x1b[2J", '"\\x1b[2J": this is no IP address'),
        (LONG, 'aaa...": this is no IP address'),
    ],
)
def test_what_is_no_address_is_refused_with_what_would_be_right(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_address(text, "--bind")
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "text", ["lab1", "lab_1.example.", "192.0.2.1", "::1", "fe80::1%eth0", "xn--bcher-kva.example"]
)
def test_names_and_addresses_are_hosts(text: str) -> None:
    assert why_no_host(text) is None


@pytest.mark.parametrize("text", ["", "a b", "a..b", ".", "-x", "127.0.0.1:5210", "[::1]", "a/b", LONG, "a\n", "\x1b"])
def test_what_is_no_host_is_told(text: str) -> None:
    assert "is neither an address nor the name of a host" in (why_no_host(text) or "")


@pytest.mark.parametrize(
    ("destination", "is_right"),
    [
        ("root@127.0.0.1:70000", False),
        ("root@127.0.0.1:65536", False),
        ("root@127.0.0.1:0", False),
        ("lab1:", False),
        (LONG, False),
        ("root@127.0.0.1:65535", True),
        ("[2001:db8::1]:22", True),
        ("lab1:1", True),
        ("lab1:5999", True),
    ],
)
def test_a_port_of_ssh_is_one(destination: str, is_right: bool) -> None:
    assert bool(SSH_DESTINATION.fullmatch(destination)) is is_right


def test_a_file_of_hosts_says_which_ports_there_are(tmp_path: Path) -> None:
    file = tmp_path / "hosts.yaml"
    file.write_text("hosts: {lab1: {ssh: 'root@127.0.0.1:70000'}}\nnodes: {h1: lab1}\n")
    text = "topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}\n"
    source = apply_hosts(parse_yaml(text + "paths: {a: native4}\nworkloads: [ping]\n", "x.yaml"), file)
    from sixbench.mechanisms import MECHANISMS
    from sixbench.plan.experiment_file import read_experiment

    with pytest.raises(ExperimentError, match='with a port from 1 to 65535, not "root@127'):
        read_experiment(source, MECHANISMS)


@pytest.mark.parametrize("text", ["127.0.0.1:0", "127.0.0.1:99999", "::1", "", "a..b:1", f"{LONG}:1", "tcp://lab1:1"])
def test_no_address_of_a_scheduler_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_scheduler(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("measure", "127.0.0.1:5210"), '"127.0.0.1:5210" is neither an address nor the name of a host; give the port'),
        (("measure", "[::1]"), "is neither an address nor the name of a host"),
        (("measure", ""), "is neither an address nor the name of a host"),
        (("measure", "127.0.0.1", "-p", "70000"), "less than or equal to 65535"),
        (("serve", "-B", "127.0.0.1:18786"), "give the address alone, as --bind 127.0.0.1"),
        (("serve", "-B", ""), "this is no IP address"),
        (("serve", "-B", "127.0.0.1,lab1"), '--bind "lab1": this is no IP address'),
        (("serve", "-p", "-1"), "greater than or equal to 0"),
        (("scheduler", "--bind", "127.0.0.1:18786"), "give the address alone, as --bind 127.0.0.1"),
        (("scheduler", "--bind", ""), "this is no IP address"),
        (("scheduler", "-B", "lab1"), "this is no IP address"),
        (("doctor", "--host", "root@127.0.0.1:70000"), "with a port from 1 to 65535"),
        (("ui", "-B", "127.0.0.1:80"), "--bind 127.0.0.1:80: that is not an address"),
        (("ui", "-p", "65536"), "less than or equal to 65535"),
    ],
)
def test_each_command_says_it(sixbench: Callable[..., Any], command: tuple[str, ...], words: str) -> None:
    done = sixbench(*command)
    assert done.exit == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
