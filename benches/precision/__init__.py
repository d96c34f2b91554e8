"""`make bench-precision`: how precise answers are, and how often they are right, by the minutes that were spent.

==============  ================================================================================================
`differences`   networks that differ by a known amount, as experiments
`ours`          sixbench measures them for a given time
`careful`       a careful user measures them with iperf3 or sockperf: in turn, with a mean and its t interval
`curve`         pure: how wide the intervals are after so many seconds, and how many verdicts are right
`parts`         the parts, each with its time: a new one is a line there
`shipped`       the shipped experiments: how many of their answers and claims are decided, in how many minutes
`document`      the tables of docs/measurements/precision.md, from the JSON file beside it
==============  ================================================================================================

A part writes a JSON file. Nothing here is asserted.
"""
