"""Engines that make tunnels: lines of ip-link(8) and ip-tunnel(8), requests of docs/protocol.md; the choice of an
engine."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path as File
from typing import Any

import pytest

from sixbench.agent.requests import REQUESTS
from sixbench.agent.requests.request import Answered
from sixbench.agent.requests.request import Request as AgentRequest
from sixbench.bench.engines import choose_engines
from sixbench.engines import ENGINES
from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.device import Tunnel
from sixbench.model.errors import AgentError, CapabilityError
from sixbench.model.experiment import Experiment
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path
from sixbench.model.stage import NodeRequest, Stage

Read = Callable[[str], Experiment]

PROTOCOL = (File(__file__).parents[2] / "docs/protocol.md").read_text()

TEXT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
paths: {p: native4}
workloads: [ping]
"""


@pytest.fixture
def tunnels(read: Read) -> Callable[..., list[Tunnel]]:
    def make(mechanism: str, *nodes: str, **options: Scalar) -> list[Tunnel]:
        given = {name.replace("_", "-"): value for name, value in options.items()}
        kind = MECHANISMS[mechanism]
        path = Path(name="p", mechanism=mechanism, family=kind.family(given), nodes=nodes or kind.sample, options=given)
        return list(install(path, read(TEXT).topologies[0], ("h1", "h2")).tunnels)

    return make


Tunnels = Callable[..., list[Tunnel]]


@pytest.mark.parametrize(
    ("mechanism", "options", "lines"),
    [
        (
            "6in4",
            {"pmtu": "dynamic"},
            [
                "link add 6in4-1 type sit local 198.18.1.1 remote 198.18.1.2 ttl 64 tos inherit pmtudisc",
                "link set 6in4-1 mtu 1480 up",
            ],
        ),
        (
            "6in4",
            {"ttl": 9, "tos": 0x2F, "mtu": 1280, "pmtu": "dynamic"},
            [
                "link add 6in4-1 type sit local 198.18.1.1 remote 198.18.1.2 ttl 9 tos 0x2c pmtudisc",
                "link set 6in4-1 mtu 1280 up",
            ],
        ),
        ("6to4", {"pmtu": "dynamic"}, ["link add 6to4-1 type sit local 198.18.1.1 ttl 64 tos inherit pmtudisc"]),
        (
            "6rd",
            {"pmtu": "dynamic"},
            [
                "link add 6rd-1 type sit local 198.18.1.1 ttl 64 tos inherit pmtudisc "
                "6rd-prefix 2001:db8::/32 6rd-relay_prefix 0.0.0.0/0"
            ],
        ),
        (
            "6rd",
            {"pmtu": "dynamic", "ipv4_mask": 15},
            [
                "link add 6rd-1 type sit local 198.18.1.1 ttl 64 tos inherit pmtudisc "
                "6rd-prefix 2001:db8::/32 6rd-relay_prefix 198.18.0.0/15"
            ],
        ),
        (
            "isatap",
            {"pmtu": "dynamic"},
            [
                "link add isatap-1 type sit local 198.18.0.1 ttl 64 tos inherit pmtudisc isatap",
                "tunnel prl dev isatap-1 prl-default 198.18.1.2",
                "link set isatap-1 mtu 1480 up",
            ],
        ),
        (
            "4in6",
            {},
            [
                "link add 4in6-1 type ip6tnl mode ipip6 local 2001:2:0:1::1 remote 2001:2:0:1::2 "
                "hoplimit 64 tclass inherit encaplimit none",
                "link set 4in6-1 mtu 1460 up",
            ],
        ),
        (
            "ds-lite",
            {"ttl": 0, "tos": 8},
            [
                "link add ds-lite-1 type ip6tnl mode ipip6 local 2001:2:0:1::1 remote 2001:2:0:1::2 "
                "hoplimit inherit tclass 0x08 encaplimit none",
            ],
        ),
        (
            "gre",
            {},
            ["link add gre-1 type gre local 198.18.1.1 remote 198.18.1.2 ttl 64 tos inherit nopmtudisc"],
        ),
        (
            "gre",
            {"inner": "ipv4", "outer": "ipv6", "key": 7},
            [
                "link add gre-1 type ip6gre local 2001:2:0:1::1 remote 2001:2:0:1::2 "
                "hoplimit 64 tclass inherit encaplimit none key 7",
                "link set gre-1 mtu 1452 up",
            ],
        ),
    ],
)
def test_tunnels_of_the_kernel(tunnels: Tunnels, mechanism: str, options: dict[str, Scalar], lines: list[str]) -> None:
    script = ENGINES["kernel"].make(tunnels(mechanism, **options)[0])
    assert script.requests == ()
    assert list(script.ip)[: len(lines)] == lines
    assert script.ip[-1].endswith(" up")


