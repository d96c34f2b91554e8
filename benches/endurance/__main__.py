"""The command: `python -m endurance [--only PART,...] [--out DIR] [--count N] ...`."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from part_names import names_among
from provenance import provenance

from . import host
from .parts import PARTS


def main() -> int:
    """Runs the parts, each in a host of its own; returns 1 where one found something wrong."""
    parser = argparse.ArgumentParser(prog="make endurance", description="sixbench under harm", allow_abbrev=False)
    parser.add_argument("--only", type=names_among(PARTS), default=list(PARTS), help=f"of {','.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=Path("runs/endurance"), help="where the JSON files go")
    parser.add_argument("--scale", type=float, default=1.0, help="share of each part's count or length (1)")
    parser.add_argument("--victims", type=lambda text: text.split(","), default=[], help="only these, of kills")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        return _inside(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the part hears it too, and writes what it has counted
    arguments.out.mkdir(parents=True, exist_ok=True)
    codes = [_part(name, arguments) for name in arguments.only]
    return max(codes)


def _part(name: str, arguments: argparse.Namespace) -> int:
    print(f"endurance: {name}", flush=True)
    words = ["--inside", name, "--out", str(arguments.out.resolve()), "--scale", str(arguments.scale)]
    words += ["--seed", str(arguments.seed), *(["--victims", ",".join(arguments.victims)] if arguments.victims else [])]
    if PARTS[name].needs_host:
        return host.inside(words)
    program = ["setpriv", "--pdeathsig", "TERM", sys.executable, "-m", "endurance", *words]
    return subprocess.run(program, check=False).returncode


def _inside(arguments: argparse.Namespace) -> int:
    part = PARTS[arguments.inside]
    started_s = time.time()
    # What was found is written before the folder is cleaned, which may fail where the part was interrupted.
    with tempfile.TemporaryDirectory(prefix="endurance-", ignore_cleanup_errors=True) as scratch:
        found = part.run(Path(scratch), arguments.scale, arguments.seed, arguments.victims)
        wrong = part.wrong(found)
        result = {"part": arguments.inside, **provenance(started_s), **found, "wrong": wrong}
        file = arguments.out / f"{arguments.inside}.json"
        file.write_text(json.dumps(result, indent=1) + "\n")
    print(f"endurance: {arguments.inside}: {'; '.join(wrong) if wrong else 'nothing wrong'} ({file})", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
