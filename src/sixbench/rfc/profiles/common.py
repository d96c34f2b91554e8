"""Reasons that several profiles have."""

from __future__ import annotations

NETWORKS, PORTS = "networks-256", "random-ports"
PREFIXES = ("prefix-48", NETWORKS, "prefix-126", "prefix-128")
MIXES = ("native-10", "native-50", "native-90")
EXTENSIONS = ("hop-by-hop", "destination-options", "routing", "fragment", "chain")
"""The frames that clauses ask for, by the names of `traffic`."""

BOTH = "both directions at once, at the same rate"
PLAIN = "the device has its plain configuration only"
RESET = "a device of this machine is a process or a namespace: made anew, it would be another one"
STATIC = "routes are static, and neighbours are asked for before frames go"
SETTLING = "a trial begins once nothing of the one before it is under way, which is looked at"