def test_vxlan_of_the_kernel(tunnels: Tunnels) -> None:
    for options, ends, rest in (
        ({}, "id 1 local 198.18.1.1 remote 198.18.1.2 dev eth1", "ttl 64 tos inherit df unset"),
        (
            {"key": 42, "pmtu": "dynamic", "inner": "ipv4", "outer": "ipv6"},
            "id 42 local 2001:2:0:1::1 remote 2001:2:0:1::2 dev eth1",
            "ttl 64 tos inherit df set",
        ),
    ):
        first, second = (ENGINES["kernel"].make(tunnel).ip[0].split() for tunnel in tunnels("vxlan", **options))
        assert " ".join(first[5:]) == f"type vxlan {ends} dstport 4789 {rest}"
        macs = [words[words.index("address") + 1] for words in (first, second)]
        assert all(re.fullmatch(r"02(:[0-9a-f]{2}){5}", mac) for mac in macs)
        assert len(set(macs)) == 2


def test_ends_of_a_vxlan_whose_outer_addresses_end_alike_have_their_own_link_layer_addresses(
    tunnels: Tunnels,
) -> None:
    """Links written from both hosts inwards give both `::1`."""
    first, second = tunnels("vxlan", inner="ipv4", outer="ipv6")
    alike = [
        dataclasses.replace(tunnel, local=ip_address(local))
        for tunnel, local in ((first, "2001:2::1"), (second, "2001:2:0:2::1"))
    ]
    parts = [ENGINES["kernel"].make(tunnel).ip[0].split()[4] for tunnel in alike]
    assert parts[0] != parts[1]


IP = shutil.which("ip")
UNSHARE = shutil.which("unshare")
APART = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]


@pytest.fixture(scope="session")
def apart() -> list[str]:
    """Words that run a command in a network namespace of its own."""
    if IP is None or UNSHARE is None:
        pytest.skip("this machine has no ip, or no unshare")
    done = subprocess.run([*APART, "ip", "link"], capture_output=True, text=True, check=False, timeout=30)
    if done.returncode != 0:
        pytest.skip(f"no network namespace can be made here: {done.stderr.strip()}")
    return APART


@pytest.mark.parametrize("ttl", [0, 64])
@pytest.mark.parametrize("pmtu", ["static", "dynamic"])
@pytest.mark.parametrize("mechanism", [name for name, kind in MECHANISMS.items() if "kernel" in kind.engines])
def test_ip_takes_the_lines(tunnels: Tunnels, apart: list[str], mechanism: str, pmtu: str, ttl: int) -> None:
    """Whatever kinds of devices this kernel has: what ip itself finds wrong it says before it asks the kernel."""
    for tunnel in tunnels(mechanism, pmtu=pmtu, ttl=ttl, tos=0x2C) if MECHANISMS[mechanism].sample else []:
        script = ENGINES["kernel"].make(dataclasses.replace(tunnel, underlay=("lo",)))
        text = "\n".join(["link set lo up", *script.ip]) + "\n"
        done = subprocess.run(
            [*apart, "ip", "-batch", "-"], input=text, capture_output=True, text=True, check=False, timeout=30
        )
        kernel_lacks_it = "Unknown device type" in done.stderr or "Operation not supported" in done.stderr
        assert done.returncode == 0 or kernel_lacks_it, f"{text}{done.stderr}"


