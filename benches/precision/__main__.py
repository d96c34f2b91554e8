"""The command: `python -m precision [--only PART,...] [--out DIR] [--minutes N] [--scale SHARE] ...`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from part_names import names_among
from provenance import provenance

from sixbench.model.errors import SixbenchError

from .document import figures, take
from .parts import NAMES, measure
from .shipped import CHOSEN


def main() -> int:
    """Measures part by part, each into a JSON file, and prints the tables."""
    arguments = _arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    measured: dict[str, Any] = {}
    for name in arguments.only:
        print(f"bench-precision: {name}", file=sys.stderr, flush=True)
        started_s = time.time()
        with tempfile.TemporaryDirectory(prefix="precision-") as scratch:
            try:
                part_results = measure(name, Path(scratch), arguments.scale, arguments.minutes, arguments.shipped)
            except SixbenchError as error:
                print(f"bench-precision: {name}: {error}", file=sys.stderr)
                return error.exit_code
            except KeyboardInterrupt:
                return 130
        file = arguments.out / f"{name}.json"
        result = {"part": name, **provenance(started_s), **part_results}
        file.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        take(measured, "now", result)
        print(f"bench-precision: {name}: {result['took_s']} s ({file})", file=sys.stderr, flush=True)
    print(figures(measured))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench-precision", description="Precision per minute", allow_abbrev=False
    )
    parser.add_argument("--only", type=names_among(NAMES), default=list(NAMES), help=f"of {','.join(NAMES)}")
    parser.add_argument("--out", type=Path, default=Path("runs/bench-precision"), help="where the JSON files go")
    parser.add_argument("--minutes", type=float, help="of each part with known differences, instead of its own time")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the time of parts with known differences (1)"
    )
    parser.add_argument(
        "--shipped",
        type=lambda text: text.split(","),
        default=list(CHOSEN),
        help=f"shipped experiments, such as {','.join(CHOSEN)!r}",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
