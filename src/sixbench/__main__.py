"""`sixbench` and `python -m sixbench`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command line. Returns the exit code, one of `model.exit_codes`."""
    import signal

    # Until the commands are imported, an interrupt ends the process at once, because nothing is made yet. When the
    # command has ended, its exit code stands.
    unhandled = (signal.SIG_DFL, signal.default_int_handler)
    ours = [
        caught for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(caught) in unhandled
    ]
    for number in ours:
        signal.signal(number, _leave)
    from .cli import main as command_line
    from .cli.standard_output import guard_standard_streams

    guard_standard_streams()
    try:
        return command_line()
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_IGN)


def _leave(number: int, frame: object) -> None:
    os.write(2, b"sixbench: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