def documented_fields() -> set[str]:
    """The keys of a tunnel in docs/protocol.md."""
    _, _, after = PROTOCOL.partition("\nA tunnel: ")
    return set(re.findall(r"`([a-z_]+)`", after.partition("\n\n")[0]))


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if "user" in kind.engines])
@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_requests_to_the_agent_are_those_of_the_protocol(tunnels: Tunnels, name: str, engine: str) -> None:
    options: dict[str, Scalar] = {"key": 7} if name == "gre" else {}
    for tunnel in tunnels(name, **options):
        script = ENGINES[engine].make(tunnel)
        assert script.ip == ()
        [request] = script.requests
        assert request.op == "tunnel-add"
        REQUESTS["tunnel-add"](**request.fields)
        assert set(request.fields) <= documented_fields()
        assert request.fields.get("engine", "ebpf") == engine
        assert request.fields["outer"] in ("ipv4", "ipv6")
        assert request.fields["payload"] in ("ipv4", "ipv6", "gre")
        assert f'"kind": "{request.fields["mapping"]["kind"]}"' in PROTOCOL
        assert None not in request.fields["mapping"].values()
        assert request.fields.get("gre_key") == tunnel.key


def test_the_fields_of_a_tunnel(tunnels: Tunnels) -> None:
    [request] = ENGINES["ebpf"].make(tunnels("6to4", "r1", relay="r2", mtu=1280)[0]).requests
    assert request.fields == {
        "device": "6to4-1",
        "mtu_bytes": 1280,
        "outer": "ipv4",
        "payload": "ipv6",
        "local": "198.18.1.1",
        "underlay": ["eth1"],
        "mapping": {"kind": "6to4", "relay": "198.18.1.2", "allow_private": False},
        "ttl": 64,
        "tos": "inherit",
        "ecn": True,
        "pmtu": "static",
    }
    [request] = ENGINES["user"].make(tunnels("6in4", ttl=0, tos=46, ecn=False, pmtu="dynamic")[1]).requests
    fields = {name: request.fields[name] for name in ("engine", "ttl", "tos", "ecn", "pmtu", "mapping")}
    assert fields == {
        "engine": "user",
        "ttl": "inherit",
        "tos": 46,
        "ecn": False,
        "pmtu": "dynamic",
        "mapping": {"kind": "fixed", "remote": "198.18.1.1"},
    }


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_stages_ask_for_is_in_the_protocol(read: Read, name: str) -> None:
    kind = MECHANISMS[name]
    options = dict(kind.sample_options)
    path = Path(name="p", mechanism=name, family=kind.family(options), nodes=kind.sample, options=options)
    network = install(path, read(TEXT).topologies[0], ("h1", "h2"))

    def asked(stage: Stage) -> list[NodeRequest]:
        return [item for request in stage.requests for item in (request, request.undo) if item is not None]

    for request in (item for stages in network.stages for stage in stages.values() for item in asked(stage)):
        REQUESTS[request.op](**request.fields)
        assert f"| `{request.op}` |" in PROTOCOL


@dataclasses.dataclass
class Probe:
    """An agent on a machine that lacks some things."""

    has_devices: bool = False
    has_bpf: bool = True
    name: str = "probe"
    asked: list[str] = dataclasses.field(default_factory=list)

    def call(self, op: str, **fields: Any) -> dict[str, Any]:
        self.asked.append(f"{op} {fields.get('engine', '')}".strip())
        if op in ("tunnel-add", "translator-add") and fields.get("engine") != "user" and not self.has_bpf:
            raise AgentError("system", f"probe: {op}: this process lacks CAP_BPF")
        if op == "exec" and "-batch" in fields["argv"] and not self.has_devices:
            return {"exit": 1, "stdout": "", "stderr": "Error: Unknown device type.\nCommand failed -:1\n"}
        if op == "exec" and fields["argv"][0] == "tayga":
            raise AgentError("exec", "probe: exec: starting tayga: No such file or directory (os error 2)")
        if op == "exec" and fields["argv"][0] == "sh":
            lines = [line for line in fields["argv"][-1].splitlines() if "has no module" in line]
            words = "".join(lines).strip().removeprefix('echo "').removesuffix('" >&2')
            return {"exit": len(lines), "stdout": "", "stderr": words}
        if op == "exec" and fields["argv"][0] == "unshare":
            return {"exit": 127, "stdout": "", "stderr": f"{fields['argv'][-1]}: not found"}
        return {"exit": 0, "stdout": "", "stderr": ""}

    def answer(self, request: AgentRequest[Answered]) -> Answered:
        return request.read(self.call(request.op, **dataclasses.asdict(request)))


