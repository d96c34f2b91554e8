"""`sixbench plan --json`: the form of its parts, and their values, held against the text that `plan` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from json_forms import NULL, misfits

pytestmark = pytest.mark.computes

PLAN = Path(__file__).parent / "plan"
NAMES = ("two-routers", "tunnels")

Command = Callable[..., Any]
Plan = dict[str, Any]

DIRECTION = {
    "rate_bps": (int, NULL),
    "overhead": str,
    "queue": {
        "limit_bytes": (int, NULL),
        "limit_ns": (int, NULL),
        "limit_packets": (int, NULL),
        "discipline": str,
        "target_ns": (int, NULL),
        "interval_ns": (int, NULL),
        "ecn": (bool, NULL),
    },
    "burst_bytes": (int, NULL),
    "impairments": {
        "delay_ns": int,
        "jitter_ns": int,
        "distribution": str,
        "jitter_correlation": float,
        "delays_ns": [int],
        "loss": ({"ratio": float, "packets": [int]}, NULL),
        "duplicate": NULL,
        "corrupt": NULL,
        "overtaking": NULL,
        "in_order": bool,
        "late": [int],
        "late_by": int,
    },
}
HOP = {"link": str, "near": str, "far": str, "headers": [str]}
TUNNEL = {"node": str, "device": str, "mtu_bytes": int, "local": str}
NETWORK = {"client": str, "server": str, "client_seen": str, "links": [HOP], "tunnels": [TUNNEL]}
SCALAR = (str, int, float, bool, NULL)
FORM = {
    "schema": str,
    "experiment": str,
    "between": [str],
    "paths": [
        {
            "name": str,
            "mechanism": str,
            "engine": (str, NULL),
            "nodes": [str],
            "options": {str: SCALAR},
            "networks": [NETWORK],
        }
    ],
    "baseline": str,
    "trials": {"min": int, "max": int},
    "repeats": int,
    "estimate": {
        **dict.fromkeys(("least_ns", "most_ns", "traffic_ns", "between_ns", "before_ns", "open_ended"), int),
        "at_least": bool,
        "clock": str,
    },
    "keep_awake": (bool, NULL),
    "combinations": [
        {
            "name": str,
            "workload": str,
            "params": {str: SCALAR},
            "levels": {str: SCALAR},
            "topology": int,
            "placement": str,
        }
    ],
    "order": [{"key": str, "block": int, "combination": str, "path": str}],
    "topologies": [
        {
            "addresses": [{"link": str, "node": str, "interface": str, "ipv4": str, "ipv6": str}],
            "links": [{"name": str, "profile": NULL, "mtu_bytes": int, "forward": DIRECTION, "reverse": DIRECTION}],
            "commands": {str: [str]},
        }
    ],
}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def read_plan(sixbench: Command) -> Callable[[str], Plan]:
    """The plan of an experiment of `plan`, as JSON."""
    return lambda name: dict(json.loads(sixbench("plan", PLAN / f"{name}.yaml", "--json").stdout))


@pytest.fixture
def plan(name: str, read_plan: Callable[[str], Plan]) -> Plan:
    return read_plan(name)


def script_lines(name: str) -> list[str]:
    """The golden text of `plan --commands --trials`."""
    return (PLAN / f"{name}.commands.txt").read_text().splitlines()


def test_every_part_has_its_keys_and_types(plan: Plan) -> None:
    assert misfits(plan, FORM) == []
    assert plan["schema"] == "sixbench.plan/1"


def test_trials_are_those_of_the_text_in_the_same_order(plan: Plan, name: str) -> None:
    keys = [trial["key"] for trial in plan["order"]]
    assert keys == [line[4:] for line in script_lines(name) if re.fullmatch(r"#   b\d{3}-c\d{4}-\S+", line)]
    assert [(f"b{trial['block']:03}", trial["combination"], trial["path"]) for trial in plan["order"]] == [
        tuple(key.split("-", 2)) for key in keys
    ]


def test_each_block_has_every_combination_over_every_path_once(plan: Plan) -> None:
    names = [[part["name"] for part in plan[key]] for key in ("combinations", "paths")]
    blocks = {trial["block"] for trial in plan["order"]}
    trials = [(trial["block"], trial["combination"], trial["path"]) for trial in plan["order"]]
    assert sorted(trials) == sorted(product(blocks, *names))
    assert blocks == set(range(1, len(blocks) + 1))
    assert len(trials) == plan["trials"]["max"]


def test_networks_differ_in_their_commands(read_plan: Callable[[str], Plan]) -> None:
    [first, second] = read_plan("two-routers")["topologies"]
    assert first["addresses"] == second["addresses"]
    differing = {name for name in first["commands"] if first["commands"][name] != second["commands"][name]}
    assert differing == {"r1", "r2"}  # the ends of the link whose rate is varied


def test_commands_are_those_of_the_text(plan: Plan, name: str) -> None:
    """A text has the commands of paths too, behind those of the networks."""
    lines = script_lines(name)
    for topology in plan["topologies"]:
        for machine, commands in topology["commands"].items():
            assert commands, machine
            assert any(lines[at : at + len(commands)] == commands for at in range(len(lines))), machine


def test_every_address_has_a_line_in_the_text(plan: Plan, name: str) -> None:
    lines = [line for line in script_lines(name) if line.startswith("#   ")]
    for topology in plan["topologies"]:
        ends = list(topology["addresses"])
        assert [(end["link"], end["node"]) for end in ends] == [
            *(("h1-r1", "h1"), ("h1-r1", "r1"), ("r1-r2", "r1"), ("r1-r2", "r2"), ("r2-h2", "r2"), ("r2-h2", "h2"))
        ]
        for end in ends:
            text = f"#   {end['link']}: {end['node']} {end['interface']}: {end['ipv4']} {end['ipv6']}"
            assert text in lines


def test_times_add_up(plan: Plan) -> None:
    estimate = plan["estimate"]
    assert estimate["least_ns"] == sum(estimate[part] for part in ("traffic_ns", "between_ns", "before_ns"))
    seconds = {combination["name"]: _seconds(combination["params"]) for combination in plan["combinations"]}
    fewest_blocks = plan["trials"]["min"] // (len(plan["combinations"]) * len(plan["paths"]))
    traffic_s = sum(seconds[trial["combination"]] for trial in plan["order"] if trial["block"] <= fewest_blocks)
    assert estimate["traffic_ns"] == round(1e9 * traffic_s)
    assert (estimate["most_ns"] > estimate["least_ns"]) == (plan["trials"]["max"] > plan["trials"]["min"])
    assert (estimate["open_ended"], estimate["at_least"], estimate["clock"]) == (0, False, "real")


def _seconds(params: dict[str, int]) -> float:
    return (params["duration_ns"] + params["warmup_ns"]) / 1e9


def test_two_networks_with_a_rate_of_their_own(read_plan: Callable[[str], Plan]) -> None:
    plan = read_plan("two-routers")
    assert (plan["experiment"], plan["between"], plan["baseline"]) == ("two-routers", ["h1", "h2"], "ipv6")
    assert (plan["trials"], plan["repeats"], plan["keep_awake"]) == ({"min": 36, "max": 54}, 2, None)
    assert [_combination(combination) for combination in plan["combinations"]] == [
        ("c0001", "tcp-stream", 2.5, 64, 10, 0),
        ("c0002", "tcp-stream", 2.5, 8192, 10, 0),
        ("c0003", "tcp-stream", 2.5, 64, 100, 1),
        ("c0004", "tcp-stream", 2.5, 8192, 100, 1),
        ("c0005", "ping", 5.05, None, 10, 0),
        ("c0006", "ping", 5.05, None, 100, 1),
    ]
    for topology, rate_bps in zip(plan["topologies"], (10_000_000, 100_000_000), strict=True):
        assert [(link["name"], link["mtu_bytes"]) for link in topology["links"]] == [
            *(("h1-r1", 1500), ("r1-r2", 1400), ("r2-h2", 1500))
        ]
        assert all(link["forward"] == link["reverse"] for link in topology["links"])
        first, middle, last = (link["forward"] for link in topology["links"])
        # A link differs from a plain one by what its line in the experiment says.
        assert dict(_changes(first, middle)) == {"rate_bps": rate_bps, "queue.limit_ns": 50_000_000}
        assert dict(_changes(first, last)) == {
            "impairments.delay_ns": 5_000_000,
            "impairments.jitter_ns": 1_000_000,
            "impairments.loss": {"ratio": 0.001, "packets": []},
        }
        assert (first["rate_bps"], first["queue"]["limit_ns"], first["queue"]["discipline"]) == (
            None,
            None,
            "tail-drop",
        )
        assert (first["impairments"]["delay_ns"], first["impairments"]["loss"]) == (0, None)


def _combination(combination: dict[str, Any]) -> tuple[Any, ...]:
    """Name, workload, seconds, message, megabits a second and network of a combination."""
    params, levels = combination["params"], combination["levels"]
    assert combination["placement"] == "together"
    assert levels.get("message_bytes") == params.get("message_bytes")
    rate_mbps = levels["link_rate_bps"] // 10**6
    name, workload = combination["name"], combination["workload"]
    return name, workload, _seconds(params), params.get("message_bytes"), rate_mbps, combination["topology"]


def _changes(plain: dict[str, Any], changed: dict[str, Any], where: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in changed.items():
        if isinstance(value, dict) and isinstance(plain[key], dict):
            yield from _changes(plain[key], value, f"{where}{key}.")
        elif value != plain[key]:
            yield f"{where}{key}", value


def test_paths_in_both_networks(read_plan: Callable[[str], Plan]) -> None:
    for path, family, ends in zip(
        read_plan("two-routers")["paths"],
        ("4", "6", "6"),
        (("198.18.0.1", "192.0.2.2"), ("2001:2::1", "2001:2:0:2::2"), ("2001:2::1", "2001:2:0:2::2")),
        strict=True,
    ):
        assert (path["mechanism"], path["engine"], path["nodes"]) == (f"native{family}", None, [])
        assert path["options"] == {}
        assert len(path["networks"]) == 2
        for network in path["networks"]:
            assert (network["client"], network["server"], network["client_seen"]) == (*ends, ends[0])
            assert _hops(network) == f"h1 {family} r1 {family} r2 {family} h2"
            assert network["tunnels"] == []


def _hops(network: dict[str, Any]) -> str:
    """The nodes, and between them the families of a packet's headers, outermost first."""
    links = network["links"]
    assert [link["link"] for link in links] == [f"{link['near']}-{link['far']}" for link in links]
    words = [links[0]["near"]]
    for link in links:
        words += ["in".join(reversed([header.removeprefix("ipv") for header in link["headers"]])), link["far"]]
    return " ".join(words)


