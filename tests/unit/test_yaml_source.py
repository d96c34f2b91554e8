"""YAML with line numbers, bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sixbench.model.errors import ExperimentError, UsageError
from sixbench.plan.size_limits import MAX_DEPTH, MAX_FILE_BYTES, MAX_VALUES
from sixbench.plan.yaml_source import parse_yaml, read_yaml

pytestmark = pytest.mark.computes


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: null", {"a": None}),
        ("a:", {"a": None}),
        ("a: ~", {"a": None}),
        ("a: [true, False, TRUE]", {"a": [True, False, True]}),
        ("a: [on, no, yes, 1:30, 0x10, 2001-01-01]", {"a": ["on", "no", "yes", "1:30", "0x10", "2001-01-01"]}),
        ("a: [1, -2, +3, 007]", {"a": [1, -2, 3, 7]}),
        ("a: [1.5, .5, 1e3, 1.]", {"a": [1.5, 0.5, 1000.0, 1.0]}),
        ("a: [.inf, .nan, 1e999]", {"a": [".inf", ".nan", "1e999"]}),
        ("a: ['1', \"true\", '']", {"a": ["1", "true", ""]}),
        ("a: " + "9" * 50, {"a": "9" * 50}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("1: a\nnull: b", {"1": "a", "null": "b"}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("a: 1\r\nb:\r\n  - 2\r\n", {"a": 1, "b": [2]}),
        ("\ufeffa: 1", {"a": 1}),
        ("--- {a: 1}", {"a": 1}),
        ("just text", "just text"),
    ],
)
def test_values_are_those_of_the_core_schema(text: str, data: Any) -> None:
    assert parse_yaml(text, "x.yaml").data == data


def test_every_value_knows_its_line() -> None:
    source = parse_yaml("a: 1\nb:\n  - c: 2\n    d: [3,\n      4]\n  - e\n", "x.yaml")
    assert source.line_of(("a",)) == 1
    assert source.line_of(("b",)) == 2
    assert source.line_of(("b", 0, "d")) == 4
    assert source.line_of(("b", 0, "d", 1)) == 5
    assert source.line_of(("b", 1)) == 6
    assert source.line_of(("b", 0, "nothing there")) == 3
    assert str(source.problem(("b", 0, "d"), "is wrong")) == "x.yaml:4: b.0.d: is wrong"


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.yaml: the file is empty; an experiment has at least a topology, paths and workloads"),
        ("# only a comment", "x.yaml: the file is empty"),
        ("a: 1\nb: [2,\n", "x.yaml:2: not YAML: "),
        ("a: 1\n\tb: 2\n", "x.yaml:2: not YAML: "),
        ("a: 1\n\tb: 2\n", "; indent with spaces, not tabs"),
        ("a: @b", "; put text that begins with @ in quotes"),
        ("a: b: c", "; put text that contains a colon in quotes"),
        ("a: 1\nb: 2\na: 3", 'x.yaml:3: the key "a" is given twice, first in line 1; keep one'),
        ("a: {b: 1, b: 2}", 'x.yaml:1: the key "b" is given twice'),
        ("? [a]\n: b", "x.yaml:1: a key must be plain text"),
        ("a: 1\n--- 2", "x.yaml:2: not YAML: expected a single document"),
        ("a: !!python/object:os.system {}", "x.yaml:1: the tag tag:yaml.org,2002:python/object:os.system has no"),
        ("a: !x [1]", "x.yaml:1: the tag !x has no meaning here; leave it out"),
        ("a: !!int '5'", "x.yaml:1: the tag"),
        ("a: *nowhere", "x.yaml:1: not YAML: found undefined alias"),
        ("a: &a [*a]", "an alias contains itself"),
        ("a: &a {b: *a, c: *a}", "an alias contains itself"),
        (LAUGHS, "more than 100000 values once the aliases are expanded"),
        (f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 50)}]", "more than 4194304 characters of text once the"),
        ("[" + "1," * 300_000 + "]", "x.yaml:1: there are more than 100000 values"),
        ("a: " + "x" * MAX_FILE_BYTES, f"the text is longer than {MAX_FILE_BYTES} characters"),
        ("[" * 400_000, f"x.yaml:1: values are nested more than {MAX_DEPTH} levels deep"),
        ("- " * 400_000, f"nested more than {MAX_DEPTH} levels deep"),
        ("a: 1\nb: \x00", "x.yaml:2: not YAML: the character U+0000 is not allowed; remove it"),
        ("a: \x1b[31m", "x.yaml:1: not YAML: the character U+001B"),
        ('a: "\ud800"', "the character U+D800"),
        ('a: "\\ud800"', "not YAML"),
    ],
)
def test_what_is_no_experiment_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        parse_yaml(text, "x.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_as_many_values_as_are_allowed_are_read_in_whatever_form_they_are_written() -> None:
    empty = "\n".join(f"{number}: {{}}" for number in range(MAX_VALUES - 1))
    assert len(parse_yaml(empty, "x.yaml").data) == MAX_VALUES - 1


@pytest.mark.parametrize("text", ["- a\n" * 200_000, "[" + "a," * 400_000, "a: '" + "x" * 1_000_000, "? " * 300_000])
def test_large_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ExperimentError):
        parse_yaml(text, "x.yaml")


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    with pytest.raises(ExperimentError) as caught:
        parse_yaml('"a\\e[31m": 1\n"a\\e[31m": 2', "x.yaml")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x81", "1: this is not UTF-8 text, so it is not YAML; save it as UTF-8"),
        (b"a: 1\nb: \xe9", "2: this is not UTF-8 text"),
        ("a: 1".encode("utf-16"), "not UTF-8 text"),
        (b"\x7fELF\x02\x01\x01\x00", "the character U+007F"),
        (b"a: 1\n" + b"#" * MAX_FILE_BYTES, f"larger than {MAX_FILE_BYTES} bytes, so it is not an experiment"),
    ],
)
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(ExperimentError) as caught:
        read_yaml(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize(("name", "reason"), [("", "Is a directory"), ("nowhere/x.yaml", "No such file or directory")])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=f"reading .*: {reason}"):
        read_yaml(tmp_path / name)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1")
    assert read_yaml(path).data == {"a": 1}
