"""Consent to what an experiment may not have by itself: commands of programs under test and kernels, which may be
anyone's, connections to the hosts that a run directory names, and more than the usual pace towards servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..model.addresses import is_private
from ..model.kernels import is_kernel_file
from ..model.quoting import visible
from .options import ALLOW_FLAG, ALLOW_HOSTS_FLAG, MEAN_IT_FLAG, MINE_FLAG

if TYPE_CHECKING:
    from ..model.experiment import Combination, Experiment
    from ..model.path import Path
    from ..model.survey import Survey

MAX_SHOWN = 100
MOST_HOSTS = 8


def commands_by_path(paths: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """The commands that an experiment would run, by the name of the path, each once."""
    from ..mechanisms import commands_of

    return {path.name: commands for path in paths if path.aa_of is None and (commands := commands_of(path))}


def kernel_files(paths: Iterable[Path], kernels: Iterable[str] = ()) -> dict[str, str]:
    """The first kernel from files that each key of an experiment names."""
    from ..mechanisms import kernel_file_of

    of_runs = next(filter(is_kernel_file, kernels), None)
    named = ((f"paths.{path.name}", kernel_file_of(path)) for path in paths if path.aa_of is None)
    return {key: name for key, name in (("kernels", of_runs), *named) if name is not None}


def require_consent(
    paths: Iterable[Path],
    kernels: Iterable[str] = (),
    *,
    allowed: bool,
    combinations: Iterable[Combination] = (),
) -> None:
    """Raises `UsageError` where an experiment has commands or kernels that the command line does not allow. A run
    directory never has the consent: whoever goes on with it gives it again.

    Args:
        kernels: those in which the experiment itself says that it runs, and not the command line.
        combinations: those of its workloads, which may have servers and clients of others.
    """
    from ..mechanisms import commands_of_workloads
    from ..mechanisms.guest import GUEST
    from ..model.errors import UsageError

    if allowed:
        return
    paths = list(paths)
    texts = commands_by_path(paths)
    for key, kernel in kernel_files(paths, kernels).items():
        raise UsageError(
            f"{key} boots a kernel from files, {visible(kernel)}, and QEMU does not promise to contain malicious code. "
            f"If it is yours, allow it with {ALLOW_FLAG}"
        )
    for workload, commands in commands_of_workloads(combinations).items():
        shown = visible(commands[0])[:MAX_SHOWN]
        raise UsageError(
            f"workloads.{workload} runs a program of the experiment, with all rights of whoever runs sixbench: "
            f"{shown}. Read it as you would read a script (sixbench plan shows all of it), then allow it with "
            f"{ALLOW_FLAG}"
        )
    if not texts:
        return
    name, commands = next(iter(texts.items()))
    shown = visible(commands[0])[:MAX_SHOWN]
    in_guest = next(path.mechanism for path in paths if path.name == name) == GUEST.name
    where = (
        "commands of the experiment in an emulated machine, and QEMU does not promise to contain malicious code"
        if in_guest
        else "a program of the experiment, with all rights of whoever runs sixbench"
    )
    more = f" (and {len(texts) - 1} more)" if len(texts) > 1 else ""
    raise UsageError(
        f"paths.{name}{more} runs {where}: {shown}. "
        f"Read it as you would read a script (sixbench plan shows all of it), then allow it with {ALLOW_FLAG}"
    )


def require_consent_to_run(experiment: Experiment, *, allowed: bool, chose_kernels: bool = False) -> None:
    """Raises as `require_consent` for all of an experiment. `chose_kernels`: whether the command line names its
    kernels."""
    require_consent(
        experiment.paths,
        () if chose_kernels else experiment.kernels,
        allowed=allowed,
        combinations=experiment.combinations,
    )


def require_consent_to_hosts(experiment: Experiment, *, allowed: bool) -> None:
    """Raises `UsageError` where going on with a run directory would connect to other machines, which the command line
    does not allow: whoever wrote the directory chose them."""
    from ..lab.machines import hosts_used
    from ..model.errors import UsageError

    hosts = [host for topology in experiment.topologies for host in hosts_used(topology)]
    hosts += [host for host in experiment.vantages if host.ssh is not None]
    names = list(dict.fromkeys(str(host.ssh) for host in hosts))
    if names and not allowed:
        what = "is measured from" if experiment.vantages else "has nodes on"
        raise UsageError(
            f"this run {what} other machines, to which sixbench would connect over SSH with your keys: "
            f"{', '.join(visible(name) for name in names[:MOST_HOSTS])}. If they are yours, allow it with "
            f"{ALLOW_HOSTS_FLAG}"
        )


def require_consent_to_pace(experiment: Experiment, surveys: Iterable[Survey] = (), *, allowed: bool) -> None:
    """Raises `UsageError` where an experiment, or a survey of a run directory, claims servers for the user that the
    command line does not claim: whoever wrote it lifts the pace of connections to them. Private addresses need no
    consent.

    Args:
        surveys: of the run that goes on.
    """
    from ..model.errors import UsageError

    if allowed:
        return
    claimed = {server.label: tuple(server.addresses.values()) for server in experiment.servers if server.mine}
    for surveyed in (server for survey in surveys for server in survey.servers):
        if surveyed.mine:
            entries = surveyed.families.values()
            addresses = {address for entry in entries for address in (*entry.addresses, entry.address) if address}
            claimed[surveyed.label] = tuple(addresses)
    strange = [label for label, addresses in claimed.items() if not (addresses and all(map(is_private, addresses)))]
    if strange:
        more = f" and {len(strange) - MOST_HOSTS} more" if len(strange) > MOST_HOSTS else ""
        raise UsageError(
            f"mine: true lets more than one connection a second go to {', '.join(map(visible, strange[:MOST_HOSTS]))}"
            f"{more}. If the servers are yours, allow it with {MINE_FLAG}"
        )


def refuse_programs_in_guests(paths: Iterable[Path], combinations: Iterable[Combination] = ()) -> None:
    """Raises `UsageError` where a path has a program under test, or is an emulated machine itself, or where a workload
    has a server or client of others: in an emulated machine are none of this one's programs but sixbench's own."""
    from ..mechanisms.guest import GUEST
    from ..mechanisms.program import PROGRAM
    from ..model.errors import UsageError
    from ..model.programs import has_program

    kinds = {PROGRAM.name: "a program", GUEST.name: "an emulated machine"}
    pair = next(((path.name, kinds[path.mechanism]) for path in paths if path.mechanism in kinds), None)
    if pair is not None:
        raise UsageError(
            f"paths.{pair[0]} is {pair[1]} under test, which an emulated machine does not have; leave the kernels "
            "out, or this path"
        )
    workload = next((item.workload.kind for item in combinations if has_program(item.workload.params)), None)
    if workload is not None:
        raise UsageError(
            f"workloads.{workload} has a server or a client of others, which an emulated machine does not have; leave "
            "the kernels out, or that program"
        )


def without_consent(arguments: Sequence[str]) -> list[str]:
    """A command line as run directories keep it: whoever repeats it decides anew."""
    return [
        argument for argument in arguments if argument not in (ALLOW_FLAG, ALLOW_HOSTS_FLAG, MEAN_IT_FLAG, MINE_FLAG)
    ]