def test_paths_with_mechanisms(read_plan: Callable[[str], Plan]) -> None:
    plan = read_plan("tunnels")
    assert (plan["trials"], plan["baseline"]) == ({"min": 7, "max": 7}, "ipv6")
    assert [_path(path) for path in plan["paths"]] == [
        ("ipv6", "native6", None, [], {}, "h1 6 r1 6 r2 6 h2"),
        ("configured", "6in4", "kernel", ["r1", "r2"], {"pmtu": "dynamic", "ttl": 32}, "h1 6 r1 6in4 r2 6 h2"),
        ("relay", "6to4", "ebpf", ["r1"], {"relay": "r2", "mtu": 1280}, "h1 6 r1 6in4 r2 6 h2"),
        ("isatap", "isatap", "user", ["h1", "r2"], {}, "h1 6in4 r1 6in4 r2 6 h2"),
        ("ds-lite", "ds-lite", None, ["r1", "r2"], {}, "h1 4 r1 4in6 r2 4 h2"),
        ("6over4", "6over4", None, ["h1", "h2"], {}, "h1 6in4 r1 6in4 r2 6in4 h2"),
        ("broker", "tunnel-broker", None, ["r1", "r2"], {}, "h1 6 r1 6in4 r2 6 h2"),
    ]


def _path(path: dict[str, Any]) -> tuple[Any, ...]:
    [network] = path["networks"]
    return path["name"], path["mechanism"], path["engine"], path["nodes"], path["options"], _hops(network)


