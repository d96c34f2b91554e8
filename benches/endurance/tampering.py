"""Changes of run directories: of their JSON, their bytes and the kinds of their files. Each follows from a seed."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from endurance.tampered_directory import MANIFEST, MONITOR, Tampered, text_of

Place = tuple[Any, ...]
"""The keys and indices that lead to a value."""

FINDINGS = "findings.json"
NOT_NUMBERS = [float("nan"), float("inf"), float("-inf")]
NUMBERS = [0, 1, -1, 2, 0.5, -0.0, 255, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**18, 10**21, 10**40, 1e-300, 1e308]
NAMES = ["..", ".", "", "../../etc/passwd", "/etc/passwd", "a\0b", "a\nb", "\x1b[2J", "-rf", "a b", "x" * 300, "c0001"]
TEXTS = [*NAMES, "NaN", "1e999", "true", "null", "x", "\u202e", "<script>alert(1)</script>", "{{7*7}}", "%s%n"]
TEXTS += [
    "\\input{/etc/passwd}",
    "$(id)",
    "１２",
    "[bold]",
    "[/]",
    "2001:db8::/200",
    "ipv6",
    "tcp-stream",
    "y" * 100_000,
]
DEEP = 3000
MOST_ITEMS = 30_000


def tamper(run: Tampered, others: Sequence[Tampered], dice: random.Random) -> None:
    """Changes a run directory in one to four ways. `run.done` says which."""
    for _ in range(dice.choice((1, 1, 1, 1, 2, 2, 3))):
        dice.choices((_change_json, _change_bytes, _change_files), (86, 8, 6))[0](run, others, dice)
    if dice.random() < 0.75:
        run.rehash()
        run.done.append("hashes made to match")


def _change_json(run: Tampered, others: Sequence[Tampered], dice: random.Random) -> None:
    names = [name for name in run.files if name.endswith(".json")]
    is_record = _is_occurrence if run.is_monitor else _is_trial
    head = MONITOR if run.is_monitor else MANIFEST
    records = [name for name in names if is_record(name)]
    if not names:
        return
    chosen = dice.random()
    if chosen < 0.35 and head in names:
        name = head
    elif chosen < 0.45 and FINDINGS in names:
        name = FINDINGS
    else:
        name = dice.choice(records if chosen < 0.95 and records else names)
    data = run.document(name)
    if not isinstance(data, dict):
        return
    places = _sampled(data, dice)
    if not places:
        return
    place = dice.choice(places)
    kind = dice.choice(tuple(_OPERATIONS))
    donor = dice.choice([run, *others])
    output = _OPERATIONS[kind](data, place, donor, dice)
    run.done.append(f"{name}: {kind} {'.'.join(map(str, place))[:200]}{f' {output[:120]}' if output else ''}")
    run.write(name, _serialised(data, dice))


def _is_trial(name: str) -> bool:
    return name.endswith("/trial.json")


def _is_occurrence(name: str) -> bool:
    return name.startswith("occurrences/")


def _serialised(data: Any, dice: random.Random) -> bytes:
    text = text_of(data)
    if b'"deep"' in text:
        opening, closing = (b"[", b"]") if dice.random() < 0.5 else (b'{"a":', b"}")
        text = text.replace(b'"deep"', opening * DEEP + b"1" + closing * DEEP)
    return text.replace(b'"huge number"', b"9" * dice.choice((400, 5000)))


def _sampled(data: dict[str, Any], dice: random.Random) -> list[Place]:
    """Some places: one of each part of a document, so that long lists do not take most of the changes."""
    collected: list[Place] = []
    for _ in range(6):
        place: Place = ()
        value: Any = data
        while isinstance(value, (dict, list)) and value and (not place or dice.random() < 0.9):
            keys = [*value] if isinstance(value, dict) else range(len(value))
            deeper = [key for key in keys if isinstance(value[key], (dict, list)) and value[key]]
            key = dice.choice(deeper if deeper and dice.random() < 0.6 else keys)
            if key == "accepted" and dice.random() < 0.9:
                break
            place, value = (*place, key), value[key]
        if place:
            collected.append(place)
    return collected


def _parent(data: Any, place: Place) -> Any:
    for key in place[:-1]:
        data = data[key]
    return data


def _any_value(dice: random.Random) -> Any:
    if dice.random() < 0.04:
        return dice.choice((*NOT_NUMBERS, "deep", "huge number", "\ud800"))
    simple: list[Callable[[], Any]] = [
        lambda: None,
        lambda: dice.random() < 0.5,
        lambda: dice.choice(NUMBERS),
        lambda: dice.choice(NUMBERS),
        lambda: dice.choice(TEXTS),
        lambda: dice.choice(TEXTS),
        lambda: dice.uniform(-1e9, 1e9),
        list,
        dict,
        lambda: [_any_value(dice)],
        lambda: {dice.choice(TEXTS[:-1]): _any_value(dice)},
        lambda: [[1, 2], [3, 4]],
    ]
    return dice.choice(simple)()


def _replace(data: Any, place: Place, _: Tampered, dice: random.Random) -> str:
    value = _any_value(dice)
    _parent(data, place)[place[-1]] = value
    return f"by {value!r}"


def _delete(data: Any, place: Place, _: Tampered, __: random.Random) -> str:
    del _parent(data, place)[place[-1]]
    return ""


def _nudge(data: Any, place: Place, _: Tampered, dice: random.Random) -> str:
    parent = _parent(data, place)
    value = parent[place[-1]]
    if isinstance(value, bool) or value is None:
        changed: Any = dice.choice((0, 1, "true", not value))
    elif isinstance(value, int) and abs(value) > 10**300:  # no float, from a change before
        changed = dice.choice((-value, value + 1, [value], 0))
    elif isinstance(value, (int, float)):
        changed = dice.choice((-value, value * 10**6, value + 1, str(value), float(value), value / 7, [value], 0))
    elif isinstance(value, str):
        changed = dice.choice((value * 2, value[:-1], value.upper(), f"../{value}", f"{value}\n", dice.choice(TEXTS)))
    elif isinstance(value, list):
        often = value * _many(dice)
        changed = dice.choice((value * 2, value[::-1], value[:1], dict(enumerate(value)), often[:MOST_ITEMS]))
    else:
        more = {f"more{at}": 1 for at in range(_many(dice))}
        changed = dice.choice(([*value], [*value.values()], {**value, **more}))
    parent[place[-1]] = changed
    return f"to {_beginning(changed)}"


def _many(dice: random.Random) -> int:
    """So many that lists and tables have to be cut, and mostly few enough to be quick."""
    return dice.choices((30, 300, 3000), (8, 3, 1))[0]


def _beginning(value: Any) -> str:
    return str(value[:3] if isinstance(value, list) else value)[:60]


def _rename(data: Any, place: Place, _: Tampered, dice: random.Random) -> str:
    parent = _parent(data, place)
    if not isinstance(parent, dict):
        return ""
    name = dice.choice((*TEXTS[:-1], *parent))
    parent[name] = parent.pop(place[-1])
    return f"to {name!r}"


def _swap(data: Any, place: Place, _: Tampered, dice: random.Random) -> str:
    other = dice.choice(_sampled(data, dice) or [place])
    if other[: len(place)] == place or place[: len(other)] == other:
        return ""
    parent, two = _parent(data, place), _parent(data, other)
    parent[place[-1]], two[other[-1]] = two[other[-1]], parent[place[-1]]
    return f"with {'.'.join(map(str, other))[:80]}"


def _graft(data: Any, place: Place, donor: Tampered, dice: random.Random) -> str:
    """Puts something there that another record or manifest has, mostly under the same key."""
    names = [name for name in donor.files if name.endswith(".json")]
    given = donor.document(dice.choice(names)) if names else None
    if not isinstance(given, dict):
        return ""
    top = place[0] if place[0] in given and dice.random() < 0.8 else dice.choice([*given])
    at = place[:1] if dice.random() < 0.6 else place
    _parent(data, at)[at[-1]] = given[top]
    return f"the {top} of another"


def _insert(data: Any, place: Place, _: Tampered, dice: random.Random) -> str:
    parent = _parent(data, place)
    value = _any_value(dice)
    if isinstance(parent, dict):
        parent[dice.choice(TEXTS[:-1])] = value
    else:
        parent.insert(dice.randrange(len(parent) + 1), value)
    return f"{value!r}"


_OPERATIONS: Mapping[str, Callable[[Any, Place, Tampered, random.Random], str]] = {
    "replace": _replace,
    "delete": _delete,
    "nudge": _nudge,
    "nudge again": _nudge,
    "rename": _rename,
    "swap": _swap,
    "graft": _graft,
    "insert": _insert,
}


def _change_bytes(run: Tampered, _: Sequence[Tampered], dice: random.Random) -> None:
    rare = [name for name in run.files if not name.endswith((".json", ".yaml"))]
    name = dice.choice(rare if rare and dice.random() < 0.6 else [*run.files])
    content = bytearray(run.files[name])
    kind = dice.choice(("flip", "cut", "insert", "overwrite", "empty", "junk", "append", "repeat"))
    at = dice.randrange(len(content) + 1)
    if kind == "flip":
        for _ in range(dice.choice((1, 1, 8, 100))):
            if content:
                content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    elif kind == "cut":
        del content[at:]
    elif kind == "insert":
        content[at:at] = dice.randbytes(dice.choice((1, 4, 100)))
    elif kind == "overwrite":
        content[at : at + 8] = dice.choice((b"\xff" * 8, b"\0" * 8, dice.randbytes(8)))
    elif kind == "empty":
        content.clear()
    elif kind == "junk":
        content[:] = dice.randbytes(dice.choice((1, 100, 10_000)))
    elif kind == "append":
        content += dice.choice((b"\n", b"\0", b"{}", content[-40:]))
    else:
        content *= 2
    run.done.append(f"{name}: bytes: {kind} at {at}")
    run.write(name, bytes(content))


def _change_files(run: Tampered, _: Sequence[Tampered], dice: random.Random) -> None:
    names = [*run.files, *run.folders]
    name = dice.choice(names)
    kind = dice.choice((*_KINDS, "copy", "rename", "strange name", "exchange"))
    run.done.append(f"{name}: {kind}")
    if kind in _KINDS:
        path = run.vacate(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        _KINDS[kind](path, run.outside)
    elif kind == "strange name":
        strange = dice.choice(
            (b"a\nb", b"\x1b[2J", b"\xff\xfe", b"-rf", b"b001-c0001-ipv4.partial", b"x" * 255, b"...", b"000007.json")
        )
        place = run.directory / dice.choice(run.folders)
        # Not where a link leads that an earlier change has made.
        if place.is_dir() and place.resolve().is_relative_to(run.directory.resolve()):
            make = os.mkdir if dice.random() < 0.5 else _touch
            with suppress(FileExistsError):  # an earlier change has made it
                make(os.fsencode(place) + b"/" + strange)
    elif name not in run.files or not name.startswith(_EXCHANGED):
        parts = [folder.split("/")[1] for folder in run.folders if folder.startswith(f"{run.parts}/")]
        if parts:
            choice, two = dice.choice(parts), dice.choice(parts)
            new = "000099" if run.is_monitor else f"b099{choice[4:]}"
            for file in [file for file in run.files if file.startswith(f"{run.parts}/{choice}/")]:
                run.write(file.replace(choice, dice.choice((two, new)), 1), run.files[file])
    else:
        other = dice.choice([file for file in run.files if file.startswith(_EXCHANGED)])
        one_content, two_content = run.files[name], run.files[other]
        run.write(other, one_content)
        if kind == "exchange":
            run.write(name, two_content)
        elif kind == "rename":
            run.vacate(name)


_EXCHANGED = ("trials/", "occurrences/")
"""Folders whose entries are copied, renamed and exchanged with each other."""


def _touch(path: bytes) -> None:
    with open(path, "xb"):
        pass


def _bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(path.parent)
        try:
            listener.bind(path.name[:90])
        finally:
            os.chdir(here)


_KINDS: Mapping[str, Callable[[Path, Path], None]] = {
    "missing": lambda path, outside: None,
    "link to a file outside": lambda path, outside: path.symlink_to(outside / "secret.json"),
    "link to a folder outside": lambda path, outside: path.symlink_to(outside),
    "link to an endless file": lambda path, outside: path.symlink_to("/dev/zero"),
    "link to itself": lambda path, outside: path.symlink_to(path.name),
    "named pipe": lambda path, outside: os.mkfifo(path),
    "socket": lambda path, outside: _bind(path),
    "directory": lambda path, outside: path.mkdir(),
    "empty file": lambda path, outside: path.write_bytes(b"") and None,
}
