"""Experiment files: what they mean, with all defaults filled in. What is wrong with them: tests/golden/errors."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Interface, IPv6Interface

import pytest
from synthetic import rate_of

from sixbench.model.direction import RateQueue
from sixbench.model.emulation import ChosenPackets, Impairments
from sixbench.model.errors import ExperimentError
from sixbench.model.experiment import Blocks, Experiment, Statistics
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]


def test_what_is_left_out_has_defaults(read: Read, small: str) -> None:
    experiment = read(small)
    assert (experiment.name, experiment.title, experiment.description) == ("small", "small", "")
    assert experiment.between == ("h1", "h2")
    assert experiment.baseline == "ipv4"
    assert experiment.blocks == Blocks(minimum=5, maximum=5)
    assert experiment.statistics == Statistics(confidence=0.95, margin=0.01, trim=0)
    assert (experiment.seed, experiment.bottleneck, experiment.notes) == (1, "any", ())
    assert (experiment.file, experiment.text) == ("test.yaml", small)
    [combination] = experiment.combinations
    assert combination.workload.params == {"duration_ns": 5_000_000_000, "warmup_ns": 50_000_000}
    [topology] = experiment.topologies
    link = topology.links[0]
    assert (link.name, link.mtu_bytes, rate_of(link), link.is_emulated) == ("h1-r1", 1500, None, False)
    assert [(path.name, path.mechanism, path.family) for path in experiment.paths] == [
        ("ipv4", "native4", 4),
        ("ipv6", "native6", 6),
    ]


def test_everything_can_be_said(read: Read) -> None:
    experiment = read("""
        experiment: all
        title: All that
          can be said
        description: |
          Two lines,
          kept.
        notes: [one, "  two   words "]
        factors: {size: [64B, 1KiB]}
        topology:
          nodes: {a: {kind: host, sysctl: {net.ipv4.tcp_sack: false, net.ipv4.tcp_rmem: 4096 87380 6291456}}, b: host}
          links:
            - endpoints: [a, b]
              name: wire
              mtu: 1400
              rate: 10Mbit
              queue: 20ms
              burst: 4KiB
              delay: 5ms
              jitter: 1ms
              loss: 0.5%
              offload: true
              ipv4: [192.0.2.1/30, 192.0.2.2/30]
              ipv6: ["2001:db8::1/127", "2001:db8::0/127"]
        between: [b, a]
        paths: {six: {native6: }, four: {mechanism: native4, engine: kernel}}
        baseline: four
        aa: true
        workloads:
          - udp-stream: {datagram: $size, rate: 5kpps, count: 100}
        blocks: {min: 3, max: 9, precision: 1.5%, deviation: 2%}
        statistics: {confidence: 99%, margin: 3%, trim: 1}
        seed: 9223372036854775807
        bottleneck: path
    """)
    assert experiment.title == "All that can be said"
    assert experiment.description == "Two lines,\nkept."
    assert experiment.notes == ("one", "two words")
    topology = experiment.topologies[0]
    assert topology.nodes["a"].sysctl == {"net.ipv4.tcp_sack": "0", "net.ipv4.tcp_rmem": "4096 87380 6291456"}
    [link] = topology.links
    assert (link.name, link.mtu_bytes, rate_of(link)) == ("wire", 1400, 10_000_000)
    assert {(direction.queue, direction.burst_bytes) for direction in link.directions} == {
        (RateQueue(limit_ns=20_000_000), 4096)
    }
    impairments = Impairments(delay_ns=5_000_000, jitter_ns=1_000_000, loss=ChosenPackets(ratio=0.005))
    assert link.impairments == (impairments, impairments)
    assert link.offload_on
    assert [end.ipv4 for end in link.ends] == [IPv4Interface("192.0.2.1/30"), IPv4Interface("192.0.2.2/30")]
    assert [end.ipv6 for end in link.ends] == [IPv6Interface("2001:db8::1/127"), IPv6Interface("2001:db8::/127")]
    assert experiment.between == ("b", "a")
    assert [(path.name, path.engine, path.aa_of) for path in experiment.paths] == [
        ("six", None, None),
        ("four", "kernel", None),
        ("four-aa", None if experiment.path("four").engine is None else "kernel", "four"),
    ]
    assert experiment.blocks == Blocks(minimum=3, maximum=9, precision=0.015, deviation=0.02)
    assert experiment.statistics == Statistics(confidence=0.99, margin=0.03, trim=1)
    assert (experiment.seed, experiment.bottleneck) == (2**63 - 1, "path")
    assert [c.levels for c in experiment.combinations] == [{"size_bytes": 64}, {"size_bytes": 1024}]
    assert experiment.combinations[0].workload.params == {"datagram_bytes": 64, "rate_pps": 5000, "count": 100}


SWEPT = """
factors: {speed: [10Mbit, 1Gbit]}
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: $speed, mtu: [1500, 1400]}
    - {endpoints: [r1, h2], rate: $speed, mtu: [1500, 1400]}
