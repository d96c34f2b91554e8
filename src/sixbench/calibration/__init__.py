"""Calibration: sixbench measures links whose truth is known, and says how far its own numbers may be trusted.

`metrics` has one file for each quantity: its truths, the links and the workloads that stand for them, and how a trial
is read. `design` makes one experiment of them, which `run` runs like any other; `readings` takes the trials apart;
`assessment` makes bias, spread, coverage and trusted ranges of them; `table`, `page` and `figures` show these.
`null` has comparisons whose truth is known, instead of links.

Called by `cli` only. May import everything below it; nothing imports it.
"""
