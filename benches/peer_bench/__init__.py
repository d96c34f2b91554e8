"""`make bench-peers`: our generator and clocks beside those of other tools, on one machine, in one run.

Two namespaces, a veth pair for super-packets and one for packets, both families. One measurement is one contender (a
tool with the options that it is run with) in one comparison; a round measures all contenders of a comparison one after
the other, the next round in the reverse order. What is compared is the ratio of two values of one round.

=================  ===============================================================================================
`contender`        what a contender is, as values: commands or a trial, and what it says of itself
`tools`            one file a tool: its contenders, and how its output is read
`comparisons`      what is compared, by which yardstick, and the targets
`schedule`         who runs when
`pair`             the two namespaces; one measurement from start to end
`counters`         the kernel's counters of a namespace, the yardstick that is the same for all tools
`capture`          packets with the kernel's timestamps, of tcpdump, and the distances between them
`priority`         measuring on a machine that others use
`memory`           the most memory that processes had
`verdicts`         values to ratios with intervals, and whether targets are met
`results`          all of a run as JSON
`tables`, `figure` the same for people
=================  ===============================================================================================

A new tool is a file in `tools` and a line in its list.
"""