paths: {ipv4: native4}
workloads:
  - tcp-stream: {message: [64B, 8KiB], sndbuf: 1MiB}
  - tcp-rr: {message: 64B}
"""


def test_equal_lists_of_links_are_one_factor_and_shared_factors_go_together(read: Read) -> None:
    experiment = read(SWEPT)
    rates = [[(rate_of(link), link.mtu_bytes) for link in topology.links] for topology in experiment.topologies]
    assert rates == [[pair, pair] for pair in ((10**7, 1500), (10**7, 1400), (10**9, 1500), (10**9, 1400))]
    levels = [(c.workload.kind, *c.levels.items()) for c in experiment.combinations]
    assert len(levels) == 4 * 2 + 4
    assert levels[0] == ("tcp-stream", ("speed_bps", 10**7), ("link_mtu_bytes", 1500), ("message_bytes", 64))
    assert levels[-1] == ("tcp-rr", ("speed_bps", 10**9), ("link_mtu_bytes", 1400), ("message_bytes", 64))
    for combination in experiment.combinations:
        topology = experiment.topologies[combination.topology]
        assert rate_of(topology.links[0]) == combination.levels["speed_bps"]
        assert topology.links[1].mtu_bytes == combination.levels["link_mtu_bytes"]


def test_a_list_of_one_is_no_factor(read: Read, small: str) -> None:
    [combination] = read(small.replace("[tcp-rr]", "[{tcp-rr: {message: [1KiB], nodelay: [false]}}]")).combinations
    assert combination.levels == {"message_bytes": 1024}


def test_entries_of_one_kind_are_told_apart_by_what_differs(read: Read, small: str) -> None:
    text = "[{tcp-rr: {message: 64B}}, {tcp-rr: {message: 64B, nodelay: false}}, {tcp-rr: {message: 64B, mss: 536B}}]"
    levels = [c.levels for c in read(small.replace("[tcp-rr]", text)).combinations]
    assert levels == [
        {"message_bytes": 64},
        {"message_bytes": 64, "nodelay": False},
        {"message_bytes": 64, "mss_bytes": 536},
    ]


@pytest.mark.parametrize(
    ("given", "column", "value"),
    [
        ("rate: 1000pps", "rate_pps", 1000),
        ("packet-rate: 1kpps", "rate_pps", 1000),
        ("rate: 8Mbit", "rate_bps", 8_000_000),
        ("rate: $r", "rate_pps", 1000),
    ],
)
def test_a_rate_is_of_bits_or_of_packets(read: Read, small: str, given: str, column: str, value: int) -> None:
    factors = "factors: {r: [1000pps, 2kpps]}\n" if "$" in given else ""
    text = factors + small.replace("[tcp-rr]", f"[{{udp-stream: {{datagram: 100B, {given}}}}}]")
    assert read(text).combinations[0].workload.params[column] == value


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ("7", Blocks(minimum=7, maximum=7)),
        ("{min: 3}", Blocks(minimum=3, maximum=3)),
        ("{max: 3}", Blocks(minimum=3, maximum=3)),
        ("{max: 8}", Blocks(minimum=5, maximum=8)),
        ("{precision: 2%}", Blocks(minimum=5, maximum=30, precision=0.02)),
        ("{min: 50, precision: 2%}", Blocks(minimum=50, maximum=50, precision=0.02)),
        ("{min: 2, max: 4, deviation: 1%}", Blocks(minimum=2, maximum=4, deviation=0.01)),
    ],
)
def test_blocks(read: Read, small: str, blocks: str, expected: Blocks) -> None:
    assert read(f"{small}blocks: {blocks}\n").blocks == expected


def test_the_same_source_read_twice_is_the_same_experiment(read: Read, small: str) -> None:
    text = small.replace("ipv4: native4", "ipv4: {native4: {engine: kernel}}")
    assert read(text) == read(text)
    assert read(text).path("ipv4").engine == "kernel"


def test_all_problems_are_told_at_once_in_the_order_of_lines(problems: Problems) -> None:
    actual_problems = problems("""experiment: b/d
