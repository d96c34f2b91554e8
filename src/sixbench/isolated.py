"""Started as a file by isolated Python, which is told where to look for modules: `lab.own_program` has the command."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path[:] = sys.argv.pop(1).split(os.pathsep)
    from sixbench.__main__ import main

    sys.exit(main())
