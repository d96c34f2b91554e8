"""`make fuzz`: the targets of fuzz/ under libFuzzer, and what the orchestrator reads: changed answers of agents, and
changed experiments with dotted paths.

A stable Rust builds the targets. LLVM's pass SanitizerCoverage, which `-C passes` and `-C llvm-args` run, shows the
edges that an input takes. libFuzzer itself is in the crate libfuzzer-sys, and clang compiles it. There is no sanitizer
of addresses, which needs a nightly Rust. So what is found are panics, overflows of integers and hangs.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from .keeping import STOPS, Keep
from .nested_experiments import try_experiments
from .words_of_others import HOST_ANSWERS, TERMINAL_NAMES, WORKER_ANSWERS, try_words

ROOT = Path(__file__).parents[2]
FUZZ = ROOT / "fuzz"
BUILT = ROOT / "target" / "fuzz"
OF_ANY_USER = (
    *("request_lines", "greeting", "layers", "slow_path", "translator", "dns", "discovery", "dhcp", "netlink"),
    *("trial_dns", "trial_http", "probes"),
)
OF_ROOT = ("bpf_encapsulate", "bpf_decapsulate")
"""The targets of libFuzzer. Those of root load programs into the kernel."""
ANSWERS = "agent_answers"
ANSWERS_FILE = ROOT / "tests" / "unit" / "answers.json"
EXPERIMENTS = "experiments"
OF_PYTHON = (ANSWERS, EXPERIMENTS, WORKER_ANSWERS, HOST_ANSWERS, TERMINAL_NAMES)
"""The targets that need no libFuzzer."""
TARGETS = (*OF_ANY_USER, *OF_ROOT, *OF_PYTHON)

SECONDS = float(os.environ.get("FUZZ_SECONDS", "600"))
"""For each target: an hour and a half in all, on two processors."""

INTERRUPTED = 72
"""Exit code of libFuzzer after SIGINT or SIGTERM (`InterruptExitCode`)."""

HANGS_S = 60
"""An input that takes longer is a failure. They take some microseconds, and the machine may be busy."""

COVERAGE = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
)
"""Compiler options for all that libFuzzer needs to see: the edges that an input takes, and the values that it is
compared with."""

ONLY_REACHABLE = "-Clink-arg=-Wl,-z,start-stop-gc"
"""GNU ld would keep all code for its counters, even what a target cannot reach: 160,000 edges, which libFuzzer looks at
after each input. Binutils from 2.37 on have the option, and lld."""


def fuzz(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> dict[str, Any]:
    """Runs every target for its time, one on each processor; returns executions and coverage of each."""
    seconds = SECONDS * scale
    chosen = [target for target in TARGETS if not only or target in only]
    binaries = _build() if set(chosen) - set(OF_PYTHON) else scratch
    over = threading.Event()
    collected: dict[str, Any] = {}
    stopped = {}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        jobs = {
            target: pool.submit(_outcome_of, target, _job(target, binaries, seconds, seed, over)) for target in chosen
        }
        try:
            for target, job in jobs.items():
                collected[target] = job.result()
                keep({"seconds": seconds, "targets": collected})
        except STOPS:  # libFuzzer ends by the signal, and tells its counts
            over.set()
            pool.shutdown(cancel_futures=True)
            collected |= {target: job.result() for target, job in jobs.items() if not job.cancelled()}
            stopped = {"stopped": True}
    executions = sum(result.get("executions") or 0 for result in collected.values())
    covered = sum(result.get("coverage") or 0 for result in collected.values())
    print(
        f"{len(chosen)} targets, {seconds:g} s each: {executions:,} executions, {covered:,} edges covered", flush=True
    )
    return {"seconds": seconds, "targets": collected, **stopped}


def wrong(result: dict[str, Any]) -> list[str]:
    """Targets that crashed, and those that were not fuzzed where everything is expected (`SIXBENCH_EXPECT_LAB=1`)."""
    bad = ("crash", "not_done") if os.environ.get("SIXBENCH_EXPECT_LAB") == "1" else ("crash",)
    return [f"{name}: {target[key]}" for name, target in result["targets"].items() for key in bad if target.get(key)]


def _job(target: str, binaries: Path, seconds: float, seed: int, over: threading.Event) -> Callable[[], dict[str, Any]]:
    if target == ANSWERS:
        return partial(_answers, seconds, seed, over)
    if target == EXPERIMENTS:
        return partial(try_experiments, seconds, seed, over)
    if target in (WORKER_ANSWERS, HOST_ANSWERS, TERMINAL_NAMES):
        return partial(try_words, target, seconds, seed, over)
    if target in OF_ROOT and os.geteuid() != 0:
        return lambda: {"not_done": "loading programs needs root"}
    return partial(_libfuzzer, binaries / target, seconds, seed)


def _outcome_of(target: str, job: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The job's result, which is printed as soon as it is there."""
    result = job()
    if "not_done" in result:
        words = f"not done: {result['not_done']}"
    else:
        words = f"{result['executions'] or 0:,} executions"
        if result.get("coverage") is not None:
            words += f", {result['coverage']:,} of {result['edges']:,} edges covered"
        words += f"\n{result['crash']}" if result.get("crash") else ", no crash"
    print(f"{target}: {words}", flush=True)
    return result


