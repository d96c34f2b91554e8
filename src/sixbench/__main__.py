"""`sixbench` and `python -m sixbench`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command line. Returns the exit code, one of `model.exit_codes`."""
    # Until the commands are imported, Ctrl-C ends the process without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as command_line

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
