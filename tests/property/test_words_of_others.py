"""Nothing that other machines and programs say steers a terminal: in errors, reasons, notes, progress and JSON."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sixbench.agent.answers import HelloAnswer, check
from sixbench.agent.lendable import read_lendable
from sixbench.cli.common import note, print_json, say
from sixbench.model import errors
from sixbench.model.quoting import MAX_SENTENCE, one_line, printable_json, sentence
from sixbench.model.reason import Reason, ReasonKind
from sixbench.workers.messages import chosen_from_wire, reply_from_wire

pytestmark = pytest.mark.computes

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\r\nsixbench: all is well\u2028\u2066\ud800\x00\x7f\u200f\ufeff"
HOSTILE = st.one_of(
    st.text(st.characters(categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Lu"]), max_size=60),
    st.binary(max_size=60).map(lambda data: data.decode(errors="surrogateescape")),
)
hostile = given(HOSTILE)
ERRORS = [errors.UsageError, errors.StoreError, errors.WriteError, errors.CapabilityError, errors.LabError]


@pytest.mark.parametrize("kind", ERRORS)
@hostile
@example(EVIL)
@example(EVIL * 10_000)
def test_an_error_is_one_short_line(kind: type[errors.SixbenchError], text: str) -> None:
    for error in (kind(f"doing: {text}"), errors.AgentError("internal", text)):
        assert str(error).isprintable()
        assert len(str(error)) <= MAX_SENTENCE


@hostile
@example(EVIL)
def test_an_error_of_a_file_has_one_line_a_problem(text: str) -> None:
    problem = errors.Problem(file=text, line=1, key=text, message=text)
    assert [line.isprintable() for line in str(errors.ExperimentError([problem, problem])).split("\n")] == [True, True]


@hostile
@example(EVIL)
def test_a_reason_is_one_line(text: str) -> None:
    reason = Reason(kind=ReasonKind.DEVICE_ENDED, text=text)
    assert str(reason.of("flow")).isprintable()
    assert Reason.from_json(reason.to_json()) == reason


@given(st.binary(max_size=200))
@example(EVIL.encode(errors="surrogatepass"))
def test_what_a_program_wrote_is_one_line(data: bytes) -> None:
    assert one_line(data).isprintable()


def test_of_a_long_text_the_end_is_kept() -> None:
    text = sentence("begin" + "x" * 10**6 + "the end")
    assert text.startswith("begin")
    assert text.endswith("the end")
    assert len(text) == MAX_SENTENCE


@hostile
@example(EVIL)
def test_what_the_command_line_writes_steers_nothing(text: str) -> None:
    stream = io.StringIO()
    with redirect_stderr(stream), redirect_stdout(stream):
        note(text)
        say(text)
        print_json({text: [text]})
    assert stream.getvalue().replace("\n", "").isprintable()


@hostile
@example(EVIL)
def test_json_says_the_same_when_it_prints(text: str) -> None:
    document = printable_json(json.dumps({"a": text}, indent=1, ensure_ascii=False))
    assert json.loads(document) == {"a": text}
    assert document.replace("\n", "").isprintable()


@hostile
@example(EVIL)
def test_an_answer_of_another_form_is_told_in_one_line(text: str) -> None:
    answers: list[Any] = [text, [text], {text: text}, {"pid": text}, {"protocol": {text: text}}]
    for answer in answers:
        with pytest.raises(errors.AgentError) as refused:
            check(HelloAnswer, answer, "hello", (text,))
        assert str(refused.value).isprintable()
    with pytest.raises(errors.AgentError) as refused:
        read_lendable("{" + text)
    assert str(refused.value).isprintable()


@hostile
@example(EVIL)
def test_a_reply_of_a_worker_is_told_in_one_line(text: str) -> None:
    replies: list[Any] = [text, {text: text}, {"schema": text}, {"worker": text, "sixbench": 1}, [text]]
    for reply in replies:
        for read in (reply_from_wire, chosen_from_wire):
            with pytest.raises(errors.StoreError) as refused:
                read(reply)
            assert str(refused.value).isprintable()
