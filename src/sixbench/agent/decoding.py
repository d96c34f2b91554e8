"""The headers of packets, by `sixbench-agent decode` (docs/protocol.md, "Headers of packets")."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..model.captured import KeptPacket
from ..model.errors import AgentError, CapabilityError
from .answers import Decoded, check, message_of

MOST_HEADER_BYTES = 1024
"""The decoded parts of a frame."""
TIMEOUT_S = 40.0


@dataclass(frozen=True, kw_only=True)
class Frame:
    """An Ethernet frame.

    Attributes:
        data: its first bytes.
        wire_bytes: its length before it was cut off for the capture.
    """

    data: bytes
    wire_bytes: int


def decode_frames(binary: Path, frames: Sequence[Frame], held: int | None = None) -> list[KeptPacket]:
    """The headers of each frame. Raises `CapabilityError` where the agent cannot be started, and `AgentError`.

    Args:
        held: a descriptor of the agent, which `binary` names as `/proc/self/fd/N`.
    """
    lines = b"".join(_line(frame) for frame in frames)
    try:
        done = subprocess.run(
            [binary, "decode"],
            input=lines,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            pass_fds=[] if held is None else [held],
        )
    except OSError as error:
        raise CapabilityError(f"starting {binary}: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise AgentError("agent-silent", f"{binary} decode has not ended after {TIMEOUT_S:g} s") from None
    if done.returncode != 0:
        text = " ".join((done.stderr or done.stdout).decode(errors="replace").split())
        raise AgentError("agent-died", f"{binary} decode ended with code {done.returncode}: {text}")
    answers = [message_of(line) for line in done.stdout.splitlines()]
    if len(answers) != len(frames):
        raise AgentError("agent-broken", f"{binary} decode answered {len(answers)} of {len(frames)} packets")
    return [check(Decoded, answer, "a packet").kept for answer in answers]


def _line(frame: Frame) -> bytes:
    question = {"packet": frame.data[:MOST_HEADER_BYTES].hex(), "wire_bytes": frame.wire_bytes}
    return json.dumps(question | {"begins_with": "ethernet"}).encode() + b"\n"
