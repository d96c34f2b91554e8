"""The scheduler: blocks, trials, evidence, validity, resume. The only layer where networks and agents meet.

`laboratory` builds a network out of agents; `trial` runs one trial in it; `proof` judges it by what was observed;
`scheduler` runs them all and stops.
"""