topology:
  nodes: {h1: host, h2: hots}
  links: [{endpoints: [h1, h3], rate: 5}]
paths: {a: native5}
workloads: [{tcp-rr: {mesage: 64B, duration: 5}}]
blocks: {min: 0}
statistics: {confidence: 95}
seed: x
""")
    assert [line.removeprefix("test.yaml:").split(": ")[:2] for line in actual_problems] == [
        ["1", "experiment"],
        ["3", "topology.nodes.h2"],
        ["4", "topology.links.0.endpoints.1"],
        ["5", "paths.a"],
        ["6", "workloads.0.tcp-rr.mesage"],
        ["6", "workloads.0.tcp-rr.duration"],
        ["7", "blocks.min"],
        ["8", "statistics.confidence"],
        ["9", "seed"],
    ]


def test_one_mistake_is_told_once(problems: Problems) -> None:
    for text in (
        "topology: \npaths: {a: native4}\nworkloads: [tcp-rr]",
        "topology: {nodes: {a: host, b: hots}, links: [{endpoints: [a, b]}]}\npaths: {a: native4}\nworkloads: [ping]",
        "topology: {nodes: [h1], links: [{endpoints: [h1, h2]}]}\npaths: {a: native4}\nworkloads: [ping]",
        "topology: {nodes: {h1: host, h2: host}, links: [[h1, h2]]}\npaths: {a: native4}\nworkloads: [ping]",
        "topology: {nodes: {h1: host, h2: host}, links: [{endpoints: h1}]}\npaths: {a: native4}\nworkloads: [ping]",
        "topology: {nodes: {a: host, b: host}, links: [{endpoints: [a, b], rate: 1, queue: 1ms}]}\n"
        "paths: {a: native4}\nworkloads: [ping]",
    ):
        assert len(problems(text)) == 1, problems(text)


def test_a_file_with_one_mistake_in_every_line_does_not_fill_the_screen(problems: Problems) -> None:
    actual_problems = problems("\n".join(f"key{i}: 1" for i in range(5000)))
    assert len(actual_problems) == 101
    assert actual_problems[-1] == "test.yaml: there are more problems than are listed here"


def test_many_names_are_not_all_listed(problems: Problems) -> None:
    nodes = ", ".join(f"r{i}: router" for i in range(1000))
    [problem] = problems(
        f"topology: {{nodes: {{{nodes}}}, links: [{{endpoints: [x, r1]}}]}}\npaths: {{a: native4}}\nworkloads: [ping]"
    )
    assert len(problem) < 300


@pytest.mark.parametrize(
    "text",
    [
        "nodes: {h1: host, h2: host}\nlinks: [{endpoints: [h1, h2]}]",
        "topology:\n  nodes: {h1: host, h2: host}\n  links: [{endpoints: [h1, h2]}]",
        "factors: {m: [1500, 1400]}\ntopology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2], mtu: $m}]}",
    ],
)
def test_a_network_on_its_own(text: str) -> None:
    topology = read_topology_only(parse_yaml(text, "net.yaml"))
    assert [node.kind for node in topology.nodes.values()] == ["host", "host"]
    assert topology.links[0].mtu_bytes == 1500


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "net.yaml:1: a topology must be a mapping (key: value), not a list"),
        ("paths: {}", "net.yaml:1: the topology is missing: give nodes and links"),
        ("nodes: {h1: host}", "net.yaml:1: topology: the links are missing"),
        ("nodes: {h1: host}\nlinks: []\nfoo: 1", "net.yaml:3: topology.foo: unknown key"),
        ("nodes: {h1: host}\nlinks:\n  - {endpoints: [h1, h1]}", "net.yaml:3: topology.links.0.endpoints: a link from"),
        ("topology: ", "net.yaml:1: topology: topology must be a mapping (key: value), not nothing"),
    ],
)
def test_a_wrong_network_on_its_own(text: str, problem: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        read_topology_only(parse_yaml(text, "net.yaml"))
    assert str(caught.value).startswith(problem)


TWO_ROUTERS = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1]}
    - {endpoints: [r1, r2], LINK}
    - {endpoints: [r2, h2]}
between: [h1, h2]
paths: {PATHS}
workloads: [ping]
"""


