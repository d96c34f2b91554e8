"""A program of others that is one end of a trial, in the place of sixbench's server or client.

Nothing here starts one. The agent fills in what is known only then (`AGENT_WORDS`), and `bench.parts` asks it to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..command_text import read_command, read_files, require_room
from ..parameter import Params
from ..quoting import shown
from ..units import format_duration, format_size, parse_duration, parse_size

ProgramSide = Literal["server", "client"]
Transport = Literal["tcp", "udp"]

AGENT_WORDS = frozenset(
    {"address", "host", "peer", "peer-host", "port", "name", "dir", "certificate", "key", "authority"}
)
"""The words in braces for which the agent knows what they stand: addresses (`host` and `peer-host` have the brackets
that URLs need), the server's port, its name, the program's directory, and the files of the trial's certificates."""
LENGTHS = frozenset({"duration", "count"})
"""Those of the trial's length: seconds, and a number."""
_BRACED = re.compile(r"\{([a-z][a-z-]*)\}")

PROGRAM, FILES, READY_WITHIN, MEMORY = "program", "files", "ready-within", "memory"
KEYS = (PROGRAM, FILES, READY_WITHIN, MEMORY)

MAX_FILES = 29
"""The agent takes 32, and adds three."""
_OF_THE_TRIAL = frozenset({"certificate.pem", "key.pem", "authority.pem"})

DEFAULT_READY_NS = 5 * 10**9
LONGEST_READY_NS = 9 * 10**9
"""A node has 10 s to answer, and answers nothing else meanwhile."""
DEFAULT_MEMORY_BYTES = 4 << 30
MEMORY_BYTES = (1 << 20, 1 << 40)
TIME_TO_END_NS = 5 * 10**9
"""Time beyond the trial's for a client that ends by itself."""


@dataclass(frozen=True, kw_only=True)
class ProgramEnd:
    """A program as the agent is asked to start it.

    Attributes:
        name: what messages call it.
        listens: the transport at whose port it listens, of a server; None: it is a client.
        chain_bytes: the length of the certificates that are made for it, of a server; None: it needs none.
        limit_ns: the time after which it is ended, of a client; None: it ends by itself.
    """

    name: str
    argv: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    listens: Transport | None = None
    ready_timeout_ns: int = DEFAULT_READY_NS
    memory_bytes: int = DEFAULT_MEMORY_BYTES
    chain_bytes: int | None = None
    limit_ns: int | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The field `program` of a request."""
        optional = {"listens": self.listens, "chain_bytes": self.chain_bytes, "limit_ns": self.limit_ns}
        return {
            "argv": list(self.argv),
            "name": self.name,
            "files": dict(self.files),
            "memory_bytes": self.memory_bytes,
            "ready_timeout_ns": self.ready_timeout_ns,
        } | {key: value for key, value in optional.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Command:
    """The words that start a program, and the files in its directory."""

    argv: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A feature that not every version of a program has.

    Attributes:
        argv: the command that lists it, such as its help.
        word: the word by which it is listed.
        lacks: what is to be said where it is not, as the end of a sentence.
    """

    argv: tuple[str, ...]
    word: str
    lacks: str


def _reads_nothing(output: str) -> dict[str, float]:
    """No numbers."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A program that sixbench knows how to start.

    Attributes:
        program, package: what runs, and the Debian package that has it.
        command: by the name of the workload, what its parameters make of it.
        unfit: by the name of the workload, the parameter that it cannot have and why, as a sentence; None: it can be
            this end.
        feature: the feature that the parameters need; None: any version does.
        version: the command whose output begins with the program's version; empty: it does not say.
        read: metrics by column in the end of its output. What it does not find there is absent.
    """

    name: str
    program: str
    package: str
    side: ProgramSide
    doc: str
    command: Mapping[str, Callable[[Params], Command]]
    unfit: Mapping[str, Callable[[Params], tuple[str, str] | None]] = field(default_factory=dict)
    feature: Callable[[Params], Feature | None] = lambda params: None
    version: tuple[str, ...] = ()
    read: Callable[[str], Mapping[str, float]] = _reads_nothing


@dataclass(frozen=True, kw_only=True)
class OtherProgram:
    """A program of the experiment's."""

    command: str
    files: Mapping[str, str]
    ready_timeout_ns: int
    memory_bytes: int


def read_other(given: Mapping[Any, Any]) -> str:
    """A program of the experiment's in the form in which parameters keep it. Raises `ValueError`."""
    for key in given:
        if key not in KEYS:
            raise ValueError(f"{shown(key)} is none of {', '.join(KEYS)}")
    if PROGRAM not in given:
        raise ValueError(f"{PROGRAM} is missing: the command that starts it, such as nginx -c {{dir}}/nginx.conf")
    command = read_command(given[PROGRAM], "nginx -c {dir}/nginx.conf")
    files = read_files(given.get(FILES, {}), MAX_FILES, _OF_THE_TRIAL)
    require_room(sum(map(len, files.values())))
    kept = {
        PROGRAM: command,
        FILES: files,
        READY_WITHIN: _within(READY_WITHIN, given, parse_duration, format_duration, DEFAULT_READY_NS, _READY_BOUNDS),
        MEMORY: _within(MEMORY, given, parse_size, format_size, DEFAULT_MEMORY_BYTES, MEMORY_BYTES),
    }
    for text in (command, *files.values()):
        for word in _BRACED.findall(text):
            if word not in AGENT_WORDS | LENGTHS:
                known = ", ".join(sorted(AGENT_WORDS | LENGTHS))
                raise ValueError(f"{{{word}}} stands in a command or a file, and only these have a meaning: {known}")
    return json.dumps(kept, sort_keys=True)


def other_of(text: str) -> OtherProgram:
    """The program that a parameter keeps."""
    kept = json.loads(text)
    return OtherProgram(
        command=kept[PROGRAM],
        files=kept[FILES],
        ready_timeout_ns=parse_duration(kept[READY_WITHIN]),
        memory_bytes=parse_size(kept[MEMORY]),
    )


def filled(text: str, params: Params) -> str:
    """The text with the trial's length. What is not known of it stays as it is."""
    words = {}
    if "duration_ns" in params:
        words["duration"] = f"{int(params['duration_ns']) / 1e9:g}"
    if "count" in params:
        words["count"] = str(params["count"])
    return _BRACED.sub(lambda match: words.get(match[1], match[0]), text)


def lacks_length(text: str, params: Params) -> str | None:
    """The word in braces that stands for a length which a trial does not have; None: there is none."""
    known = {"duration": "duration_ns", "count": "count"}
    return next((word for word in _BRACED.findall(text) if word in known and known[word] not in params), None)


_READY_BOUNDS = (10**6, LONGEST_READY_NS)


def _within(
    key: str,
    given: Mapping[Any, Any],
    parse: Callable[[object], int],
    written: Callable[[float], str],
    default: int,
    bounds: tuple[int, int],
) -> str:
    value = parse(given[key]) if key in given else default
    if not bounds[0] <= value <= bounds[1]:
        raise ValueError(
            f"{key} {shown(given[key])} is out of range: from {written(bounds[0])} to {written(bounds[1])}"
        )
    return written(value)
