"""The options of a program or an emulated machine under test, and what they may be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address

from ..model.command_text import MAX_COMMAND, read_command, read_files, require_room
from ..model.kernels import is_kernel_name, no_such_kernel
from ..model.parameter import Parameter
from ..model.quoting import shown
from ..model.topology import Family

DEVICE_ADDRESS = "own"
"""The device's own address on the link by which it sends."""

MAX_SETUP = 64
MAX_FILES = 32
LONGEST_READY_NS = 50 * 10**9
"""A step of building a network has 60 s."""

_INTERFACE = re.compile(r"(?!\.{1,2}\Z)[^\s/:]{1,15}")
"""Linux's dev_valid_name."""
FAMILIES: Mapping[str, tuple[Family, Family]] = {
    "4": (4, 4),
    "6": (6, 6),
    "6 to 4": (6, 4),
    "4 to 6": (4, 6),
}
"""On the client's side and on the server's."""


def _command(value: object) -> str:
    return read_command(value, "tayga -d -c {dir}/tayga.conf")


def _files(value: object) -> str:
    try:
        files = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        files = None
    if not isinstance(files, dict):
        raise ValueError(f"{shown(value)} is not a mapping of names of files to their content")
    text = json.dumps(read_files(files, MAX_FILES))
    require_room(len(text))
    return text


def _kernel(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or not is_kernel_name(value):
        raise ValueError(str(no_such_kernel(value if isinstance(value, str) else shown(value))))
    return value


def _setup(value: object) -> str:
    """The commands as JSON: a value is one text."""
    try:
        lines = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        lines = None
    if not isinstance(lines, list):
        raise ValueError(f"{shown(value)} is not a list of commands, such as [modprobe jool]")
    if len(lines) > MAX_SETUP:
        raise ValueError(f"{len(lines)} commands are more than {MAX_SETUP}")
    for line in lines:
        if not isinstance(line, str) or not line.strip() or not line.isprintable() or len(line) > MAX_COMMAND:
            raise ValueError(f"{shown(line)} is not a command of one line, such as modprobe jool")
    return json.dumps(lines)


def _families(value: object) -> str:
    text = " to ".join(map(str, value)) if isinstance(value, list) else str(value)
    if isinstance(value, bool) or text not in FAMILIES:
        raise ValueError(f"{shown(value)} is no family: give 4, 6, or the client's and the server's, such as [6, 4]")
    return text


def _address(value: object) -> str:
    if value == DEVICE_ADDRESS:
        return DEVICE_ADDRESS
    try:
        if not isinstance(value, str) or "%" in value:
            raise ValueError
        return str(ip_address(value))
    except ValueError:
        raise ValueError(f"{shown(value)} is neither an address nor {DEVICE_ADDRESS}") from None


def _interface(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or not _INTERFACE.fullmatch(value):
        raise ValueError(f"{shown(value)} cannot name an interface: at most 15 characters without spaces and slashes")
    return value


START = Parameter(
    name="start",
    kind="command",
    doc="the command that starts the program, which must stay in the foreground; no shell reads it",
    parser=_command,
)
READY = Parameter(
    name="ready",
    kind="command",
    doc="the command that ends with 0 once the program is ready; it is repeated until then",
    parser=_command,
)
FILES = Parameter(
    name="files",
    kind="files",
    doc="the files in the program's private directory {dir}: their content by name",
    parser=_files,
    unless_given="none",
)
FAMILY = Parameter(
    name="family",
    kind="families",
    doc="the family of packets, or that on the client's side and that on the server's",
    default="6",
    parser=_families,
)
PREFIX = Parameter(
    name="prefix",
    kind="ipv6-prefix",
    doc="the IPv6 prefix in which the device embeds IPv4 addresses (RFC 6052); it is routed to the device's node",
    unless_given="it embeds none",
)
CLIENT_AS = Parameter(
    name="client-as",
    kind="address",
    doc="the client's address as the server sees it; own: that of the device's node",
    unless_given="the client's own, or embedded in prefix",
    parser=_address,
)
SERVER_AS = Parameter(
    name="server-as",
    kind="address",
    doc="the server's address as the client knows it",
    unless_given="the server's own, or embedded in prefix",
    parser=_address,
)
INTERFACE = Parameter(
    name="interface",
    kind="interface",
    doc="the interface that the program makes; it is set up, and prefix, client-as and server-as are routed into it",
    parser=_interface,
    unless_given="the program sets up its routes itself",
)
HOPS = Parameter(
    name="hops",
    kind="count",
    doc="decrease of the hop limit behind a device that changes the family",
    minimum=0,
    maximum=64,
    unless_given="hop limits behind it are not checked",
)
NOBODY, LINUX, ITS_OWN = "none", "linux", "own"
STATE = Parameter(
    name="state",
    kind="choice",
    choices=(NOBODY, LINUX, ITS_OWN),
    doc=(
        "holder of the state of connections: none; Linux in the program's node, whose table is counted, and "
        "emptied before each trial; or the device itself"
    ),
    default=NOBODY,
)
DNS64 = Parameter(
    name="dns64",
    kind="flag",
    doc="whether the program is a resolver that makes addresses in prefix (RFC 6147), for the workload dns64",
    default=False,
)
MEMORY = Parameter(
    name="memory",
    kind="size",
    doc="largest memory of each process of the program (RLIMIT_DATA)",
    minimum=1 << 20,
    maximum=1 << 40,
    default=512 << 20,
)
READY_WITHIN = Parameter(
    name="ready-within",
    kind="duration",
    doc="longest time until the program is ready",
    minimum=10**6,
    maximum=LONGEST_READY_NS,
    default=10 * 10**9,
)
KERNEL = Parameter(
    name="kernel",
    kind="kernel",
    doc="the kernel of the emulated machine: debian-5.10, debian-6.1, debian-6.12, host, or FILE:MODULES",
    parser=_kernel,
)
SETUP = Parameter(
    name="setup",
    kind="commands",
    doc="the commands that are run in the machine once it has addresses and routes, in order; a shell reads each",
    parser=_setup,
    unless_given="none: it forwards",
)
GUEST_MEMORY = replace(MEMORY, doc="the memory of the machine", minimum=128 << 20, maximum=3 << 30)
GUEST_READY_WITHIN = replace(
    READY_WITHIN,
    doc="longest time until the machine forwards",
    minimum=10**9,
    maximum=600 * 10**9,
    default=120 * 10**9,
)
OPTIONS = (
    *(START, READY, FILES, FAMILY, PREFIX, CLIENT_AS, SERVER_AS),
    *(INTERFACE, HOPS, STATE, DNS64, MEMORY, READY_WITHIN),
)
MAPPING = (FAMILY, PREFIX, CLIENT_AS, SERVER_AS, HOPS, STATE)
"""Those that say what a device makes of packets, which equipment has too."""
IN_GUEST = (KERNEL, SETUP, GUEST_MEMORY, GUEST_READY_WITHIN)
"""Those that say what a machine is, and how it is set up."""
STARTING = tuple(option for option in OPTIONS if option not in MAPPING)
"""Those that say how a program is started."""
