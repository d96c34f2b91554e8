"""Agents as processes: small scripts that speak the protocol of docs/protocol.md, die, talk nonsense, or are silent."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sixbench.agent import Agent, AgentHub, agent_version, client, find_agent
from sixbench.agent.machine import LocalProcess
from sixbench.lab import registry
from sixbench.model.errors import AgentError, CapabilityError

Start = Callable[..., Agent]

HEAD = f"""#!{sys.executable} -SE
import json, os, signal, sys
lines = iter(sys.stdin.readline, "")
def answer(**message):
    sys.stdout.write(json.dumps(message) + chr(10))
    sys.stdout.flush()
def take():
    return json.loads(next(lines))
"""

GREET = """
hello = take()
answer(id=hello["id"], ok=hello | {"pid": os.getpid(), "name": sys.argv[3]})
"""

ECHO = (
    GREET
    + """
for line in lines:
    request = json.loads(line)
    answer(id=request["id"], ok=request)
"""
)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a fake agent."""

    def write(body: str) -> Path:
        path = tmp_path / "agent"
        path.write_text(HEAD + body)
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def start(script: Callable[[str], Path]) -> Iterator[Start]:
    """Starts a fake agent; all are gone after the test."""
    hubs: list[AgentHub] = []

    def run(body: str, name: str = "h1") -> Agent:
        hubs.append(AgentHub(script(body)))
        return hubs[-1].start([name])[name]

    yield run
    for hub in hubs:
        hub.close()


def test_requests_and_answers(start: Start) -> None:
    agent = start(ECHO)
    assert agent.hello["protocol"] == 1
    assert agent.hello["name"] == "h1"
    assert agent.call("finish", session="é", sent=None, timeout_ns=1) == {
        "id": 2,
        "op": "finish",
        "session": "é",
        "timeout_ns": 1,
    }
    futures = [agent.submit("cancel", session=str(number)) for number in range(50)]
    assert [agent.wait(future, "cancel", 10)["session"] for future in futures] == [str(number) for number in range(50)]
    assert agent.alive


def test_a_request_has_its_own_fields_only(start: Start) -> None:
    agent = start(ECHO)
    with pytest.raises(TypeError, match="port"):
        agent.call("cancel", session="x", port=1)


@pytest.mark.parametrize(
    ("answer", "words"), [("{}", "exec was answered without exit"), ("{'exit': '0'}", "exit of type str")]
)
def test_an_answer_that_lacks_a_field_is_noticed(start: Start, answer: str, words: str) -> None:
    agent = start(GREET + f"r = take()\nanswer(id=r['id'], ok={answer})\ntake()")
    with pytest.raises(AgentError, match=words) as caught:
        agent.call("exec", argv=["true"])
    assert caught.value.code == "agent-broken"


def test_answers_come_in_any_order(start: Start) -> None:
    agent = start(GREET + "first, second = take(), take()\nfor r in (second, first): answer(id=r['id'], ok=r)\ntake()")
    first, second = agent.submit("finish", session="x", timeout_ns=1), agent.submit("cancel", session="x")
    assert agent.wait(first, "finish", 10)["op"] == "finish"
    assert agent.wait(second, "cancel", 10)["op"] == "cancel"


def test_a_refusal(start: Start) -> None:
    agent = start(
        GREET + "r = take()\nanswer(id=r['id'], error={'code': 'no-session', 'message': 'no session x'})\ntake()"
    )
    with pytest.raises(AgentError, match="h1: no session x") as caught:
        agent.call("finish", session="x", timeout_ns=1)
    assert caught.value.code == "no-session"
    assert agent.alive, "a refusal is not the end"


def test_answers_to_unknown_requests_are_dropped(start: Start) -> None:
    agent = start(
        GREET + "r = take()\nanswer(id=999, ok={})\nanswer(id=r['id'], ok={'a': 1})\nanswer(id=r['id'], ok={})\ntake()"
    )
    assert agent.call("cancel", session="x") == {"a": 1}
    assert agent.alive


@pytest.mark.parametrize(
    ("body", "how"),
    [
        (GREET + "take()\nsys.stderr.write('no  memory\\nleft')\nsys.exit(3)", "ended with code 3: no memory left"),
        (GREET + "take()\nos.kill(os.getpid(), signal.SIGKILL)", "was killed by signal 9"),
        (GREET + "take()\nsys.stdout.write('{\"id\": 2, ')\n", "ended with code 0"),
        (GREET + "take()\nsys.stderr.write('x' * 9000 + 'the end')\nsys.exit(1)", "xxthe end"),
    ],
)
def test_an_agent_that_dies_fails_what_it_was_asked_and_what_follows(start: Start, body: str, how: str) -> None:
    agent = start(body)
    for _ in range(2):
        with pytest.raises(AgentError) as caught:
            agent.call("cancel", session="x")
        assert caught.value.code == "agent-died"
        assert str(caught.value).startswith(f"the agent of h1 (process {agent.pid}) ")
        assert str(caught.value).endswith(how)
        assert len(str(caught.value)) < 5000
    assert not agent.alive


