"""The tests of the benchmarking RFCs: which trials they ask for, and what the trials say.

Everything here is pure. A test is given a function that measures, and asks it for one trial after the other; `bench`
hands it one that measures in a laboratory, and tests of sixbench one that computes. What a test says is computed from
the trials of a run that was read, so a report needs neither a network nor the search's library.

==============  ===================================================================================
`goal`          what makes a rate a lower or an upper bound of a throughput (RFC 9971)
`search`        the search for a throughput, by the library of MLRsearch's authors
`lengths`       how long trials are, and which goals a search has, in full and with `--quick`
`sizes`         the frame sizes of each profile, and what a line carries of them
`design`        the experiment that is made of a user's: a combination for each test and frame size
`traffic`       the frames that differ from plain ones, over which tests are repeated; `traffic_design` says where, and
                `traffic_clauses` whether they were
`throughput`    the test of throughput, and what its trials say
`clauses`       what a clause is, and what decides whether a run meets it; `profiles` has them
`conformance`   the clauses of a run's profile, decided
==============  ===================================================================================

It may import what is below `bench` and `report`, but neither `lab` nor `agent`.
"""
