"""Packets through a mechanism, by `sixbench-agent translate` (docs/protocol.md, "Packets through a mechanism")."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..agent.answers import PacketAnswer, PacketsEnd, check, message_of
from ..model.errors import AgentError, CapabilityError, UsageError

MAX_ANSWER_BYTES = 2**24
"""The longest line of an answer. A packet of 64 KiB in fragments of 68 bytes has some 2 MiB."""
SILENCE_S = 40.0
STOP_TIMEOUT_S = 2.0
_READ_BYTES = 2**18
_MAX_TIME_NS = 2**63
"""The year 2262, if they are since 1970."""


@dataclass(frozen=True, kw_only=True)
class PacketDecision:
    """The outcome of a packet.

    Attributes:
        reason: the rule that decided, in one word.
        section: where that is written, such as `RFC 7915 section 4.1`; None where no RFC has it.
        words: what the rule says of the packet, as a sentence.
        packets: what came out, with what waited for it.
    """

    verdict: Literal["translated", "answered", "dropped", "waits"]
    reason: str
    section: str | None
    words: str
    packets: tuple[bytes, ...]


class MechanismProcess(AbstractContextManager["MechanismProcess"]):
    """A mechanism that takes packets. Use as a context manager: leaving it ends the agent."""

    def __init__(self, binary: Path, mechanism: Mapping[str, Any]) -> None:
        """Starts the agent. Raises `CapabilityError`.

        Args:
            mechanism: the first line of the conversation.
        """
        try:
            self._process = subprocess.Popen(
                [binary, "translate"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        except OSError as error:
            raise CapabilityError(f"starting {binary}: {error.strerror}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        self._unsent = _line(mechanism)
        self._received = bytearray()

    def __exit__(self, *_: object) -> None:
        self._stop()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def carry(self, packets: Sequence[tuple[int, bytes]]) -> list[PacketDecision]:
        """The decisions about packets, one after the other. Raises `UsageError` where the mechanism cannot be as its
        first line asks, and `AgentError`.

        Args:
            packets: each with its time in nanoseconds since any instant.
        """
        self._unsent += b"".join(
            _line({"packet": packet.hex(), "time_ns": min(max(time_ns, 0), _MAX_TIME_NS)})
            for time_ns, packet in packets
        )
        return [_decision(line) for line in self._exchange(len(packets))]

    def finish(self) -> int:
        """Ends the conversation, and says how many fragments waited for others of their packet in vain. Raises what
        `carry` raises, of a mechanism that has not been given a packet either."""
        self._exchange(0)
        assert self._process.stdin is not None
        self._process.stdin.close()
        in_vain = 0
        for line in self._exchange(1, is_last=True):
            end = message_of(line)
            check(PacketsEnd, end, "the end of the packets")
            in_vain = end["fragments_in_vain"]
        return in_vain

    def _exchange(self, count: int, is_last: bool = False) -> list[bytes]:
        """Sends what there is to send, and meanwhile reads that many lines; the last time as many as there are."""
        lines: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            if self._unsent:
                selector.register(self._input, selectors.EVENT_WRITE)
            while self._unsent or len(lines) < count:
                ready = selector.select(SILENCE_S)
                if not ready:
                    raise AgentError("agent-silent", f"the agent has not answered for {SILENCE_S:g} s")
                for key, _ in ready:
                    if key.fd == self._input:
                        self._send()
                        if not self._unsent:
                            selector.unregister(self._input)
                        continue
                    data = os.read(self._output, _READ_BYTES)
                    lines += self._split(data)
                    if not data and is_last and not self._received:
                        return lines
                    if not data:
                        raise self._died()
        return lines

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._input, self._unsent[:_READ_BYTES]) :]
        except BrokenPipeError:
            self._unsent = b""  # its earlier output has not been read yet

    def _split(self, data: bytes) -> list[bytes]:
        *lines, rest = (bytes(self._received) + data).split(b"\n")
        self._received = bytearray(rest)
        if len(rest) > MAX_ANSWER_BYTES:
            raise AgentError("agent-broken", f"the agent answered with a line of more than {MAX_ANSWER_BYTES} bytes")
        for line in lines:
            _raise_refusal(line)
        return lines

    def _died(self) -> AgentError:
        self._stop()
        assert self._process.stderr is not None
        text = " ".join(self._process.stderr.read(_READ_BYTES).decode(errors="replace").split())
        words = f"the agent ended with code {self._process.returncode} before it had answered"
        return AgentError("agent-died", f"{words}: {text}" if text else words)

    def _stop(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _raise_refusal(line: bytes) -> None:
    """Raises what a line says that refuses: `UsageError` of the mechanism, which is line 1, `AgentError` of others."""
    if not line.startswith(b'{"error"'):
        return
    match message_of(line):
        case {"error": str(text)} if text.startswith("line 1: "):
            raise UsageError(text.removeprefix("line 1: "))
        case {"error": str(text)}:
            raise AgentError("bad-request", f"the agent refused a packet: {text}")


def _decision(line: bytes) -> PacketDecision:
    message = message_of(line)
    check(PacketAnswer, message, "a packet")
    packets = tuple(bytes.fromhex(packet) for packet in message["packets"])
    rule = {name: message[name] for name in ("verdict", "reason", "section", "words")}
    return PacketDecision(**rule, packets=packets)