@pytest.mark.parametrize(
    "message",
    [
        "garbage",
        "",
        "[]",
        "5",
        "null",
        "{}",
        '{"ok": {}}',
        '{"id": null, "error": {"code": "line-too-long"}}',
        '{"id": "2", "ok": {}}',
        '{"id": true, "ok": {}}',
        '{"id": 2}',
        '{"id": 2, "ok": 5}',
        '{"id": 2, "ok": null}',
        '{"id": 2, "error": "boom"}',
        '{"id": 2, "ok": {}, "error": {}}',
        "[" * 100_000,
        "9" * 10_000,
        "\\xff\\xfe",
    ],
)
def test_an_agent_that_talks_nonsense_is_given_up(start: Start, message: str) -> None:
    agent = start(GREET + f"take()\nos.write(1, {message.encode('latin-1')!r} + bytes([10]))\ntake()")
    with pytest.raises(AgentError, match="answered with something that is no response") as caught:
        agent.call("cancel", session="x")
    assert caught.value.code == "agent-broken"
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()
    assert not agent.alive
    assert agent._process.wait(10)
    assert agent.exit_code == -9


def test_an_endless_line_is_not_kept(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_LINE_BYTES", 100_000)
    agent = start(GREET + "while True: sys.stdout.write('x' * 65536)")
    with pytest.raises(AgentError, match="answered with a line of more than 100000 bytes"):
        agent.call("cancel", session="x")


def test_an_agent_that_never_answers(start: Start) -> None:
    agent = start(GREET + "for line in lines: pass")
    with pytest.raises(AgentError, match=r"has not answered cancel after 0\.05 s") as caught:
        agent.call("cancel", session="x", timeout_s=0.05)
    assert caught.value.code == "agent-silent"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("for line in lines: pass", "agent-silent", "has not answered hello after 0.3 s"),
        ("sys.stderr.write('sixbench-agent: no namespaces here')\nsys.exit(3)", "agent-died", "no namespaces here"),
        ("print('hi', flush=True)\ntake()\ntake()", "agent-broken", "answered with something that is no response"),
        (
            "r = take()\nanswer(id=r['id'], error={'code': 'protocol-mismatch', 'message': 'protocol 1 is not mine'})",
            "protocol-mismatch",
            "h1: protocol 1 is not mine",
        ),
    ],
)
def test_an_agent_that_cannot_be_started_leaves_none(
    script: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, body: str, code: str, message: str
) -> None:
    if code == "agent-silent":
        monkeypatch.setattr("sixbench.agent.hub.HELLO_TIMEOUT_S", 0.3)
    good = "if sys.argv[3] != 'h1':\n" + "".join(f"    {line}\n" for line in ECHO.splitlines()) + "    sys.exit()\n"
    with AgentHub(script(good + body)) as hub:
        with pytest.raises(AgentError) as caught:
            hub.start(["h2", "h1", "h3"])
        assert caught.value.code == code
        assert message in str(caught.value)
        assert children() == []


def test_a_request_that_is_too_long_is_refused_here(start: Start) -> None:
    agent = start(ECHO)
    with pytest.raises(
        AgentError, match=r"h1: the request cancel of 1048\d\d\d bytes is larger than 1048576"
    ) as caught:
        agent.call("cancel", session="x" * 2**20)
    assert caught.value.code == "line-too-long"
    assert agent.call("cancel", session="x")["op"] == "cancel"


