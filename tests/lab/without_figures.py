"""The command, with a report that has no figures. Drawing them is three quarters of what a short run takes.

The unit tests draw every figure, and runs of test_notebook, test_conditions and test_processors have them.
"""

from __future__ import annotations

import sys

from sixbench.__main__ import main
from sixbench.report import html

if __name__ == "__main__":
    html.drawings = lambda run, analysis: []
    sys.exit(main())
