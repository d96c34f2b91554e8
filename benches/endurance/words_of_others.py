"""Answers of workers and hosts, and names that reach a terminal: changed, cut, repeated, and made of what hurts.

Each is taken, or refused with an error that is meant for users. Nothing else is raised, nothing is unpickled, what is
kept of it has bounds, and every message prints on one line.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

WORKER_ANSWERS, HOST_ANSWERS, TERMINAL_NAMES = "worker_answers", "host_answers", "terminal_names"
ANSWERS_FILE = Path(__file__).parents[2] / "tests" / "unit" / "answers.json"

TOKENS = (
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\x9b31m",
    "\u202e",
    "\u2066",
    "\u2028",
    "\ud800",
    "\x00",
    "\x7f",
    "\r",
    "\n",
    "\t",
)
TOKENS += ("\ufeff", "\U000e0001", "[red]", "{0}", "%s", "lab1", "é", "a" * 6000, " ", "\\x1b", '"', "\u0301" * 9)
VALUES: tuple[Any, ...] = (None, True, -1, 0, 2**63, 2**64, 1e308, float("inf"), "", [], {}, [[1]], b"\x00", b"x" * 99)


class Mark:
    """Its pickle makes a directory where it is read."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (self.place,)


def words(dice: random.Random) -> str:
    """A text that no terminal should get as it is."""
    return "".join(
        dice.choice(TOKENS) if dice.random() < 0.7 else chr(dice.randrange(0x10FFFF)) for _ in range(dice.randrange(9))
    )


def value(dice: random.Random, deep: int = 3) -> Any:
    """Anything that a message may have."""
    kind = dice.randrange(4 if deep else 2)
    if kind == 0:
        return dice.choice(VALUES)
    if kind == 1:
        return words(dice)
    if kind == 2:
        return [value(dice, deep - 1) for _ in range(dice.randrange(4))]
    return {words(dice): value(dice, deep - 1) for _ in range(dice.randrange(4))}


def changed_bytes(data: bytes, dice: random.Random) -> bytes:
    """Bytes with some of them changed, gone, or there twice."""
    content = bytearray(data)
    for _ in range(dice.randrange(4)):
        at = dice.randrange(len(content) + 1)
        content[at : at + dice.randrange(4)] = dice.randbytes(dice.randrange(4))
    return bytes(content)


def printed(error: BaseException) -> None:
    """Raises `AssertionError` where a message does not print on one line."""
    assert str(error).isprintable(), f"this does not print: {str(error)!r}"


def try_words(target: str, seconds: float, seed: int, over: threading.Event) -> dict[str, Any]:
    """Runs one of the three until the time is over. Returns how many were tried, and the first that went wrong with the
    number that repeats it."""
    executions = 0
    with tempfile.TemporaryDirectory() as folder:
        mark = Path(folder) / "mark"
        item = _TARGETS[target](str(mark))
        deadline_s = time.monotonic() + seconds
        while time.monotonic() < deadline_s and not over.is_set():
            try:
                item(random.Random(f"{seed}/{executions}"))
                assert not mark.exists(), "something was unpickled"
            except Exception as error:  # noqa: BLE001, this is what is looked for
                crash = f"seed {seed}, input {executions}: {error!r}"[:500]
                return {"executions": executions, "crash": crash.encode(errors="backslashreplace").decode()}
            executions += 1
    return {"executions": executions}


