"""`--set` and `quick`."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import ExperimentError, SixbenchError, UsageError
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.overrides import apply, apply_quick, apply_set
from sixbench.plan.size_limits import MAX_DOTTED_CHARACTERS, MAX_STEPS, MAX_VALUES
from sixbench.plan.yaml_source import Source, parse_yaml

pytestmark = pytest.mark.computes

TEXT = """\
factors: {time: [1s, 60s]}
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: 1Gbit}
    - {endpoints: [r1, h2], name: exit}
paths: {ipv4: native4, ipv6: native6}
workloads:
  - tcp-stream: {message: 64B}
  - tcp-rr
  - ping:
  - tcp-crr: {duration: $time}
  - tcp-connect: {count: 100}
blocks: {min: 3, precision: 2%}
"""


def source(text: str = TEXT) -> Source:
    return parse_yaml(text, "x.yaml")


def value_at(data: Any, *path: str | int) -> Any:
    for part in path:
        data = data[part]
    return data


@pytest.mark.parametrize(
    ("assignment", "path", "value"),
    [
        ("seed=7", ("seed",), 7),
        ("blocks=3", ("blocks",), 3),
        ("blocks.max=9", ("blocks", "max"), 9),
        ("statistics.margin=3%", ("statistics", "margin"), "3%"),
        ("title=a=b", ("title",), "a=b"),
        ("paths={ipv4: native4}", ("paths",), {"ipv4": "native4"}),
        ("topology.links.0.rate=1Mbit", ("topology", "links", 0, "rate"), "1Mbit"),
        ("topology.links.h1-r1.rate=1Mbit", ("topology", "links", 0, "rate"), "1Mbit"),
        ("topology.links.exit.rate=[1Mbit, 2Mbit]", ("topology", "links", 1, "rate"), ["1Mbit", "2Mbit"]),
        ("topology.links.r1-h2.rate=1Mbit", ("topology", "links", 1, "rate"), "1Mbit"),
        ("topology.links.*.mtu=1400", ("topology", "links", 1, "mtu"), 1400),
        ("topology.links.1.endpoints.0=h1", ("topology", "links", 1, "endpoints", 0), "h1"),
        ("workloads.tcp-stream.message=8KiB", ("workloads", 0, "tcp-stream", "message"), "8KiB"),
        ("workloads.0.message=8KiB", ("workloads", 0, "tcp-stream", "message"), "8KiB"),
        ("workloads.tcp-rr.message=8KiB", ("workloads", 1, "tcp-rr", "message"), "8KiB"),
        ("workloads.ping.count=8", ("workloads", 2, "ping", "count"), 8),
        ("workloads.2.count=8", ("workloads", 2, "ping", "count"), 8),
        ("workloads.*.duration=1s", ("workloads", 1, "tcp-rr", "duration"), "1s"),
        ("workloads.*.*.duration=1s", ("workloads", 2, "ping", "duration"), "1s"),
        ("workloads.1=udp-rr", ("workloads", 1), "udp-rr"),
        ("topology.nodes.*=router", ("topology", "nodes", "h2"), "router"),
        ("description=", ("description",), None),
    ],
)
def test_a_value_is_put_where_the_path_leads(assignment: str, path: tuple[str | int, ...], value: Any) -> None:
    before = source()
    after = apply_set(before, [assignment])
    assert value_at(after.data, *path) == value
    assert before.data == source().data, "the source it was made from is as it was"


def test_later_assignments_win() -> None:
    after = apply_set(source(), ["blocks.min=9", "blocks=3", "blocks=4"])
    assert after.data["blocks"] == 4


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("blocks", "--set blocks: write it as a.b=c, such as --set blocks=3"),
        ("=3", "--set =3: write it as a.b=c"),
        ("topology.links.9.rate=1Mbit", '--set topology.links.9.rate=1Mbit: there is no "topology.links.9" in x.yaml'),
        ("topology.links.x-y.rate=1Mbit", 'there is no "topology.links.x-y" in x.yaml'),
        ("topology.links.9=x", 'there is no "topology.links.9" in x.yaml'),
        ("workloads.udp-rr.count=1", 'there is no "workloads.udp-rr" in x.yaml'),
        ("topology.nodes.h1.kind=host", 'there is no "topology.nodes.h1.kind" in x.yaml'),
        ("blocks.min.x=1", 'there is no "blocks.min.x" in x.yaml'),
        ("a\x1b[1m.links.*=1", ""),
        ("topology.links.x.rate=1Mbit", "; topology.links has h1-r1, exit"),
        ("topology.links.h1-r2.rate=1Mbit", '; did you mean "h1-r1"? topology.links has h1-r1, exit'),
        ("topology.links.9=x", "; topology.links has h1-r1, exit"),
        ("workloads.tcp-rrr.count=1", '; did you mean "tcp-rr"? workloads has tcp-stream, tcp-rr, ping, tcp-crr,'),
        ("paths.ipv7.engine=user", '"paths.ipv7" in x.yaml; did you mean "ipv6"? paths has ipv4, ipv6'),
        ("topology.nodes.router.kind=host", '"topology.nodes.router" in x.yaml; topology.nodes has h1, r1, h2'),
        ("factors.rate.0=1", 'there is no "factors.rate" in x.yaml; factors has time'),
        ("topology.nodes.h1.kind=host", 'topology.nodes.h1 is "host" there, so set all of it'),
    ],
)
def test_a_path_that_leads_nowhere(assignment: str, message: str) -> None:
    with pytest.raises((UsageError, ExperimentError)) as caught:
        read_experiment(apply_set(source(), [assignment]), MECHANISMS)
    assert message in str(caught.value)
    assert str(caught.value).replace("\n", "").isprintable()


@pytest.mark.parametrize("data", ["[1]", "text", "5"])
def test_nothing_can_be_set_in_what_is_no_mapping(data: str) -> None:
    with pytest.raises(UsageError, match="not a mapping"):
        apply_set(source(data), ["a=1"])


@pytest.mark.parametrize("links", ["[5]", "[{endpoints: 5}]", "[[1]]", "5", "{a: 1}", "[null]"])
def test_a_step_into_malformed_links(links: str) -> None:
    text = f"topology: {{nodes: {{h1: host}}, links: {links}}}"
    with pytest.raises((UsageError, ExperimentError)):
        read_experiment(apply_set(source(text), ["topology.links.h1-r1.mtu=1400"]), MECHANISMS)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("blocks=0", "--set blocks=0: blocks: blocks must be from 1 to 10000, not 0"),
        ("topology.links.*.rate=1", "--set topology.links.*.rate=1: topology.links.0.rate: 1 has no unit"),
        ("foo.bar=1", "--set foo.bar=1: foo: unknown key"),
        ("title=", "--set title=: title: title must be text, not nothing"),
    ],
)
def test_a_wrong_value_is_the_command_lines_fault(assignment: str, message: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        read_experiment(apply_set(source(), [assignment]), MECHANISMS)
    assert str(caught.value).startswith(message)


def test_a_value_that_is_not_yaml() -> None:
    with pytest.raises(ExperimentError, match=r"--set blocks:1: not YAML"):
        apply_set(source(), ["blocks=[1,"])


def test_a_quick_run_has_fewer_blocks_and_shorter_trials() -> None:
    quick = apply_quick(source()).data
    assert quick["blocks"] == 3
    assert quick["workloads"] == [
        {"tcp-stream": {"message": "64B", "duration": "1s"}},
        {"tcp-rr": {"duration": "1s"}},
        {"ping": {"duration": "1s"}},
        {"tcp-crr": {"duration": "$time"}},
        {"tcp-connect": {"count": 100}},
    ]
    assert read_experiment(apply_quick(source()), MECHANISMS).blocks.maximum == 3


@pytest.mark.parametrize("workloads", ["5", "[5]", "[[ping]]", "[{a: 1, b: 2}]", "[{ping: 5}]", "[]", "[null]"])
def test_a_quick_run_leaves_malformed_workloads_to_the_reader(workloads: str) -> None:
    text = TEXT.split("workloads:", maxsplit=1)[0] + f"workloads: {workloads}\n"
    with pytest.raises(ExperimentError) as caught:
        read_experiment(apply_quick(source(text)), MECHANISMS)
    assert all(str(line).startswith("x.yaml:") for line in caught.value.problems)


def test_an_experiment_says_what_is_quick() -> None:
    text = TEXT + "quick:\n  blocks: 2\n  workloads.*.duration: 100ms\n  paths: {ipv4: native4}\n"
    data = apply_quick(source(text)).data
    assert data["blocks"] == 2
    assert data["paths"] == {"ipv4": "native4"}
    assert data["workloads"][0] == {"tcp-stream": {"message": "64B", "duration": "100ms"}}
    assert "quick" not in data


def test_a_virtual_clock_has_changes_of_its_own_beyond_those() -> None:
    text = TEXT + "quick:\n  blocks: 2\n  workloads.0.duration: 100ms\nquick-virtual: {blocks: 4}\n"
    real, virtual = (apply_quick(source(text), is_virtual=is_virtual).data for is_virtual in (False, True))
    assert (real["blocks"], virtual["blocks"]) == (2, 4)
    assert real["workloads"] == virtual["workloads"]
    assert not {"quick", "quick-virtual"} & {*real, *virtual}
    alone = apply_quick(source(TEXT + "quick-virtual: {blocks: 4}\n"), is_virtual=True).data
    assert (alone["blocks"], alone["workloads"][1]) == (4, {"tcp-rr": {"duration": "1s"}})


@pytest.mark.parametrize(
    ("quick", "message"),
    [
        ("quick: 5", "x.yaml:15: quick: quick must be a mapping"),
        ("quick: ", "x.yaml:15: quick: quick must be a mapping"),
        ("quick:\n  blocks: 0", "x.yaml:16: quick: blocks: blocks must be from 1 to 10000, not 0"),
        ("quick:\n  blocks: 1\n  workloads.7.duration: 1s", 'x.yaml:17: quick.workloads.7.duration: there is no "work'),
        ("quick-virtual: 5", "x.yaml:15: quick-virtual: quick-virtual must be a mapping"),
        ("quick-virtual: {blocks: 0}", "x.yaml:15: quick-virtual: blocks: blocks must be from 1 to 10000, not 0"),
        ("quick:\n  quick: 1", "x.yaml:16: quick: quick: quick must be a mapping"),
        ("quick: {" + ", ".join(f"a{i}: 1" for i in range(200)) + "}", "x.yaml:15: quick: quick must be a mapping"),
    ],
)
def test_a_wrong_quick_part_is_told_even_if_it_is_not_used(quick: str, message: str) -> None:
    text = source(TEXT.replace("factors: {time: [1s, 60s]}", "").replace("$time", "1s") + quick)
    calls = (
        lambda: read_experiment(text, MECHANISMS),
        lambda: read_experiment(apply_quick(text, is_virtual="quick-virtual" in quick), MECHANISMS),
    )
    for call in calls:
        with pytest.raises(ExperimentError) as caught:
            call()
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("dotted", ["a." * 2000 + "b", "a." * 50_000 + "b", "." * 21, "*." * 20 + "*", "a" * 501])
def test_a_dotted_path_that_is_too_long_is_refused_before_anything_is_made_of_it(dotted: str) -> None:
    steps = dotted.count(".") + 1
    words = (
        f"has {len(dotted)} characters; give one of at most {MAX_DOTTED_CHARACTERS}"
        if len(dotted) > MAX_DOTTED_CHARACTERS
        else f"has {steps} steps; give one of at most {MAX_STEPS}"
    )
    of_set = refusal(lambda: apply_set(source(), [f"{dotted}=1"]))
    assert of_set.startswith("--set ")
    assert of_set.endswith(words)
    assert len(of_set) < 3 * MAX_DOTTED_CHARACTERS
    of_quick = refusal(lambda: apply_quick(source(TEXT + f"quick:\n  ? '{dotted}'\n  : 1\n")))
    assert of_quick.startswith("x.yaml:16: quick.")
    assert of_quick.endswith(words)
    assert len(of_quick) < 1000


def refusal(work: Any) -> str:
    with pytest.raises(SixbenchError) as caught:
        work()
    return str(caught.value)


def test_what_is_set_is_held_within_the_limits_of_a_file() -> None:
    deep = "[" * 38 + "1" + "]" * 38
    assert apply_set(source(), [f"x={deep}"]).data["x"]
    assert refusal(lambda: apply_set(source(), [f"x.a.b.c={deep}"])).endswith("nested more than 40 levels deep")
    many = apply(source(), "x", [None] * 50_000, "here")
    assert len(many.data["x"]) == 50_000
    assert f"there are more than {MAX_VALUES} values" in refusal(lambda: apply(many, "x.*", [1], "here"))
    few = apply(source(), "x", [None] * 5000, "here")
    assert "characters of text" in refusal(lambda: apply(few, "x.*", "y" * 1000, "here"))


def test_many_paths_through_a_long_list_are_refused() -> None:
    entries = ", ".join(["{a: 1}"] * 6000)
    text = TEXT + f"notes: [{entries}]\nquick: {{{', '.join(f'notes.7.b{n}: 1' for n in range(99))}}}\n"
    assert "pass more than 500000 values" in refusal(lambda: apply_quick(source(text)))
