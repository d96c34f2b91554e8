"""`make endurance`: what sixbench promises when it is killed, and when disks, clocks and machines misbehave.

Each part does harm many times and counts what came of it. Nothing here is a unit test: a part takes minutes to hours.
The counts go to a JSON file each, and `document` makes the table of docs/measurements/reliability.md from these files.

A part that does harm runs in a throw-away host (`host`): network, mount and process namespaces of its own with a /run
and a /sys/fs/bpf of its own. So whatever a part leaves is seen, and nothing outside is touched.

Ctrl-C goes on to the next victim or fault, and what was counted until then is written.
"""
