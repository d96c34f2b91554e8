"""Experiments, files of hosts and dotted paths, changed: deep, long, many and crossed with each other.

The reader takes each or refuses it with an error that is meant for users. Nothing else is raised, the error is
printable and short, and none takes long.
"""

from __future__ import annotations

import copy
import json
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import yaml

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
MOST_CPU_S = 30.0
"""The time of one input, by its own thread. Most take some milliseconds."""
MOST_MESSAGE_CHARACTERS = 200_000
"""An error has at most some hundred lines."""

HOSTS = {"hosts": {"lab1": {"ssh": "root@lab1.example:22", "address": "192.0.2.1"}}, "nodes": {"h1": "lab1"}}
STEPS = ("topology", "links", "nodes", "paths", "workloads", "factors", "events", "quick", "hosts", "*", "0", "7", "")
STEPS += ("blocks", "seed", "duration", "mtu", "rate", "a", "h1", "h1-r1", "tcp-stream", "__class__", "x" * 700)
VALUES = ("1", "1s", "[1, 2]", "{a: 1}", "&a [*a]", "*", "'", "", "[" * 60, "{a: " * 39 + "1" + "}" * 39, "9" * 5000)


def try_experiments(seconds: float, seed: int, over: threading.Event) -> dict[str, Any]:
    """Changes experiments until the time is over. Returns how many were tried and refused, and the first that crashed
    the reader, with the number that repeats it."""
    stock = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(EXPERIMENTS.glob("*/experiment.yaml"))]
    executions = refused = 0
    deadline_s = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < deadline_s and not over.is_set():
            begun_s = time.thread_time()
            try:
                refused += try_one(stock, random.Random(f"{seed}/{executions}"), Path(folder))
            except Exception as error:  # noqa: BLE001, this is what is looked for
                return _crash(executions, refused, f"{error!r}", seed)
            if time.thread_time() - begun_s > MOST_CPU_S:
                return _crash(executions, refused, f"it took over {MOST_CPU_S:g} s of CPU time", seed)
            executions += 1
    return {"executions": executions, "refused": refused}


def _crash(executions: int, refused: int, words: str, seed: int) -> dict[str, Any]:
    words = f"seed {seed}, input {executions}: {words[:500]}"
    return {"executions": executions, "refused": refused, "crash": words}


def try_one(stock: list[Any], dice: random.Random, folder: Path) -> bool:
    """Reads one changed experiment in each way that there is. Returns whether any of them refused it."""
    from sixbench.mechanisms import MECHANISMS
    from sixbench.model.errors import SixbenchError
    from sixbench.plan.experiment_file import read_experiment, read_topology_only
    from sixbench.plan.hosts_override import apply_hosts
    from sixbench.plan.overrides import apply_quick, apply_set
    from sixbench.plan.yaml_source import parse_yaml
    from sixbench.ui.check import checked

    text = _text_of(changed(dice.choice(stock), dice), dice)
    settings = [f"{dotted_path(dice)}={dice.choice(VALUES)}" for _ in range(dice.choice((0, 0, 0, 1, 3)))]
    hosts = folder / "hosts.yaml"
    if dice.random() < 0.2:
        hosts.write_text(_text_of(changed(HOSTS, dice), dice), encoding="utf-8")

    def read() -> None:
        source = parse_yaml(text, "fuzz.yaml")
        if hosts.exists():
            source = apply_hosts(source, hosts)
            hosts.unlink()
        if dice.random() < 0.5:
            source = apply_quick(source, is_virtual=dice.random() < 0.3)
        read_experiment(apply_set(source, settings), MECHANISMS)

    readers = (
        read,
        lambda: read_topology_only(parse_yaml(text, "fuzz.yaml")),
        lambda: checked({"text": text, "quick": dice.random() < 0.5, "settings": settings}),
    )
    refused = False
    for reader in readers:
        try:
            reader()
        except SixbenchError as error:
            refused = True
            message = str(error)
            assert message.replace("\n", "").isprintable(), f"its message is {message!r}"
            assert len(message) < MOST_MESSAGE_CHARACTERS, f"its message has {len(message)} characters"
    return refused


def _text_of(data: Any, dice: random.Random) -> str:
    """An experiment as YAML: as JSON, which is YAML, and with aliases, of which each costs little."""
    text = json.dumps(data)
    if dice.random() < 0.1:
        bomb = [f"&b{level} [{', '.join([f'*b{level - 1}'] * 9 if level else ['x'])}]" for level in range(8)]
        text = text.replace('"bomb"', f"[{', '.join(bomb)}]")
    if dice.random() < 0.05:
        place = dice.randrange(len(text) + 1)
        text = text[:place] + dice.choice(("[", "]", "{", "*a", "&a ", "\t", "- ", ": ", "\x00", "…")) + text[place:]
    return text


def dotted_path(dice: random.Random) -> str:
    """A dotted path: mostly of steps that there are, at times far too long."""
    if dice.random() < 0.2:
        return dice.choice(("blocks", "seed", "workloads.*.duration", "topology.*", "paths.*", "*.*.*.*", "notes"))
    if dice.random() < 0.1:
        return ".".join([dice.choice(STEPS)] * dice.choice((19, 20, 21, 300, 30_000)))
    return ".".join(dice.choices(STEPS, k=dice.randrange(1, 8)))


def _value(dice: random.Random) -> Any:
    deep: Any = 1
    for _ in range(dice.choice((1, 5, 30, 39, 60))):
        deep = [deep] if dice.random() < 0.5 else {dice.choice(STEPS): deep}
    simple = (None, True, -1, 2**63, 1e308, "", "bomb", "$a", "\u202e\x1b[2J", "[" * 50_000, "9" * 5000, "x" * 100_000)
    return dice.choice((*simple, deep, deep, [1] * 2000, {f"k{n}": n for n in range(500)}, [[[]]] * 50))


def changed(data: Any, dice: random.Random) -> Any:
    """The data with some of its parts gone, replaced, repeated or put elsewhere, and with dotted paths in `quick`."""
    data = copy.deepcopy(data)
    for _ in range(dice.choice((0, 0, 1, 1, 2, 3))):
        holder = data
        while isinstance(holder, (dict, list)) and holder:
            key = dice.choice(list(holder)) if isinstance(holder, dict) else dice.randrange(len(holder))
            if isinstance(holder[key], (dict, list)) and holder[key] and dice.random() < 0.8:
                holder = holder[key]
                continue
            if dice.random() < 0.15:
                del holder[key]
            elif dice.random() < 0.2:
                holder[key] = [holder[key]] * dice.choice((2, 50, 3000))
            else:
                holder[key] = _value(dice)
            break
    if isinstance(data, dict) and dice.random() < 0.4:
        number = dice.choice((1, 2, 5, 100))
        data["quick"] = {dotted_path(dice): _value(dice) if dice.random() < 0.3 else 1 for _ in range(number)}
    return data
