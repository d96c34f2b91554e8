"""`sixbench` and `python -m sixbench`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command line. Returns the exit code, one of `model.exit_codes`."""
    import signal

    # Until the commands are imported, Ctrl-C ends the process without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as command_line

    return command_line()


if __name__ == "__main__":
    # `python -m` looks for modules in the current directory first, where anyone's files may be.
    here = "/proc/self/cwd"
    if not sys.flags.safe_path and os.path.realpath(sys.path[0] or here) == os.path.realpath(here):
        del sys.path[0]
    sys.exit(main())
