"""The command: `python -m endurance [--only PART,...] [--out DIR] [--count N] ...`."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

from part_names import names_among
from provenance import provenance

from . import host
from .keeping import STOPS, Kept, PartResults, hear_signals
from .parts import PARTS


def main() -> int:
    """Runs the parts, each in a host of its own; returns 1 where one found something wrong, 130 where one was stopped
    before it did."""
    parser = argparse.ArgumentParser(prog="make endurance", description="sixbench under harm", allow_abbrev=False)
    parser.add_argument("--only", type=names_among(PARTS), default=list(PARTS), help=f"of {','.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=Path("runs/endurance"), help="where the JSON files go")
    parser.add_argument("--scale", type=float, default=1.0, help="share of each part's count or length (1)")
    parser.add_argument("--victims", type=lambda text: text.split(","), default=[], help="only these, of kills")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        hear_signals()
        return _inside(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    codes = []
    for name in arguments.only:
        codes.append(_part(name, arguments))
        if _ENDED:
            break
    return max(codes, key=lambda code: (code not in (0, 130), code))


def _part(name: str, arguments: argparse.Namespace) -> int:
    print(f"endurance: {name}", flush=True)
    words = ["--inside", name, "--out", str(arguments.out.resolve()), "--scale", str(arguments.scale)]
    words += ["--seed", str(arguments.seed), *(["--victims", ",".join(arguments.victims)] if arguments.victims else [])]
    program = host.words_inside(words) if PARTS[name].needs_host else host.words_beside(words)
    # A group of its own: what is sent to this process reaches it once, from a terminal as from `kill`.
    process = subprocess.Popen(program, process_group=0)

    def hand_on(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            _ENDED.append(number)
        if process.poll() is None:
            os.killpg(process.pid, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, hand_on)
    return process.wait()


_ENDED: list[int] = []
"""SIGTERM, if it came: no other part begins then."""


def _inside(arguments: argparse.Namespace) -> int:
    part, name = PARTS[arguments.inside], arguments.inside
    started_s = time.time()

    def complete(result: PartResults) -> PartResults:
        return {"part": name, **provenance(started_s), **result, "wrong": part.wrong(result)}

    kept = Kept(arguments.out / f"{name}.json", complete)
    # What was found is written before the folder is cleaned, which may fail where the part was interrupted.
    with tempfile.TemporaryDirectory(prefix="endurance-", ignore_cleanup_errors=True) as scratch:
        done: PartResults | None = None
        try:
            done = part.run(Path(scratch), arguments.scale, arguments.seed, arguments.victims, kept.keep)
        except STOPS:
            print(f"endurance: {name}: stopped", flush=True)
        result = kept.end(done)
    if result is None:
        print(f"endurance: {name}: nothing was found before", flush=True)
        return 130
    words = "; ".join(result["wrong"]) or "nothing wrong"
    print(f"endurance: {name}: {words}{' until it was stopped' if result.get('stopped') else ''} ({kept.file})")
    return 1 if result["wrong"] else 130 if result.get("stopped") else 0


if __name__ == "__main__":
    sys.exit(main())