def chosen(probe: Probe, read: Read, path: str) -> str | None:
    experiment = read(TEXT.replace("{p: native4}", f"\n  p: {path}\n"))
    return choose_engines(probe, experiment).path("p").engine  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("probe", "path", "engine"),
    [
        (Probe(has_devices=True), "{6in4: [r1, r2]}", "kernel"),
        (Probe(), "{6in4: [r1, r2]}", "ebpf"),
        (Probe(has_bpf=False), "{6in4: [r1, r2]}", "user"),
        (Probe(has_devices=True), "{6over4: [h1, h2]}", "ebpf"),
        (Probe(has_devices=True), "{6in4: {nodes: [r1, r2], engine: user}}", "user"),
        (Probe(has_devices=True), "{tunnel-broker: [r1, r2]}", "ebpf"),
        (Probe(), "native4", "kernel"),
        (Probe(), "dual-stack", "kernel"),
    ],
)
def test_the_first_engine_that_works_is_taken_and_named(read: Read, probe: Probe, path: str, engine: str) -> None:
    assert chosen(probe, read, path) == engine


@pytest.mark.parametrize(
    ("probe", "path", "message"),
    [
        (
            Probe(has_devices=True),
            "{teredo: [h1, r2]}",
            "test.yaml:6: paths.p: teredo cannot be executed on this machine by miredo: the program miredo-server is "
            "missing (Debian package miredo-server)",
        ),
        (
            Probe(has_devices=True),
            "{siit: {nodes: [r1], engine: tayga}}",
            "test.yaml:6: paths.p: siit cannot be executed on this machine by tayga: the program tayga is missing "
            "(Debian package tayga); other engines of siit: ebpf, user, jool",
        ),
        (
            Probe(has_devices=True),
            "{siit: {nodes: [r1], engine: jool}}",
            "test.yaml:6: paths.p: siit cannot be executed on this machine by jool: this kernel has no module "
            "jool_siit; use one that is built with it, by: sixbench kernels add debian-6.1 --with jool, and run with "
            "--kernel debian-6.1; other engines of siit: ebpf, user, tayga",
        ),
        (
            Probe(has_devices=True),
            "{nat64: {nodes: [r1], engine: jool}}",
            "test.yaml:6: paths.p: nat64 cannot be executed on this machine by jool: this kernel has no module "
            "jool; use one that is built with it, by: sixbench kernels add debian-6.1 --with jool, and run with "
            "--kernel debian-6.1; other engines of nat64: ebpf, user",
        ),
        (
            Probe(has_bpf=False),
            "{464xlat: {nodes: [r1, r2], engine: ebpf}}",
            "test.yaml:6: paths.p: 464xlat cannot be executed on this machine by ebpf: translator-add: this process "
            "lacks CAP_BPF; other engines of 464xlat: user",
        ),
        (
            Probe(),
            "{6in4: {nodes: [r1, r2], engine: kernel}}",
            "test.yaml:6: paths.p: 6in4 cannot be executed on this machine by kernel: this kernel has no sit devices, "
            "or may not load their module (CONFIG_IPV6_SIT); other engines of 6in4: ebpf, user",
        ),
        (
            Probe(has_bpf=False),
            "{6in4: {nodes: [r1, r2], engine: ebpf}}",
            "test.yaml:6: paths.p: 6in4 cannot be executed on this machine by ebpf: tunnel-add: this process lacks "
            "CAP_BPF; other engines of 6in4: kernel, user",
        ),
        (
            Probe(),
            "{vxlan: [r1, r2]}",
            "test.yaml:6: paths.p: vxlan cannot be executed on this machine by kernel: this kernel has no vxlan "
            "devices, or may not load their module (CONFIG_VXLAN)",
        ),
    ],
)
def test_an_engine_that_this_machine_lacks_is_told_with_its_line(
    read: Read, probe: Probe, path: str, message: str
) -> None:
    """An engine that the experiment names is never replaced by another."""
    with pytest.raises(CapabilityError) as caught:
        chosen(probe, read, path)
    assert str(caught.value) == message


def test_what_was_tried_is_taken_away_again(read: Read) -> None:
    probe = Probe(has_bpf=False)
    chosen(probe, read, "{6in4: [r1, r2]}")
    assert "tunnel-add user" in probe.asked
    assert all(
        "tunnel-remove" in probe.asked[probe.asked.index(item) :]
        for item in probe.asked
        if item.startswith("tunnel-add")
    )
    assert not [item for first, item in pairwise(probe.asked) if first == item == "tunnel-add"]
