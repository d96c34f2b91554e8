"""Reasons that several profiles have."""

from __future__ import annotations

NO_TEST = "sixbench does not have this test yet"

OWN_ADDRESSES = "the addresses are those of the experiment, in namespaces that nothing else reaches"
ONE_NETWORK = "frames go between one pair of networks"
BOTH = "both directions at once, at the same rate"
FIXED_PORTS = "one pair of UDP ports"
