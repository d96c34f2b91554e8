"""Somebody else's server or client in a trial: a program that sixbench knows is a file here, and a line in `RECIPES`.

A workload that can have one has the parameters `SERVER` and `CLIENT`. Our end is unchanged. What only the other end
would know is absent.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Concatenate, ParamSpec

from ..expectation import NOTHING_FORETOLD, Expectation
from ..parameter import Parameter, Params, Scalar, Wrong
from ..quoting import shown
from ..topology import Family
from . import caddy, curl, dnsperf, h2load, kdig, nginx, ngtcp2, unbound
from .end import (
    KEYS,
    PROGRAM,
    TIME_TO_END_NS,
    ProgramEnd,
    ProgramSide,
    Recipe,
    Transport,
    filled,
    lacks_length,
    other_of,
    read_other,
)

Further = ParamSpec("Further")

RECIPES: tuple[Recipe, ...] = (
    unbound.RECIPE,
    nginx.RECIPE,
    caddy.RECIPE,
    ngtcp2.SERVER,
    kdig.RECIPE,
    dnsperf.RECIPE,
    curl.RECIPE,
    h2load.RECIPE,
    ngtcp2.CLIENT,
)
_NAMED: Mapping[tuple[str, str], Recipe] = {(recipe.side, recipe.name): recipe for recipe in RECIPES}

DEFAULT_CHAIN_BYTES = 1536
Check = Callable[[Params, frozenset[Family]], Wrong | None]


def _parse(side: ProgramSide, value: object) -> str:
    if isinstance(value, Mapping):
        return read_other(value)
    if isinstance(value, str) and value.startswith("{"):
        return _kept(value)
    if not isinstance(value, str) or (side, value) not in _NAMED:
        names = ", ".join(recipe.name for recipe in RECIPES if recipe.side == side)
        raise ValueError(f"{shown(value)} is no {side} that sixbench knows: give {names}, or {{{PROGRAM}: COMMAND}}")
    return value


def _kept(text: str) -> str:
    """A program in the form in which it is kept, which may come from anyone."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{shown(text)} is not a program") from error
    return read_other(given)


SERVER = Parameter(
    name="server",
    column="server_program",
    kind="program",
    doc=f"somebody else's server in the place of sixbench's: a name that it knows, or a mapping of {', '.join(KEYS)}",
    identifying=True,
    unless_given="sixbench's own",
    parser=partial(_parse, "server"),
)
CLIENT = Parameter(
    name="client",
    column="client_program",
    kind="program",
    doc=f"somebody else's client in the place of sixbench's: a name that it knows, or a mapping of {', '.join(KEYS)}",
    identifying=True,
    unless_given="sixbench's own",
    parser=partial(_parse, "client"),
)
PARAMETERS = (SERVER, CLIENT)


def has_program(params: Params) -> bool:
    """True if an end of such a trial is a program of others."""
    return any(parameter.column in params for parameter in PARAMETERS)


def without_programs(params: Params) -> dict[str, Scalar]:
    """The parameters without programs: those of our end."""
    columns = {parameter.column for parameter in PARAMETERS}
    return {column: value for column, value in params.items() if column not in columns}


def commands(params: Params) -> tuple[str, ...]:
    """The commands of the experiment's that a workload runs. Those that sixbench brings are not among them."""
    return tuple(
        other_of(str(params[parameter.column])).command
        for parameter in PARAMETERS
        if parameter.column in params and _recipe(parameter, params) is None
    )


def recipes(params: Params) -> Iterable[Recipe]:
    """The programs that sixbench knows, of a workload."""
    return [recipe for parameter in PARAMETERS if (recipe := _recipe(parameter, params)) is not None]


def server_end(workload: str, params: Params) -> ProgramEnd | None:
    """The program that serves; None: sixbench does."""
    if SERVER.column not in params:
        return None
    over = params.get("over")
    is_quic = over == "quic" or workload.startswith("quic") or params.get("version") == "3"
    listens: Transport = "udp" if over == "udp" or is_quic else "tcp"
    is_clear = over in ("udp", "tcp") or params.get("tls") == "none"
    chain_bytes = None if is_clear else int(params.get("chain_bytes", DEFAULT_CHAIN_BYTES))
    return replace(_end(SERVER, workload, params), listens=listens, chain_bytes=chain_bytes)


def client_end(workload: str, params: Params) -> ProgramEnd | None:
    """The program that asks; None: sixbench does."""
    if CLIENT.column not in params:
        return None
    limit_ns = int(params["duration_ns"]) if "duration_ns" in params else None
    if limit_ns is not None and _recipe(CLIENT, params) is not None:
        limit_ns += TIME_TO_END_NS
    return replace(_end(CLIENT, workload, params), limit_ns=limit_ns)


def _recipe(parameter: Parameter, params: Params) -> Recipe | None:
    """The program that sixbench knows at this end; None: another, or sixbench's own."""
    return _NAMED.get((parameter.name, str(params.get(parameter.column))))


def _end(parameter: Parameter, workload: str, params: Params) -> ProgramEnd:
    recipe = _recipe(parameter, params)
    if recipe is not None:
        command = recipe.command[workload](params)
        return ProgramEnd(name=recipe.name, argv=command.argv, files=command.files)
    other = other_of(str(params[parameter.column]))
    words = shlex.split(other.command)
    return ProgramEnd(
        name=words[0].rpartition("/")[2],
        argv=tuple(filled(word, params) for word in words),
        files={name: filled(content, params) for name, content in other.files.items()},
        ready_timeout_ns=other.ready_timeout_ns,
        memory_bytes=other.memory_bytes,
    )


def reading(params: Params, output: str) -> Mapping[str, float]:
    """The metrics in the output of a client that sixbench knows, by column."""
    recipe = _recipe(CLIENT, params)
    return {} if recipe is None else recipe.read(output)


def checked(workload: str, check: Check) -> Check:
    """The check of a workload with that of its programs."""

    def both(params: Params, families: frozenset[Family]) -> Wrong | None:
        return check(params, families) or _wrong(workload, params)

    return both


def foretold(
    expects: Callable[Concatenate[Params, Further], Expectation],
) -> Callable[Concatenate[Params, Further], Expectation]:
    """The expectations of a workload whose ends are both sixbench's. Nobody knows what another's program sends."""

    def of_both_ends(params: Params, /, *further: Further.args, **named: Further.kwargs) -> Expectation:
        has_program = any(parameter.column in params for parameter in PARAMETERS)
        return NOTHING_FORETOLD if has_program else expects(params, *further, **named)

    return of_both_ends


def _wrong(workload: str, params: Params) -> Wrong | None:
    given = [parameter for parameter in PARAMETERS if parameter.column in params]
    if len(given) > 1:
        return Wrong(CLIENT.name, f"one end of a trial is sixbench's: leave {SERVER.name} or {CLIENT.name} out")
    for parameter in given:
        recipe = _recipe(parameter, params)
        if recipe is None:
            other = other_of(str(params[parameter.column]))
            texts = (other.command, *other.files.values())
            lacking = next((word for item in texts if (word := lacks_length(item, params)) is not None), None)
            if lacking is not None:
                return Wrong(parameter.name, f"{{{lacking}}} stands in a command or a file: give {lacking}")
        elif workload not in recipe.command:
            known = ", ".join(recipe.command)
            return Wrong(parameter.name, f"{recipe.name} is a {recipe.side} of {known}, not of {workload}")
        elif workload in recipe.unfit and (unfit := recipe.unfit[workload](params)) is not None:
            return Wrong(*unfit)
    return None
