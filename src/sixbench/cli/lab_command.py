"""`sixbench lab` and `sixbench clean`: a network without an experiment, to try things by hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..model.exit_codes import Exit
from ..plan.loading import load_experiment
from . import completions
from .command_groups import with_subcommands
from .common import note, print_json, say
from .consent import require_consent
from .options import ALLOW_FLAG, ALLOW_PROGRAMS, JSON

if TYPE_CHECKING:
    from ..lab.registry import LabRecord
    from ..model.network import Blueprint
    from ..model.path import Path as ExperimentPath
    from ..plan.yaml_source import Source

lab_app = with_subcommands("Build a network and keep it up, to try things by hand.")

_READY = "ready"

WHICH_LAB: str | None = typer.Option(
    None, "--lab", metavar="NAME", help="Which lab, if several are up.", autocompletion=completions.labs
)


@lab_app.command("up")
def up(
    topology: str = typer.Argument(
        help="A topology or experiment file, or the name of a shipped experiment.",
        autocompletion=completions.experiments,
    ),
    lab: str = typer.Option("lab", "--lab", metavar="NAME", help="The name of this lab."),
    path: str | None = typer.Option(
        None, "--path", metavar="NAME", help="Install this path of the experiment (at the first level of each factor)."
    ),
    foreground: bool = typer.Option(
        False, "--foreground", help="Stay until Ctrl-C instead of going to the background."
    ),
    allow_programs: bool = ALLOW_PROGRAMS,
    json: bool = typer.Option(False, "--json", help="Print what is up as JSON."),
) -> int:
    """Build the network of a file and keep it up."""
    from ..lab import registry
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import UsageError
    from ..model.identifiers import NAME, NAME_RULE

    if not NAME.fullmatch(lab):
        raise UsageError(f"--lab {lab}: {NAME_RULE}")
    network, installed, source = _blueprint(topology, path)
    require_consent([] if installed is None else [installed], allowed=allow_programs)
    if any(other.name == lab and other.holder.alive for other in registry.all_labs()):
        raise UsageError(f'a lab "{lab}" is up already; take it down with: sixbench lab down --lab {lab}')
    enter_namespace_if_needed(sys.argv[1:])
    if foreground:
        from ..bench.hold import hold

        note(f"building {lab}; Ctrl-C takes it down")
        hold(network, lab, _say_ready, installed, source)
        return 0
    code = _start_holder(topology, lab, path, allow_programs)
    if code == 0:
        record = registry.find(lab)
        if json:
            print_json(_as_json([record]))
        else:
            _show(record)
    return code


def _say_ready() -> None:
    """Tells the process that started this one, which need not read any further."""
    print(_READY, flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _blueprint(file: str, name: str | None) -> tuple[Blueprint, ExperimentPath | None, Source]:
    """The network to build, the path that is installed in it, and the file that describes both. Raises `UsageError`."""
    from ..mechanisms import install
    from ..model.errors import UsageError
    from ..model.network import Blueprint
    from ..plan.experiment_file import read_topology_only
    from ..plan.shipped import find_experiment
    from ..plan.yaml_source import read_yaml

    source = read_yaml(find_experiment(file))
    if name is None:
        return Blueprint(topology=read_topology_only(source)), None, source
    experiment = load_experiment(file)
    if experiment.servers:
        raise UsageError(f"{file} has servers, and no network that could be built; see sixbench plan {file}")
    path = next((path for path in experiment.paths if path.name == name), None)
    if path is None:
        names = ", ".join(path.name for path in experiment.paths)
        raise UsageError(f'--path {name}: {experiment.file} has no path "{name}"; it has {names}')
    return install(path, experiment.topologies[0], experiment.between), path, source


def _start_holder(topology: str, lab: str, path: str | None, allow_programs: bool) -> int:
    """Starts `lab up --foreground` in a session of its own and waits until the network is up."""
    from ..lab.own_program import own_command

    holder = subprocess.Popen(
        [
            *own_command("lab", "up", topology, "--lab", lab, "--foreground"),
            *(["--path", path] if path is not None else []),
            *([ALLOW_FLAG] if allow_programs else []),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert holder.stdout is not None
    assert holder.stderr is not None
    if holder.stdout.readline().strip() == _READY:
        return 0
    errors = holder.stderr.read()
    code = holder.wait()
    for line in errors.splitlines():
        if line.startswith("sixbench:") or code == Exit.USAGE:
            note(line)
    return code or 3


def _as_json(labs: list[LabRecord]) -> dict[str, Any]:
    from dataclasses import asdict

    return {"schema": "sixbench.labs/1", "labs": [asdict(lab) for lab in labs]}


def _show(record: LabRecord) -> None:
    say(f"{record.name}: up, held by process {record.holder.pid}")
    for name, node in record.nodes.items():
        ends = [f"{end[1]} on {link}" for link, both in record.links.items() for end in both if end[0] == name]
        say(f"  {name} (process {node.pid}): {', '.join(ends)}")
    option = "" if record.name == "lab" else f" --lab {record.name}"
    first = next(iter(record.nodes))
    say(f"try: sixbench lab exec{option} {first} ping {list(record.nodes)[-1]}")


@lab_app.command("list")
def list_(json: bool = JSON) -> None:
    """List the labs that are up."""
    from ..lab import registry

    labs = [lab for lab in registry.all_labs() if lab.holder.alive]
    if json:
        print_json(_as_json(labs))
    elif not labs:
        note("no lab is up")
    else:
        for lab in labs:
            _show(lab)


@lab_app.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def exec_(
    node: str = typer.Argument(help="The node.", autocompletion=completions.lab_nodes),
    command: list[str] = typer.Argument(help="The command to run in it."),
    lab: str | None = WHICH_LAB,
) -> None:
    """Run a command inside a node, in its network namespace.

    The names of nodes resolve there, in both families, and so do NODE-INTERFACE, such as server-eth0. For that the
    command has a hosts file of its own, or where a path has DNS64 a resolver. Those of the machine stay as they are.
    """
    from ..lab import registry

    words = command[1:] if command and command[0] == "--" else command
    arguments = _enter(lab, node)
    if words:
        words = _with_names(arguments, registry.etc_of(registry.find(lab).name, node), words)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(arguments[0], [*arguments, *words])


def _with_names(arguments: list[str], files: dict[str, str], words: list[str]) -> list[str]:
    """The command that sees the names of nodes. Where the machine refuses that: the plain command, and a line says
    why."""
    from ..lab.names import entering

    tried = subprocess.run([*arguments, *entering(files, ["true"])], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return entering(files, words)
    why = " ".join(tried.stderr.split()) or f"unshare ended with {tried.returncode}"
    note(f"sixbench: names of nodes do not resolve in this command: {why}")
    return words


@lab_app.command("capture")
def capture(
    where: str = typer.Argument(
        metavar="NODE[:INTERFACE]|LINK", help="A link (seen from its first end), or a node with an interface."
    ),
    out: Path = typer.Option(..., "--out", "-o", metavar="FILE", help="The pcap file to write."),
    lab: str | None = WHICH_LAB,
    seconds: float | None = typer.Option(
        None, "--seconds", metavar="S", help="Stop after this many seconds; default: at Ctrl-C."
    ),
    count: int | None = typer.Option(None, "--count", "-c", metavar="N", help="Stop after this many packets."),
) -> int:
    """Capture packets on a link or interface into a pcap file."""
    import shutil

    from ..lab import registry
    from ..model.errors import CapabilityError, UsageError
    from ..store import replacing

    if shutil.which("tcpdump") is None:
        raise CapabilityError("capturing needs the program tcpdump (Debian package tcpdump)")
    record = registry.find(lab)
    node, interface = _place(record, where)
    if count is not None and count < 1:
        raise UsageError("--count must be at least 1")
    limit = ["-c", str(count)] if count is not None else []
    with replacing(out) as file:
        tcpdump = subprocess.Popen(
            [*_enter(lab, node), "tcpdump", "-i", interface, "-n", "-U", "-Z", "root", "-w", "-", *limit],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert tcpdump.stderr is not None
        try:
            tcpdump.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            tcpdump.send_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass
        summary = tcpdump.stderr.read()
        code = tcpdump.wait()
        if code != 0:
            raise CapabilityError(f"tcpdump on {interface} of {node} ended with {code}: {' '.join(summary.split())}")
    note(f"written: {out} ({next((line for line in summary.splitlines() if 'captured' in line), 'captured')})")
    return 0


@lab_app.command("down")
def down(
    lab: str | None = WHICH_LAB,
) -> int:
    """Take a lab down, with everything in it."""
    from ..lab import registry
    from ..model.errors import LabError

    record = registry.find(lab)
    os.kill(record.holder.pid, signal.SIGTERM)
    deadline = time.monotonic() + 20
    while record.holder.alive or any(node.alive for node in record.nodes.values()):
        if time.monotonic() > deadline:
            raise LabError(f'the lab "{record.name}" (process {record.holder.pid}) has not gone down after 20 s')
        time.sleep(0.01)
    registry.remove(record.name)
    note(f"{record.name}: down")
    return 0


def clean() -> int:
    """Remove what a crash left behind.

    Only what sixbench made is removed. Labs that are up stay up.
    """
    from ..lab import registry

    removed = registry.clean()
    for path in removed:
        note(f"removed: {path}")
    if not removed:
        note("nothing was left over")
    return 0


def _enter(lab: str | None, node: str) -> list[str]:
    """The words that run a command in a node: `nsenter` into its process's namespaces."""
    from ..lab import registry
    from ..model.errors import UsageError

    record = registry.find(lab)
    if node not in record.nodes:
        raise UsageError(f'the lab "{record.name}" has no node "{node}"; it has {", ".join(record.nodes)}')
    process = record.nodes[node]
    if not process.alive:
        raise UsageError(f'the node "{node}" of the lab "{record.name}" is gone; take the lab down and up again')
    spaces = ["--user", "--preserve-credentials", "--net"] if record.user_namespace else ["--net"]
    return ["nsenter", "--target", str(process.pid), *spaces, "--"]


def _place(record: LabRecord, where: str) -> tuple[str, str]:
    from ..model.errors import UsageError

    if where in record.links:
        node, interface = record.links[where][0]
        return node, interface
    node, _, interface = where.partition(":")
    if node in record.nodes:
        interfaces = [end[1] for both in record.links.values() for end in both if end[0] == node]
        if interface in interfaces:
            return node, interface
        if not interface and len(interfaces) == 1:
            return node, interfaces[0]
        raise UsageError(f'choose an interface of "{node}": {", ".join(f"{node}:{name}" for name in interfaces)}')
    raise UsageError(f'"{where}" is neither a link ({", ".join(record.links)}) nor a node ({", ".join(record.nodes)})')
