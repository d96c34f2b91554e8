"""The proof of a trial: what was observed of it, held against what its path claims. No agent is asked here.

`packets` judges the packets and counters of each link, `tunnels`, `fragments`, `losses`, `emulation`, `link_state` and
`strays` judge what their names say. `trial` and `mechanism_doctor` of `run` call them with what they have observed.
"""