def _worker_answers(mark: str) -> Callable[[random.Random], None]:
    from sixbench.workers.settings import set_up

    set_up()
    import msgpack
    from distributed import protocol
    from distributed.comm.core import CommClosedError

    from sixbench.model.errors import StoreError
    from sixbench.workers import plain
    from sixbench.workers.messages import REPLY_SCHEMA, chosen_from_wire, reply_from_wire

    evil = pickle.dumps(Mark(mark))

    def frames(dice: random.Random) -> list[bytes]:
        sent = dice.choice(
            (evil, plain.dumps(value(dice)), changed_bytes(evil, dice), plain.dumps({"__sixbench__": words(dice)}))
        )
        name = dice.choice(("pickle", "dask", "msgpack", "error", "cuda", words(dice)))
        header = {
            "serializer": name,
            "type-serialized": evil,
            "sub-header": {},
            "writeable": [False],
            "pickled-obj": sent,
        }
        header |= {"num-sub-frames": dice.choice((0, 1, 2, -1)), "split-num-sub-frames": [1], "split-offsets": [0]}
        if dice.random() < 0.2:
            header["compression"] = [dice.choice((None, "zlib", "lz4", "auto", 1))]
        key = dice.choice(("__Pickled__", "__Serialized__", "__Enum__", "__Set__"))
        message = {"op": words(dice).encode(errors="replace"), "a": {key: dice.choice((1, 1, 0, 2, "x"))}}
        packbs = [msgpack.packb(item, unicode_errors="surrogatepass") for item in (message, header)] + [sent]
        return [changed_bytes(frame, dice) if dice.random() < 0.2 else frame for frame in packbs]

    def item(dice: random.Random) -> None:
        try:
            answer = protocol.loads(frames(dice), deserialize=dice.random() < 0.8)
        except CommClosedError:
            answer = None
        reply = {
            "schema": REPLY_SCHEMA,
            "sixbench": words(dice),
            "worker": words(dice),
            "why": value(dice),
            "trials": value(dice),
        }
        for data in (answer, plain.loads(plain.dumps(reply)), value(dice), {words(dice): reply}):
            for read in (reply_from_wire, chosen_from_wire):
                try:
                    read(data)
                except StoreError as error:
                    printed(error)

    return item


class _Pipes:
    """An agent's process, as far as its answers need one."""

    host, where, pid, exit_code, helps = "lab1", "on lab1", None, None, ""

    def kill(self) -> None:
        """There is none."""


def _host_answers(_: str) -> Callable[[random.Random], None]:
    from sixbench.agent.client import MAX_LINE_BYTES, Agent, _Pending
    from sixbench.agent.requests import REQUESTS
    from sixbench.model.errors import AgentError

    answers = [item for item in json.loads(ANSWERS_FILE.read_text(encoding="utf-8")) if "workload" not in item]

    def line(answer: Any, dice: random.Random) -> bytes:
        message = dice.choice(
            (
                {"id": 1, "ok": answer},
                {"id": dice.choice((1, 2, "1", True)), "ok": value(dice)},
                {"id": 1, "error": {"code": value(dice), "message": value(dice)}},
                value(dice),
            )
        )
        return changed_bytes(json.dumps(message, default=str).encode(), dice) + b"\n"

    def item(dice: random.Random) -> None:
        asked = dice.choice(answers)
        agent = Agent(words(dice)[:40], _Pipes())  # type: ignore[arg-type]
        future: Future[Any] = Future()
        request = REQUESTS[asked["op"]].__new__(REQUESTS[asked["op"]])
        agent._pending[1] = _Pending(request=request, future=future)
        agent._keep_stderr(words(dice).encode(errors="surrogatepass"))
        data = b"".join(line(asked["answer"], dice) for _ in range(dice.randrange(1, 4)))
        while data:
            cut = dice.randrange(1, len(data) + 1)
            agent._received(data[:cut])
            data = data[cut:]
        assert len(agent._buffer) <= MAX_LINE_BYTES
        agent._end("agent-died", words(dice))
        assert agent.last_words.isprintable()
        error = future.exception(0)
        if error is not None:
            if not isinstance(error, AgentError):
                raise error
            printed(error)
            assert error.code.isprintable()

    return item


def _terminal_names(_: str) -> Callable[[random.Random], None]:
    from sixbench.cli.common import note, print_json, say
    from sixbench.model.errors import CapabilityError, ExperimentError, Problem
    from sixbench.model.quoting import MAX_SENTENCE, listed, one_line, shown
    from sixbench.model.reason import Reason, ReasonKind

    def item(dice: random.Random) -> None:
        text = words(dice)
        printed(CapabilityError(text))
        assert len(str(CapabilityError(text))) <= MAX_SENTENCE
        problems = [Problem(file=words(dice), line=1, key=words(dice), message=text)] * 2
        assert [word.isprintable() for word in str(ExperimentError(problems)).split("\n")] == [True, True]
        assert all(map(str.isprintable, (one_line(text), listed([text, text]), shown(text))))
        assert str(Reason(kind=ReasonKind.DEVICE_ENDED, text=text)).isprintable()
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
            note(text)
            say(text)
            print_json(text)
        assert out.getvalue().replace("\n", "").isprintable(), f"this does not print: {out.getvalue()!r}"

    return item


_TARGETS = {WORKER_ANSWERS: _worker_answers, HOST_ANSWERS: _host_answers, TERMINAL_NAMES: _terminal_names}
