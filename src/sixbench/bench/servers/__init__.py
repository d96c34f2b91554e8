"""Servers of others as the far ends of a run: what is found out before the first trial, and the trials.

`surveying` asks once before the first block and once after the last. `probes` has one file for each workload: what the
agent is asked, and what its attempts mean. `runner` takes the place of laboratories: it performs a trial by an agent in
this machine's own network namespace, without a privilege.
"""