def test_ends_of_paths_with_mechanisms(read_plan: Callable[[str], Plan]) -> None:
    """Addresses by RFC 3056 section 2 (2002::/16), RFC 5214 section 6.1 (::0200:5efe:V4ADDR) and RFC 2529 section 4."""
    ends = {}
    for path in read_plan("tunnels")["paths"]:
        [network] = path["networks"]
        tunnels = [(end["node"], end["device"], end["mtu_bytes"], end["local"]) for end in network["tunnels"]]
        ends[path["name"]] = (network["client"], network["server"], network["client_seen"], tunnels)
    plain = ("2001:2::1", "2001:2:0:2::2", "2001:2::1")
    assert ends == {
        "ipv6": (*plain, []),
        "configured": (*plain, [("r1", "6in4-1", 1480, "198.18.1.1"), ("r2", "6in4-1", 1480, "198.18.1.2")]),
        "relay": (
            *("2002:c612:101:1::1", "2001:2:0:2::2", "2002:c612:101:1::1"),
            [("r1", "6to4-1", 1280, "198.18.1.1"), ("r2", "6to4-1", 1280, "198.18.1.2")],
        ),
        "isatap": (
            *("2001:db8::200:5efe:c612:1", "2001:2:0:2::2", "2001:db8::200:5efe:c612:1"),
            [("h1", "isatap-1", 1480, "198.18.0.1"), ("r2", "isatap-1", 1480, "198.18.1.2")],
        ),
        "ds-lite": (
            *("192.168.1.1", "198.18.2.2", "198.18.2.1"),
            [("r1", "ds-lite-1", 1460, "2001:2:0:1::1"), ("r2", "ds-lite-1", 1460, "2001:2:0:1::2")],
        ),
        "6over4": (
            *("2001:db8::c612:1", "2001:db8::c612:202", "2001:db8::c612:1"),
            [("h1", "6over4-1", 1480, "198.18.0.1"), ("h2", "6over4-1", 1480, "198.18.2.2")],
        ),
        "broker": (*plain, [("r1", "broker-1", 1480, "198.18.1.1"), ("r2", "lease-0", 1480, "198.18.1.2")]),
    }
