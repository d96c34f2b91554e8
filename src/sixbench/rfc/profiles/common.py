"""Reasons that several profiles have."""

from __future__ import annotations

ONE_NETWORK = "frames go between one pair of networks"
BOTH = "both directions at once, at the same rate"
FIXED_PORTS = "one pair of UDP ports, but for the test overload, which has 256 pseudo-random ones"
PLAIN = "the device has its plain configuration only"
RESET = "a device of this machine is a process or a namespace: made anew, it would be another one"
EXTENSIONS = "frames have no extension headers"
MIXES = "each path is tested by itself"
STATIC = "routes are static, and neighbours are asked for before frames go"
SETTLING = "a trial begins once nothing of the one before it is under way, which is looked at"
