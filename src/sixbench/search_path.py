"""`python -m sixbench`: takes the current directory, where anyone's files may be, out of the places of modules.

It is imported before anything else of this package, and imports nothing that is not part of the interpreter, such as
`__future__`. Modules that Python itself imports before it comes to this package are out of reach: those of `runpy`.
"""

import sys


def leave_current_directory() -> None:
    """Does so while `python -m` looks for a module of this package: no other program's places are touched."""
    # As Python documents, the first argument is `-m` until the module is found. The word before the rest names it.
    if sys.argv[:1] != ["-m"] or sys.flags.safe_path:
        return
    name = sys.orig_argv[len(sys.orig_argv) - len(sys.argv)]
    if name.split(".")[0].endswith("sixbench"):
        del sys.path[0]


leave_current_directory()
