"""The commands. Only this layer prints: results to standard output, progress and messages to standard error.

Each command imports what it needs when it runs, so that `sixbench --help` is quick.
"""

from .main import main
