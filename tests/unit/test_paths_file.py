"""The `paths` part of an experiment: what can be said, and that what cannot is told with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path as File
from typing import Any

import pytest

from sixbench.mechanisms import MECHANISMS
from sixbench.model.experiment import Experiment

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

TEXT = """\
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
workloads: [ping]
paths:
"""


def written(path: object) -> str:
    """An experiment with one path, in line 6."""
    return f"{TEXT}  a: {path if isinstance(path, str) else json.dumps(path)}\n"


@pytest.mark.parametrize(
    ("path", "nodes", "options"),
    [
        ("{6in4: [r1, r2]}", ("r1", "r2"), {}),
        (
            "{6in4: {nodes: [r1, r2], mtu: 1280B, ttl: 0, ecn: false}}",
            ("r1", "r2"),
            {"mtu": 1280, "ttl": 0, "ecn": False},
        ),
        ("{mechanism: 6in4, nodes: [r1, r2], tos: 46}", ("r1", "r2"), {"tos": 46}),
        ("{6to4: {nodes: r1, relay: r2}}", ("r1",), {"relay": "r2"}),
        ("{6rd: {nodes: r1, br: r2, prefix: '2A00:1000::/28'}}", ("r1",), {"br": "r2", "prefix": "2a00:1000::/28"}),
        ("{6rd: {nodes: [r1, r2], ipv4-mask: 8}}", ("r1", "r2"), {"ipv4-mask": 8}),
        ("{dual-stack: {prefer: ipv4}}", (), {"prefer": "ipv4"}),
        ("{dual-stack: }", (), {}),
        ("native6", (), {}),
    ],
)
def test_what_can_be_said(read: Read, path: str, nodes: tuple[str, ...], options: dict[str, Any]) -> None:
    [only_path] = read(written(path)).paths
    assert (only_path.nodes, only_path.options, only_path.engine, only_path.line) == (nodes, options, None, 6)


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("{6in4: [r1, r2]}", 6),
        ("{4in6: [r1, r2]}", 4),
        ("{gre: [r1, r2]}", 6),
        ("{gre: {nodes: [r1, r2], inner: ipv4, outer: ipv6}}", 4),
        ("{ds-lite: [r1, r2]}", 4),
        ("dual-stack", 6),
        ("{dual-stack: {prefer: ipv4}}", 4),
    ],
)
def test_the_family_of_a_path_is_that_of_its_applications(read: Read, path: str, family: int) -> None:
    assert read(written(path)).paths[0].family == family


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if len(kind.engines) > 1])
def test_two_engines_of_one_mechanism_are_two_paths(read: Read, name: str) -> None:
    kind = MECHANISMS[name]
    nodes = ", ".join(kind.sample)
    lines = [f"  {engine}: {{{name}: {{nodes: [{nodes}], engine: {engine}}}}}\n" for engine in kind.engines]
    experiment = read(TEXT + "".join(lines))
    assert [(path.name, path.engine) for path in experiment.paths] == [(engine, engine) for engine in kind.engines]


def test_an_aa_path_has_the_mechanism_of_the_baseline(read: Read) -> None:
    experiment = read(written("{6in4: {nodes: [r1, r2], ttl: 9, engine: user}}") + "aa: true\n")
    first, again = experiment.paths
    assert (again.name, again.aa_of) == ("a-aa", "a")
    assert (again.mechanism, again.nodes, again.options, again.engine) == (
        *(first.mechanism, first.nodes, first.options, first.engine),
    )


NONSENSE: tuple[object, ...] = (
    *(None, True, 4, 1.5, "", "x", [], {}, [[]], [None], {"": None}, {"x": None}, "6in4", ["6in4"], {"6in4": None}),
    *({"6in4": value} for value in (True, 4, "r1", [], {}, [[]], [None, None], ["r1"], ["r1", "r9"], [["r1"], ["r2"]])),
    *(
        {"6in4": {"nodes": value}}
        for value in (None, True, 4, "r1", [], {}, [None, "r1"], [{}, {}], ["r1", "h2", "r2"])
    ),
    *(
        {"6in4": value}
        for value in ({"r1": "r2"}, {"nodes": ["r1", "r2"], "engine": []}, {"nodes": ["r1", "r2"], "": 1})
    ),
    *({"6in4": {"nodes": ["r1", "r2"], "mtu": value}} for value in (None, [], {}, 14, "1400", "x", "1e9B", -1, True)),
    *({"6to4": {"nodes": ["r1"], "relay": value}} for value in (None, [], {}, 1, "", "r9", "r1", "h2", "\\u001b[31m")),
    *(
        {"6rd": {"nodes": ["r1", "r2"], "prefix": value}}
        for value in (None, [], 1, "", "/", "::/0", "ff00::/8", "::%1/8")
    ),
    *({"6rd": {"nodes": ["r1", "r2"], "br": value}} for value in (None, [], "", "r9", "h1")),
    *({"6rd": {"nodes": ["r1", "r2"], "ipv4-mask": value}} for value in (None, -1, 32, "8", ["8"], [8, 8])),
    {"mechanism": None},
    {"mechanism": ["6in4"]},
    {"mechanism": {"6in4": ["r1", "r2"]}},
    {"mechanism": "6in4", "6in4": ["r1", "r2"]},
    {"native4": {"nodes": None}},
    {"native4": ["r1"]},
    {"6in4": ["r1"] * 20_000},
    {"6over4": [f"x{index}" for index in range(20_000)]},
    {"6in4": ["x" * 50_000, "y"]},
    {"6to4": {"nodes": ["r1"], "relay": "x" * 50_000}},
    {"6rd": {"nodes": ["r1", "r2"], "prefix": "2001:db8::/32" + "0" * 50_000}},
    {"6in4": {"nodes": ["r1", "r2"]} | {f"option{index}": 1 for index in range(2_000)}},
)


@pytest.mark.parametrize("path", NONSENSE, ids=lambda path: json.dumps(path)[:50])
def test_nonsense_is_told_with_its_line(problems: Problems, path: object) -> None:
    actual_problems = problems(written(path))
    assert actual_problems
    assert len(actual_problems) <= 101
    for line in actual_problems:
        assert re.match(r"test\.yaml:6: paths\.a|test\.yaml: there are more problems", line)
        assert line.isprintable()
        assert len(line) < 600


@pytest.mark.parametrize(
    ("mechanism", "option", "meant"),
    [
        (name, option.name, option.name)
        for name, kind in MECHANISMS.items()
        for option in kind.options
        if len(option.name) > 3
    ],
)
def test_a_misspelt_option_is_guessed_and_pointed_at(
    problems: Problems, mechanism: str, option: str, meant: str
) -> None:
    misspelt = option[:-1]
    nodes = f"\n      nodes: [{', '.join(MECHANISMS[mechanism].sample)}]" if MECHANISMS[mechanism].sample else ""
    head = f"{TEXT}  a:\n    {mechanism}:{nodes}\n"
    [problem] = problems(f"{head}      {misspelt}: 1\n")
    line = head.count("\n") + 1
    assert problem == (
        f"test.yaml:{line}: paths.a.{mechanism}.{misspelt}: unknown option of {mechanism} "
        f'"{misspelt}"; did you mean "{meant}"?'
    )


@pytest.mark.parametrize("long", [False, True])
def test_an_option_that_is_wrong_is_pointed_at_however_it_is_written(problems: Problems, long: bool) -> None:
    text = (
        f"{TEXT}  a:\n    mechanism: 6in4\n    nodes: [r1, r2]\n    ttl: 300\n"
        if long
        else f"{TEXT}  a:\n    6in4:\n      nodes: [r1, r2]\n      ttl: 300\n"
    )
    [problem] = problems(text)
    assert problem.startswith("test.yaml:9: paths.a.")
    assert problem.endswith("ttl: ttl: 300 is too large: at most 255")


def test_every_path_that_is_wrong_is_told(problems: Problems) -> None:
    actual_problems = problems(f"{TEXT}  a: {{6in4: [r1, r9]}}\n  b: {{6in4: [r1, r1]}}\n  c: {{isatap: [r8, r2]}}\n")
    assert [line.split(": ")[:2] for line in actual_problems] == [
        ["test.yaml:6", "paths.a.6in4.1"],
        ["test.yaml:8", "paths.c.isatap.0"],
    ]
    [found_later] = problems(f"{TEXT}  a: {{6in4: [r1, r2]}}\n  b: {{6in4: [r1, r1]}}\n")
    assert found_later.startswith('test.yaml:7: paths.b.6in4: 6in4 names "r1" twice')


def test_a_level_at_which_a_path_cannot_be_is_told_once(problems: Problems) -> None:
    text = written("{6in4: [r1, r2]}").replace("[r1, r2]}, {end", "[r1, r2], mtu: [1500, 1299, 1290]}, {end")
    [problem] = problems(text)
    assert problem.startswith("test.yaml:6: paths.a.6in4: r1-r2 has an MTU of 1299, of which 6in4 leaves 1279 bytes")


@pytest.mark.parametrize("option", ["--quick", "--set=paths.a={6in4: [r1, r9]}"])
def test_the_command_tells_it_too(sixbench: Callable[..., Any], tmp_path: File, option: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(written("{6in4: [r1, r9]}" if option == "--quick" else "native6"))
    done = sixbench("plan", path, option)
    assert (done.exit, done.stdout) == (2, "")
    place = f"{path}:6: paths.a.6in4.1" if option == "--quick" else "--set paths.a={6in4: [r1, r9]}: paths.a"
    assert done.stderr.startswith(f'{place}: there is no node "r9"')
    assert "Traceback" not in done.stderr
