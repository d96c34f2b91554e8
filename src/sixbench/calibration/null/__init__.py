"""False alarms and power: comparisons whose truth is known, made by the ordinary machinery.

A *null* comparison sets a path against itself under another name, or IPv4 against IPv6 where theory says what headers
cost. Every difference that it declares is false. A *changed* comparison gives one of the two paths a link that is
slower by a known share. Every difference that it does not declare is missed. Each comparison is a run of its own,
with its own seed, blocks and run directory, on networks that are kept up from one to the next.

=============  ==================================================================================
`design`       which comparisons, as experiments
`measure`      runs what is not yet done
`judge`        how many differences were declared, with intervals; what could have been found
`table`        that in sentences and tables
`figure`       that in a figure
`document`     that in a file
=============  ==================================================================================
"""
