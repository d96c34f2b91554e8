"""The basic types: units, topology, paths, workloads, experiments, trials, findings, errors.

No I/O, no clock, no randomness; imported by every other layer and importing none of them.
"""