def test_an_agent_that_does_not_read_is_given_up(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SEND_TIMEOUT_S", 0.05)
    agent = start(GREET + "signal.pause()")
    with pytest.raises(AgentError, match=r"has not read its requests for 0\.05 s") as caught:
        agent.call("cancel", session="x" * 1_000_000)
    assert caught.value.code == "agent-silent"
    assert not agent.alive


def test_a_large_request_and_a_large_answer_cross(start: Start) -> None:
    """An agent that writes before it reads on must not wait for a reader that waits for it."""
    agent = start(
        GREET
        + "r = take()\nanswer(id=r['id'], ok={'said': 'y' * 3_000_000})\nr = take()\nanswer(id=r['id'], ok={})\ntake()"
    )
    first = agent.submit("cancel", session="x")
    second = agent.submit("cancel", session="x" * 1_000_000)
    assert len(agent.wait(first, "exec", 20)["said"]) == 3_000_000
    assert agent.wait(second, "exec", 20) == {}


def test_several_threads_ask_at_once(start: Start) -> None:
    agent = start(ECHO)
    wrong: list[str] = []

    def ask(number: int) -> None:
        for turn in range(20):
            answer = agent.call("cancel", session=f"{number}/{turn}" * 5_000)
            if answer["session"] != f"{number}/{turn}" * 5_000:
                wrong.append(answer["session"][:10])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []
    assert not any(thread.is_alive() for thread in threads)


def test_leaving_a_hub_ends_all_agents(script: Callable[[str], Path]) -> None:
    with AgentHub(script(ECHO)) as hub:
        agents = hub.start(["h1", "r1", "h2"])
        assert len(children()) == 3
        hub.stop([agents["r1"]])
        assert len(children()) == 2
        with pytest.raises(AgentError, match="was ended"):
            agents["r1"].call("cancel", session="x")
        assert agents["h1"].call("cancel", session="x")["op"] == "cancel"
    assert children() == []
    with pytest.raises(AgentError, match=r"the agent of h1 \(process \d+\) was ended"):
        agents["h1"].call("cancel", session="x")
    hub.close()


def test_agents_that_do_not_end_are_killed(script: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "STOP_TIMEOUT_S", 0.05)
    with AgentHub(script(GREET + "while True: signal.pause()")) as hub:
        hub.start(["h1", "h2"])
    assert children() == []


def test_a_killed_agent_that_the_kernel_takes_long_to_remove_is_waited_for(
    script: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait, started = LocalProcess.wait, []

    def late(process: LocalProcess, timeout_s: float) -> bool:
        """As if it took half a minute, in which its programs are taken away."""
        started.append(process)
        return timeout_s > 30 and wait(process, timeout_s)

    monkeypatch.setattr(LocalProcess, "wait", late)
    with AgentHub(script(GREET + "while True: signal.pause()")) as hub:
        hub.start(["h1"])
    assert started
    assert {process.exit_code for process in started} == {-signal.SIGKILL}


def test_an_agent_that_closes_its_output_is_given_up(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "STOP_TIMEOUT_S", 0.05)
    agent = start(GREET + "take()\nos.close(1)\nwhile True: signal.pause()")
    with pytest.raises(AgentError, match="closed its output"):
        agent.call("cancel", session="x")


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file"), ("no script", "Exec format error")])
def test_a_binary_that_does_not_run(tmp_path: Path, content: str | None, reason: str) -> None:
    path = tmp_path / "agent"
    if content is not None:
        path.write_text(content)
        path.chmod(0o755)
    with AgentHub(path) as hub, pytest.raises(CapabilityError, match=f"starting {path} for h1: {reason}"):
        hub.start(["h1"])
    with pytest.raises(CapabilityError, match=r"running .* --version"):
        agent_version(path)


def test_where_the_binary_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "sixbench-agent"
    monkeypatch.setenv("SIXBENCH_AGENT", str(program))
    with pytest.raises(CapabilityError, match=r"\$SIXBENCH_AGENT names .*, which cannot be executed"):
        find_agent()
    program.write_text("#!/bin/sh\necho sixbench-agent 1\n")
    program.chmod(0o755)
    assert find_agent() == program
    assert agent_version(program) == "sixbench-agent 1"
    monkeypatch.delenv("SIXBENCH_AGENT")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert find_agent() == program
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_agent() == program
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        CapabilityError, match="neither beside /nowhere/python nor on the PATH; install it with: make inst"
    ):
        find_agent()


def children() -> list[int]:
    """Processes of ours that run fake agents."""
    files = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for path in files for pid in path.read_text().split()]
    return [pid for pid in pids if registry.start_ticks(pid) is not None]


def test_an_answer_of_very_many_values_is_not_taken_apart(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_VALUES", 1000)
    agent = start(GREET + "r = take()\nanswer(id=r['id'], ok={'a': [{}] * 1001})\ntake()")
    with pytest.raises(AgentError, match="answered with a line of more than 1000 values") as caught:
        agent.call("cancel", session="x")
    assert caught.value.code == "agent-broken"


def test_what_an_agent_says_that_was_given_up_is_not_kept(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = start(ECHO)
    agent._end("agent-broken", "was given up")
    agent._received(b"x" * 2**20)
    assert not agent._buffer


def test_words_of_an_agent_steer_no_terminal(start: Start) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\r\nsixbench: all is well"
    agent = start(GREET + f"r = take()\nanswer(id=r['id'], error={{'code': {evil!r}, 'message': {evil!r}}})\ntake()")
    with pytest.raises(AgentError, match="all is well") as caught:
        agent.call("cancel", session="x")
    assert str(caught.value).isprintable()
    assert caught.value.code.isprintable()
    dying = start(GREET + f"take()\nsys.stderr.buffer.write({evil.encode()!r})\nsys.exit(3)")
    with pytest.raises(AgentError, match="all is well") as caught:
        dying.call("cancel", session="x")
    assert str(caught.value).isprintable()
    assert dying.last_words.isprintable()
