"""Calibration: sixbench measures links whose truth is known, and says how far to trust its own numbers.

`metrics` has one file for each quantity: its truths, the links and the workloads that stand for them, and how a trial
is read. `design` makes one experiment of them, which `bench` runs like any other. `readings` takes its trials apart.
`assessment` computes bias, spread, coverage and trusted ranges, and `table`, `page` and `figure` show these. `null`
has comparisons whose truth is known, instead of links.

Called by `cli` only. It may import everything below it, and nothing else imports it.
"""
