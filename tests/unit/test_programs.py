"""Programs under test: how addresses map, what stands for words in braces, and whose commands need consent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sixbench.mechanisms import MECHANISMS, SHIPPED, commands_of, install
from sixbench.mechanisms.asking import unasked, with_questions
from sixbench.model.errors import ExperimentError
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

RUNS: dict[str, Any] = {"start": "sleep infinity", "ready": "true"}


def experiment(dut: Any) -> Experiment:
    return read_experiment(parse_yaml(json.dumps({"dut": dut, "workloads": ["ping"]}), "x.yaml"), MECHANISMS)


def network(**options: Any) -> Network:
    read = experiment({"program": RUNS | options})
    return install(read.paths[0], read.topologies[0], read.between)


def ends(built: Network) -> list[tuple[str, str]]:
    return [(str(leg.source), str(leg.destination)) for leg in built.legs]


@pytest.mark.parametrize(
    ("options", "legs", "led"),
    [
        ({}, [("2001:2::1", "2001:2:0:1::2")], []),
        ({"family": 4}, [("198.18.0.1", "198.18.1.2")], []),
        ({"family": 4, "client-as": "own"}, [("198.18.0.1", "198.18.1.2"), ("198.18.1.1", "198.18.1.2")], []),
        (
            {"family": 6, "client-as": "2001:db8:1::1", "server-as": "2001:db8:2::1"},
            [("2001:2::1", "2001:db8:2::1"), ("2001:db8:1::1", "2001:2:0:1::2")],
            ["2001:db8:1::1/128", "2001:db8:2::1/128"],
        ),
        (
            {"family": [6, 4], "prefix": "2001:db8:64::/96", "client-as": "own"},
            [("2001:2::1", "2001:db8:64::c612:102"), ("198.18.1.1", "198.18.1.2")],
            ["2001:db8:64::/96"],
        ),
        (
            {"family": [4, 6], "prefix": "2001:db8:64::/96", "server-as": "192.0.2.9"},
            [("198.18.0.1", "192.0.2.9"), ("2001:db8:64::c612:1", "2001:2:0:1::2")],
            ["2001:db8:64::/96", "192.0.2.9/32"],
        ),
    ],
)
def test_how_addresses_map_is_what_the_experiment_says(
    options: dict[str, Any], legs: list[tuple[str, str]], led: list[str]
) -> None:
    actual_network = network(**options)
    assert ends(actual_network) == legs
    [device] = actual_network.devices
    assert [str(prefix) for prefix in device.prefixes] == led
    assert actual_network.hosting == ("dut",)


def test_words_in_braces_stand_for_what_the_network_has_and_others_stay() -> None:
    files = {"x": "{client} {server} {client-as} {server-as} {near} {far} {near-address} {far-address} {else} {dir}"}
    actual_network = network(
        family=[6, 4], **{"server-as": "2001:db8::9", "client-as": "own"}, files=files, start="x {dir}/x '{'"
    )
    [request] = actual_network.stages[0]["dut"].requests
    assert request.fields["argv"] == ["x", "/run/device/x", "{"]
    assert request.fields["files"] == {
        "x": "2001:2::1 198.18.1.2 198.18.1.1 2001:db8::9 eth0 eth1 2001:2::2 198.18.1.1 {else} /run/device"
    }


def test_no_shell_reads_a_command() -> None:
    [request] = network(start="sh -c 'a; b' $HOME `c` > d").stages[0]["dut"].requests
    assert request.fields["argv"] == ["sh", "-c", "a; b", "$HOME", "`c`", ">", "d"]


def test_an_interface_is_set_up_and_routed_into_and_else_the_program_does_it() -> None:
    options = {"family": [6, 4], "prefix": "2001:db8:64::/96", "client-as": "192.0.2.2"}
    assert network(**options).stages[0]["dut"].ip == ()
    assert network(**options).devices[0].routes_itself
    actual_network = network(**options, interface="nat64")
    assert actual_network.stages[0]["dut"].ip == ("link set nat64 up",)
    assert not actual_network.devices[0].routes_itself


@pytest.mark.parametrize("name", SHIPPED)
def test_what_sixbench_brings_needs_no_consent_unless_it_is_changed(name: str) -> None:
    assert commands_of(experiment(name).paths[0]) == ()
    same = dict(SHIPPED[name]) | {"memory": "64MiB"}
    assert commands_of(experiment({"program": same}).paths[0]) == ()
    for change in ({"start": "sh -c id"}, {"ready": "id"}, {"files": {"start": "id"}}, {"interface": "eth9"}):
        path = experiment({"program": same | change}).paths[0]
        assert commands_of(path) == (path.options["start"], path.options["ready"])


def test_an_emulated_machine_has_no_programs(sixbench: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("dut: tayga\nkernels: debian-6.1\nworkloads: [ping]\n")
    done = sixbench("run", file)
    assert done.exit == 2
    assert "paths.tayga is a program under test, which an emulated machine does not have" in done.stderr


def test_without_consent_nothing_of_an_experiment_runs(sixbench: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(json.dumps({"dut": {"program": RUNS}, "workloads": ["ping"]}))
    planned = sixbench("plan", file)
    assert "Programs of the experiment\n  program  sleep infinity\n  program  true\n" in planned.stdout
    assert "only with --allow-programs" in " ".join(planned.stdout.split())
    for command in (("run", file), ("rfc", file), ("lab", "up", file, "--path", "program")):
        done = sixbench(*command)
        assert (done.exit, done.stdout) == (2, ""), command
        assert "sleep infinity" in done.stderr
        assert "--allow-programs" in done.stderr


@pytest.mark.parametrize("name", ["unbound", "bind9"])
def test_a_resolver_is_asked_for_its_prefix_and_asks_the_server(name: str) -> None:
    read = experiment(name)
    path = read.paths[0]
    network = install(path, read.topologies[0], read.between)
    begun, ready = network.stages
    assert "198.18.1.2" in begun["dut"].requests[0].fields["files"]["sixbench.conf"]
    [request] = ready["dut"].requests
    assert (request.op, request.fields["resolver"]) == ("prefix-discover", "2001:2::2")
    assert unasked(path) is None
    assert ends(with_questions(path, network)) == [("2001:2::1", "2001:2::2"), ("198.18.1.1", "198.18.1.2")]


def test_a_resolver_needs_a_prefix_and_is_asked_over_ipv6() -> None:
    with pytest.raises(ExperimentError, match="a resolver with DNS64 makes addresses in a prefix: give prefix"):
        network(dns64=True)
    with pytest.raises(ExperimentError, match="is asked over IPv6"):
        network(dns64=True, prefix="2001:db8:64::/96", family=4)
    with pytest.raises(ExperimentError, match="there is no authority; give it"):
        network(files={"x": "{authority}"})
