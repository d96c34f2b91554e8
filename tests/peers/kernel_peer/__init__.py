"""An independent peer: Debian's `user-mode-linux`, a Linux kernel that runs as a program, with its own `sit`,
`ip6_tunnel`, `ip_gre` and netem. Nothing of sixbench is in its data path. See docs/peers.md.

`initramfs` makes what it boots from, `uml` starts it and runs commands in it, `ends` are the two sides of a tunnel,
`cases` the tunnels, `wire` reads what crossed a link by tcpdump and tshark.
"""

from .cases import CASES, Case
from .ends import TunnelEnd, UmlEnd
from .initramfs import missing_programs
from .process import PeerError, Result
from .tunnels import Tunnel
from .uml import Job, UmlPeer

__all__ = [
    "CASES",
    "Case",
    "Job",
    "PeerError",
    "Result",
    "Tunnel",
    "TunnelEnd",
    "UmlEnd",
    "UmlPeer",
    "missing_programs",
]
