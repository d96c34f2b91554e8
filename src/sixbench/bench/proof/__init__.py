"""The proof of a trial: what was observed of it, held against what its path claims. No agent is asked here.

`case` is a trial that is to be judged, and the testimony of a witness (`bench.witnesses`). `packets` judges the packets
and counters of each link, `tunnels`, `fragments`, `losses`, `emulation`, `link_state` and `strays` judge what their
names say. The witnesses and `mechanism_doctor` of `bench` call them with what they have observed.
"""
