"""Reasons that several profiles have."""

from __future__ import annotations

NETWORKS, PORTS = "networks-256", "random-ports"
PREFIXES = ("prefix-48", NETWORKS, "prefix-126", "prefix-128")
MIXES = ("native-10", "native-50", "native-90")
EXTENSIONS = ("hop-by-hop", "destination-options", "routing", "fragment", "chain")
"""The frames that clauses ask for, by the names of `traffic`."""

BOTH = "both directions at once, at the same rate"
PLAIN = "the device has its plain configuration only"
RESET = "a device on this machine is a process or a namespace: a new one would be another device"
STATIC = "routes are static, and neighbours are resolved before frames are sent"
SETTLING = "a trial begins only after a check that no packets of the one before it are under way"