def _build() -> Path:
    """The folder with the targets' programs."""
    host = _match(r"^host: (\S+)$", subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout)
    assert host is not None
    words = ["cargo", "build", "--quiet", "--release", "--locked", "--target", host, "--target-dir", str(BUILT)]
    # With --target, the flags are for the targets only, and neither for macros nor for build scripts.
    flags = "\x1f".join((*COVERAGE, ONLY_REACHABLE, "--cfg=fuzzing"))
    settings = {"CXX": "clang++"} | os.environ | {"CARGO_ENCODED_RUSTFLAGS": flags}
    print("compiling libFuzzer and the targets (some minutes the first time)", flush=True)
    done = subprocess.run(words, cwd=FUZZ, env=settings, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the targets of {FUZZ} could not be built (see above)")
    return BUILT / host / "release"


def _libfuzzer(program: Path, seconds: float, seed: int) -> dict[str, Any]:
    new = FUZZ / "found" / program.name
    new.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={max(1, round(seconds))}", f"-timeout={HANGS_S}", "-max_len=4096"]
    words = [
        str(program),
        *limits,
        f"-seed={seed}",
        "-print_final_stats=1",
        f"-artifact_prefix={FUZZ / 'found'}/{program.name}-",
        str(new),
        str(FUZZ / "corpus" / program.name),
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, errors="replace")
    stderr = done.stderr
    result: dict[str, Any] = {
        "executions": _number(r"stat::number_of_executed_units:\s+(\d+)", stderr),
        "coverage": _number(r"cov: (\d+)", stderr),
        "features": _number(r"ft: (\d+)", stderr),
        "edges": _number(r"PC tables \((\d+) PCs\)", stderr),
    }
    return result if done.returncode in (0, INTERRUPTED) else {**result, "crash": stderr[-1500:]}


def _number(pattern: str, text: str) -> int | None:
    """The last one."""
    matches = re.findall(pattern, text)
    return int(matches[-1]) if matches else None


def _match(pattern: str, text: str) -> str | None:
    match_ = re.search(pattern, text, re.MULTILINE)
    return None if match_ is None else match_[1]


def _answers(seconds: float, seed: int, over: threading.Event) -> dict[str, Any]:
    """Changes answers of agents. The orchestrator takes each one or refuses it with `AgentError`, and raises nothing
    else."""
    from sixbench.agent.answers import check
    from sixbench.agent.requests import REQUESTS
    from sixbench.agent.results import check_result
    from sixbench.model.errors import AgentError

    answers = json.loads(ANSWERS_FILE.read_text(encoding="utf-8"))
    choice = random.Random(seed)
    executions = refused = 0
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s and not over.is_set():
        answer = choice.choice(answers)
        changed = _changed(answer["answer"], choice)
        executions += 1
        try:
            if "workload" in answer:
                side = "client" if answer["op"] == "run" else "server"
                check_result(answer["workload"], side, answer["params"], changed, answer["op"])
            else:
                check(REQUESTS[answer["op"]].answer, changed, answer["op"])
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
