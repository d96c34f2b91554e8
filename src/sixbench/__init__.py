"""sixbench: the bench for IPv4, IPv6 and everything between.

Layers, imports go down only (held by `make lint`)::

    cli -> run | report -> analysis -> lab | agent | plan | store | stats | theory -> model
"""

__version__ = "0.1.0"
