"""From a file to a plan: YAML to `Experiment` (errors with `file:line`), `Experiment` to trials; automatic addressing.

Reads files, touches nothing else on the machine. Imports `model` only.
"""
