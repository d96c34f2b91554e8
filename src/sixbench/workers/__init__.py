"""Whole blocks of a run on any number of machines (workers), which Dask.distributed places (docs/many-machines.md).

An orchestrator (`sweep`) hands out blocks and writes what comes back into the run directory, which alone is the truth.
A worker (`measuring`) measures one block at a time, on a machine that it has to itself. What they send each other
(`messages`) is JSON and bytes, which the receiver reads as it reads a run directory: as a stranger's.

Dask is in `dask_client`, `dask_worker`, `scheduler` and `plain` only, and all of its connections are under TLS with one
key (`key`). What goes over them is plain data, and nothing is unpickled (`plain`). Dask may run a task twice, or again
after its result was there. So nothing here believes that a block comes once.

It may import `bench` and everything below; only `cli` imports it.
"""
