"""`dut: {guest: ...}`: a device under test that is an emulated machine, up to what QEMU is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from json_schema import complaints

from sixbench.bench import emulated
from sixbench.bench.proof.viewpoints import viewpoints
from sixbench.cli.consent import refuse_programs_in_guests
from sixbench.guest import DeviceGuest, GuestKernel, device, device_fields, start_opened
from sixbench.guest.confinement import SANDBOX
from sixbench.guest.device import CONSOLE, READY, SETUP, START, command_line, start_line
from sixbench.lab import privileges
from sixbench.lab.render import render_path, script_text
from sixbench.mechanisms import MECHANISMS, SHIPPED_GUESTS, commands_of, install
from sixbench.model.errors import CapabilityError, ExperimentError, UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.guest import GuestCommand, GuestPort
from sixbench.model.network import Network
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.schema import experiment_schema
from sixbench.plan.yaml_source import parse_yaml
from sixbench.rfc.state import has_own_table
from sixbench.workers.refusals import refuse_foreign


@pytest.fixture(autouse=True)
def filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """There need be no QEMU here: it is asked whether it filters system calls."""
    monkeypatch.setattr(device, "sandbox", lambda qemu: SANDBOX)


SCHEMA = experiment_schema(MECHANISMS)
NAT64: dict[str, Any] = {"family": [6, 4], "prefix": "64:ff9b::/96", "client-as": "own", "hops": 1}
DEVICE_GUEST = DeviceGuest(
    qemu=Path("/usr/bin/qemu"),
    version="qemu 7.2",
    kernel=GuestKernel(name="debian-6.1", release="6.1.0", origin="", sha256="00", built=("jool-dkms 4.1.9-1",)),
    initramfs=Path("/cache, here/initramfs"),
)


def experiment(dut: Any) -> Experiment:
    data = {"dut": dut, "workloads": ["ping"]}
    assert complaints(SCHEMA, data) == []
    return read_experiment(parse_yaml(json.dumps(data), "x.yaml"), MECHANISMS)


def networks(dut: Any) -> list[Network]:
    read = experiment(dut)
    return [install(path, read.topologies[0], read.between) for path in read.paths]


def test_one_that_forwards_has_a_path_of_each_family_and_both_have_one_machine() -> None:
    read = experiment({"guest": "debian-6.1", "setup": [], "rate": "100Mbit"})
    assert [(path.name, path.mechanism, path.family) for path in read.paths] == [
        ("ipv4", "guest", 4),
        ("ipv6", "guest", 6),
    ]
    first, second = networks({"guest": "debian-6.1"})
    assert first.blueprint == second.blueprint
    assert first.hosting == ("dut",)
    assert [(str(leg.source), str(leg.destination)) for leg in first.legs] == [("198.18.0.1", "198.18.1.2")]
    assert [crossing.ip[0].hop_limit for crossing in second.crossings] == [64, 63]
    assert [(view.end.node, view.end.name) for view in viewpoints(first)] == [("dut", "eth0"), ("dut", "eth1")]


def test_one_that_translates_has_what_a_program_has_and_setup_has_its_words() -> None:
    words = "{client} {server} {client-as} {server-as} {prefix} {near} {far} {near-address} {far-address} {else}"
    [network] = networks({"guest": "debian-6.1", "setup": [f"echo {words}", "x"], "state": "own"} | NAT64)
    assert network.guests["dut"].setup == (
        "echo 2001:2::1 198.18.1.2 198.18.1.1 64:ff9b::c612:102 64:ff9b::/96 eth0 eth1 2001:2::2 198.18.1.1 {else}",
        "x",
    )
    assert [str(prefix) for prefix in network.devices[0].prefixes] == ["64:ff9b::/96"]
    assert has_own_table(network)


@pytest.mark.parametrize("name", ["jool", "jool-siit"])
def test_shipped_ones_translate_and_need_no_consent(name: str) -> None:
    read = experiment(name)
    [path] = read.paths
    assert (path.name, path.mechanism, path.family, path.server_family) == (name, "guest", 6, 4)
    assert commands_of(path) == ()
    changed = {key: value for key, value in SHIPPED_GUESTS[name].items() if key != "kernel"} | {"setup": ["id"]}
    assert commands_of(experiment({"guest": "host"} | changed).paths[0]) == ("id",)
    [network] = networks(name)
    assert not any("{prefix}" in line or "{client" in line for line in network.guests["dut"].setup)


def test_commands_in_a_machine_need_consent_and_those_of_the_shipped_experiment_do_not(
    sixbench: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(json.dumps({"dut": {"guest": "debian-6.1", "setup": ["id"]}, "workloads": ["ping"]}))
    done = sixbench("run", file)
    assert done.exit == 2
    assert "paths.ipv4 (and 1 more) runs commands of the experiment in an emulated machine" in done.stderr
    folder = Path(__file__).parents[2] / "experiments/jool-in-a-guest"
    read = read_experiment(parse_yaml((folder / "experiment.yaml").read_text(), "x.yaml"), MECHANISMS)
    assert [commands_of(path) for path in read.paths] == [(), (), ()]


@pytest.mark.parametrize(
    ("dut", "place", "words"),
    [
        ({"guest": "debian-7"}, "dut.guest", "there is no kernel debian-7; there are debian-5.10, debian-6.1"),
        ({"guest": 6.1}, "dut.guest", "there is no kernel 6.1; there are"),
        ({"guest": "host", "setup": "true"}, "dut.setup", '"true" is not a list of commands'),
        ({"guest": "host", "setup": ["a\nb"]}, "dut.setup", "is not a command of one line"),
        ({"guest": "host", "setup": ["x {prefix}"]}, "dut", "{prefix} stands in a command or a file, but there is no"),
        ({"guest": "host", "memory": "1MiB"}, "dut.memory", "is too small"),
        ({"guest": "host", "ready-within": "11min"}, "dut.ready-within", "is too large"),
        ({"guest": "host", "mechanism": "siit"}, "dut.mechanism", "a device is a guest or a mechanism"),
        ({"guest": "host", "program": {}}, "dut.program", "a device is a guest or a program"),
        ({"guest": "host", "description": "x"}, "dut.description", "description is for equipment between ports"),
        ({"guest": "host", "ports": ["a", "b"]}, "dut.guest", "a device is a pair of ports or a guest"),
        ({"guest": "host", "family": [6, 4]}, "dut", "the IPv6 address that the device gives 198.18.1.2 is not known"),
        ({"guest": "host", "family": 5}, "dut.family", "5 is no family"),
        ({"guest": "host", "state": "linux"}, "dut", "the table of a guest is not visible: give state: own"),
        ({"mechanism": "siit", "setup": []}, "dut.setup", "setup is for a guest"),
        ({"mechanism": "siit", "family": 6}, "dut.family", "family is for equipment between ports or a guest"),
        ({"ports": ["a", "b"], "description": "x", "setup": []}, "dut.setup", "setup is for a guest"),
    ],
)
def test_what_is_wrong_is_told_at_its_place(dut: Any, place: str, words: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        read_experiment(parse_yaml(json.dumps({"dut": dut, "workloads": ["ping"]}), "x.yaml"), MECHANISMS)
    text = str(raised.value)
    assert f"x.yaml:1: {place}" in text
    assert words in text, text


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"masquerade": True}, "masquerade"),
        ({"icmp": "none"}, "leave icmp of"),
        ({"filter-rules": 3}, "leave filter-rules of"),
    ],
)
def test_a_node_that_is_more_than_a_guest_can_be_is_refused(node: dict[str, Any], words: str) -> None:
    topology = {
        "nodes": {"a": "host", "r": {"kind": "router", **node}, "b": "host"},
        "links": [{"endpoints": ["a", "r"]}, {"endpoints": ["r", "b"]}],
    }
    paths = {"x": {"guest": {"nodes": ["r"], "kernel": "host"}}}
    text = json.dumps({"topology": topology, "paths": paths, "workloads": ["ping"]})
    with pytest.raises(ExperimentError, match=words):
        read_experiment(parse_yaml(text, "x.yaml"), MECHANISMS)


def test_an_event_does_not_change_the_mtu_in_a_machine() -> None:
    def read(event: dict[str, Any]) -> Experiment:
        event = {"at": "100ms", "link": "left-dut"} | event
        data = {
            "dut": {"guest": "host", "rate": "10Mbit"},
            "workloads": [{"udp-stream": {"datagram": "1000B", "rate": "1Mbit", "duration": "1s"}}],
        }
        return read_experiment(parse_yaml(json.dumps(data | {"events": [event]}), "x.yaml"), MECHANISMS)

    assert read({"rate": "5Mbit"}).combinations[0].events
    with pytest.raises(ExperimentError, match=r'x\.yaml:1: events: "dut" is an emulated machine, whose MTU no event'):
        read({"mtu": 1400})


def test_neither_workers_nor_other_emulated_machines_have_guests() -> None:
    read = experiment("jool")
    with pytest.raises(UsageError, match=r"paths\.jool is an emulated machine under test, whose kernel workers do not"):
        refuse_foreign(read)
    with pytest.raises(UsageError, match=r"paths\.jool is an emulated machine under test, which an emulated machine"):
        refuse_programs_in_guests(read.paths)


def test_the_namespace_has_taps_alone_and_the_machine_what_the_node_would_have() -> None:
    [network, _] = networks({"guest": "debian-6.1", "setup": ["echo {near}"], "rate": "10Mbit", "offload": False})
    script = render_path(network, "guest")["dut"]
    assert script.sysctl == {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
    assert script.routes == []
    assert not any("address add" in line for line in script.devices)
    assert "tuntap add dev sixtap0 mode tap" in script.devices
    assert [line for line in script.queues if "tbf" in line and "dev eth0" in line]
    [request] = script.starts
    assert request.fields["ports"][1] == {
        "tap": "sixtap1",
        "address": "02:00:00:00:01:01",
        "name": "eth1",
        "mtu_bytes": 1500,
    }
    lines = [command["line"] for command in request.fields["commands"]]
    assert "ip address add 198.18.0.2/24 dev eth0" in lines
    assert "ip address add 2001:2:0:1::1/64 dev eth1 nodad" in lines
    assert "sysctl -qw net.ipv4.ip_forward=1" in lines
    assert any(line.startswith("ethtool -K eth0 tso off") for line in lines)
    assert (lines[-1], request.fields["commands"][-1]["label"]) == ("echo eth0", "setup command 1, `echo eth0`,")
    assert "#   echo eth0" in script_text(script).splitlines()


def test_qemu_gets_files_from_the_cache_and_interfaces_that_take_no_work_off_the_machine() -> None:
    ports = [GuestPort(tap="sixtap0", address="02:00:00:00:00:02", name="eth0", mtu_bytes=9000)]
    fields = device_fields(DEVICE_GUEST, "/run/device", ports, [GuestCommand(label="`x`", line="echo 'x'")], 256 << 20)
    assert (fields["name"], fields["argv"]) == ("the guest with debian-6.1", ["sh", f"/run/device/{START}"])
    assert fields["ready"] == ["grep", "-q", READY, f"/run/device/{CONSOLE}"]
    assert fields["memory_bytes"] > 256 << 20
    assert len(fields["files"][SETUP]) % 512 == 0
    assert """step '`x`' 'echo '"'"'x'"'"''""" in fields["files"][SETUP]
    argv = command_line(DEVICE_GUEST, ports, 256 << 20)
    [interface] = [word for word in argv if word.startswith("virtio-net-pci")]
    assert "mac=02:00:00:00:00:02,host_mtu=9000" in interface
    assert all(f"{name}=off" in interface for name in ("csum", "guest_csum", "gso", "guest_tso6", "host_tso4"))
    assert argv[argv.index("-initrd") + 1] == f"/proc/self/fd/{start_opened.FIRST + 2}"
    assert argv[argv.index("-netdev") + 1] == f"tap,id=port0,fd={start_opened.FIRST + 5}"
    started = start_line(DEVICE_GUEST, "/run, here", ports, 256 << 20)
    assert started[-len(argv) :] == argv
    [opened] = [json.loads(word) for word in started if word.startswith("[[")]
    assert opened[2:] == [
        ["copy", "/cache, here/initramfs"],
        ["read", str(DEVICE_GUEST.kernel.modules_image)],
        ["read", f"/run, here/{SETUP}"],
        ["tap", "sixtap0"],
    ]
    assert argv[argv.index("-accel") + 1].startswith("tcg")


def test_a_guest_that_cannot_be_started_here_is_told_at_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kernel: str) -> DeviceGuest:
        raise CapabilityError(f"there is no qemu-system-x86_64 here, for {kernel}")

    monkeypatch.setattr(emulated, "guest_files", refuse)
    source = parse_yaml("workloads: [ping]\ndut:\n  guest: debian-6.1\n", "x.yaml")
    with pytest.raises(ExperimentError, match=r"x\.yaml:2: paths\.ipv4: there is no qemu-system-x86_64 here"):
        emulated.check_guests(read_experiment(source, MECHANISMS))


def test_a_kernel_from_files_needs_consent(
    sixbench: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privileges, "enter_namespace_if_needed", lambda arguments: None)
    file = tmp_path / "x.yaml"
    file.write_text(json.dumps({"dut": {"guest": "./vmlinuz:./6.1"}, "workloads": ["ping"]}))
    done = sixbench("run", file)
    assert done.exit == 2
    assert "paths.ipv4 boots a kernel from files, ./vmlinuz:./6.1, and QEMU does not promise" in done.stderr
    assert "allow it with --allow-programs" in done.stderr
    assert "the kernel ./vmlinuz:./6.1" in sixbench("plan", file).stdout
    assert "there is no vmlinuz" in sixbench("run", file, "--allow-programs").stderr
    file.write_text(json.dumps({"dut": {"mechanism": "siit"}, "kernels": ["./vmlinuz:./6.1"], "workloads": ["ping"]}))
    done = sixbench("run", file)
    assert (done.exit, "kernels boots a kernel from files" in done.stderr) == (2, True)
    assert "boots a kernel from files" not in sixbench("run", file, "--kernel", "./other:./6.2").stderr


def test_what_cannot_be_started_is_known_without_fetching(monkeypatch: pytest.MonkeyPatch) -> None:
    [network] = networks("jool")
    monkeypatch.setattr(emulated, "find_qemu", lambda: Path("/usr/bin/qemu"))
    monkeypatch.setattr(emulated, "kept_kernels", list)
    why_no_guest = emulated.why_no_guest(network)
    assert why_no_guest == "the kernel debian-6.1 is not kept here yet; fetch it by: sixbench kernels add debian-6.1"
    monkeypatch.setattr(emulated, "kept_kernels", lambda: [DEVICE_GUEST.kernel])
    assert emulated.why_no_guest(network) is None


def test_versions_are_those_of_emulator_and_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated, "guest_files", lambda kernel: DEVICE_GUEST)
    [network] = networks("jool")
    assert emulated.guest_versions(network.guests.items()) == {
        "dut": {"QEMU": "7.2", "Linux": "6.1.0", "jool-dkms": "4.1.9-1"}
    }