@pytest.mark.parametrize(
    ("link", "paths", "fine"),
    [
        ("mtu: 1279", "a: native4", True),
        ("mtu: 1279", "a: native4, b: native6", False),
        ("mtu: 1280", "a: native6", True),
        ("mtu: [1500, 1000]", "a: native6", False),
        ("mtu: 67", "a: native4", False),
        ("mtu: 65535", "a: native4", True),
        ("mtu: 65536", "a: native4", False),
        ("rate: 1Mbit, burst: 1537B", "a: native4", False),
        ("rate: 1Mbit, burst: 1538B", "a: native4", True),
        ("rate: 1Mbit, burst: 1538B, mtu: [1500, 1501]", "a: native4", False),
        ("rate: 1000Gbit, queue: 60min", "a: native4", False),
        ("rate: 8kbit, queue: 60min", "a: native4", True),
        ("rate: 7kbit", "a: native4", False),
        ("rate: 0", "a: native4", False),
        ("delay: 61min", "a: native4", False),
        ("delay: 0, jitter: 0, loss: 0", "a: native4", True),
        ("loss: 101%", "a: native4", False),
        ("queue: 1ms", "a: native4", False),
        ("burst: 9kB", "a: native4", False),
    ],
)
def test_what_a_link_can_be(problems: Problems, link: str, paths: str, fine: bool) -> None:
    actual_problems = problems(TWO_ROUTERS.replace("LINK", link).replace("PATHS", paths))
    assert (actual_problems == []) is fine, actual_problems
    assert all(line.startswith("test.yaml:6: topology.links.1.") for line in actual_problems)


@pytest.mark.parametrize(
    ("datagram", "paths", "fine"),
    [
        ("65507B", "a: native4", True),
        ("65508B", "a: native4", False),
        ("65527B", "a: native6", True),
        ("65528B", "a: native6", False),
        ("65527B", "a: native4, b: native6", False),
        ("31B", "a: native4", False),
        ("32B", "a: native4", True),
    ],
)
@pytest.mark.parametrize("workload", ["udp-stream: {datagram: SIZE}", "udp-rr: {response: SIZE}"])
def test_what_a_datagram_can_be(problems: Problems, workload: str, datagram: str, paths: str, fine: bool) -> None:
    text = TWO_ROUTERS.replace("[ping]", f"\n  - {workload.replace('SIZE', datagram)}")
    actual_problems = problems(text.replace("LINK", "rate: 1Gbit").replace("PATHS", paths))
    assert (actual_problems == []) is fine, actual_problems
    assert all(line.startswith("test.yaml:11: workloads.0.udp-") and "bytes" in line for line in actual_problems)
