"""`make fuzz`: the targets of fuzz/ under libFuzzer, and changed answers of agents, read by the orchestrator."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TARGETS = ("request_lines", "greeting", "layers", "slow_path", "netlink", "bpf_encapsulate", "bpf_decapsulate")
OF_ROOT = ("bpf_encapsulate", "bpf_decapsulate")
ANSWERS = ROOT / "tests" / "unit" / "answers.json"

SECONDS = float(os.environ.get("FUZZ_SECONDS", "600"))
"""For each target: an hour and twenty minutes in all."""

WHAT_HELPS = (
    "install them with: rustup toolchain install nightly, and cargo install cargo-fuzz --version 0.13.2 --locked"
)


def fuzz(scratch: Path, scale: float, seed: int, only: list[str]) -> dict[str, Any]:
    """Runs every target for its time; returns executions and coverage of each."""
    found: dict[str, Any] = {}
    missing = _missing()
    for target in TARGETS:
        if only and target not in only:
            continue
        if missing is not None:
            found[target] = {"not_done": f"{missing}; {WHAT_HELPS}"}
        elif target in OF_ROOT and os.geteuid() != 0:
            found[target] = {"not_done": "loading programs needs root"}
        else:
            found[target] = _libfuzzer(target, SECONDS * scale, seed)
        print(f"{target}: {found[target]}", flush=True)
    if not only or "agent_answers" in only:
        found["agent_answers"] = _answers(SECONDS * scale, seed)
        print(f"agent_answers: {found['agent_answers']}", flush=True)
    return {"seconds": SECONDS * scale, "targets": found}


def wrong(found: dict[str, Any]) -> list[str]:
    """What crashed."""
    return [f"{name}: {target['crash']}" for name, target in found["targets"].items() if target.get("crash")]


def _missing() -> str | None:
    if shutil.which("cargo-fuzz") is None:
        return "cargo-fuzz is not installed"
    done = subprocess.run(["cargo", "+nightly", "--version"], capture_output=True, check=False)
    return None if done.returncode == 0 else "there is no nightly Rust"


def _libfuzzer(target: str, seconds: float, seed: int) -> dict[str, Any]:
    new = ROOT / "fuzz" / "found" / target
    new.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={max(1, round(seconds))}", f"-seed={seed}", "-print_final_stats=1", "-max_len=4096"]
    words = [
        "cargo",
        "+nightly",
        "fuzz",
        "run",
        target,
        str(new),
        str(ROOT / "fuzz" / "corpus" / target),
        "--",
        *limits,
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, errors="replace")
    said = done.stderr
    result: dict[str, Any] = {
        "executions": _number(r"stat::number_of_executed_units:\s+(\d+)", said),
        "coverage": _number(r"cov: (\d+)", said),
        "features": _number(r"ft: (\d+)", said),
    }
    return result if done.returncode == 0 else {**result, "crash": said[-1500:]}


def _number(pattern: str, text: str) -> int | None:
    """The last one."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else None


def _answers(seconds: float, seed: int) -> dict[str, Any]:
    """What agents answered, changed: the orchestrator takes it or refuses it with `AgentError`, and nothing else."""
    from sixbench.agent.messages import REQUESTS, Request
    from sixbench.agent.results import check_result
    from sixbench.model.errors import AgentError

    class Asked:
        def __init__(self, op: str) -> None:
            self.op, self.answer = op, REQUESTS[op].answer

    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    choice = random.Random(seed)
    executions = refused = 0
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        one = choice.choice(answers)
        changed = _changed(one["answer"], choice)
        executions += 1
        try:
            if "workload" in one:
                side = "client" if one["op"] == "run" else "server"
                check_result(one["workload"], side, one["params"], changed, one["op"])
            else:
                Request.check(Asked(one["op"]), changed)  # type: ignore[arg-type]
        except AgentError:
            refused += 1
        except Exception as error:  # noqa: BLE001, this is what is looked for
            return {"executions": executions, "refused": refused, "crash": f"{error!r}: {json.dumps(changed)[:500]}"}
    return {"executions": executions, "refused": refused}


_OTHERS: tuple[Any, ...] = (
    None,
    "",
    "text",
    "\u0000",
    -1,
    0,
    2**63,
    2**64,
    1.5,
    1e308,
    True,
    [],
    {},
    [[1]],
    {"a": None},
)


def _changed(answer: Any, choice: random.Random) -> Any:
    """The answer with some of its parts gone, replaced by others, or repeated."""
    changed = copy.deepcopy(answer)
    for _ in range(choice.randrange(1, 5)):
        holder = changed
        while isinstance(holder, (dict, list)) and holder:
            key = choice.choice(list(holder)) if isinstance(holder, dict) else choice.randrange(len(holder))
            inner = holder[key]
            if isinstance(inner, (dict, list)) and inner and choice.random() < 0.8:
                holder = inner
                continue
            if choice.random() < 0.2:
                del holder[key]
            else:
                holder[key] = copy.deepcopy(choice.choice(_OTHERS))
            break
    return changed
