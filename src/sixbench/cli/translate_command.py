"""`sixbench translate`: packets of a capture through a mechanism."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, MutableMapping
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

import typer
from typer.main import get_group

from ..model.quoting import printable_lines
from .command_groups import GroupedCommands, with_subcommands
from .common import note

if TYPE_CHECKING:
    from ..translate.kind import PacketMechanism
    from ..translate.option import PacketOption


class _MechanismCommands(GroupedCommands):
    """The commands for the mechanisms, made when they are asked for: other commands do without their options."""

    _commands: MutableMapping[str, Any]

    @property
    def commands(self) -> MutableMapping[str, Any]:
        if not self._commands:
            from ..translate.mechanisms import PACKET_MECHANISMS

            app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
            for mechanism in PACKET_MECHANISMS:
                app.command(mechanism.name)(_command(mechanism))
            self._commands = get_group(app).commands
        return self._commands

    @commands.setter
    def commands(self, given: MutableMapping[str, Any]) -> None:
        self._commands = given


translate_app = with_subcommands(
    "Take captured packets through a mechanism.\n\n"
    "The output is a capture. With --explain, the rule that decided about each packet is printed. No network "
    "is built and no root is needed, unless --engine names a device of the kernel or of another program.",
    _MechanismCommands,
)


def _common_options() -> dict[str, tuple[Any, Any]]:
    """The type and declaration of each option that all mechanisms have, by its variable."""
    from ..translate.engines import ENGINES

    return {
        "in_": (
            str,
            typer.Option(
                ...,
                "--in",
                metavar="FILE",
                help="The packets: pcap or pcapng, of IP packets or of Ethernet frames, whose IP packets are taken; - "
                "is standard input.",
            ),
        ),
        "out": (
            str | None,
            typer.Option(
                None,
                "--out",
                metavar="FILE",
                help="The output: a pcap file of IP packets (LINKTYPE_RAW), with the times of the packets "
                "that went in; - is standard output.",
            ),
        ),
        "explain": (
            bool,
            typer.Option(
                False,
                "--explain",
                help=(
                    "Print a line for each packet: its number, its fate, the rule, the addresses before and after, and "
                    "the text of the rule. Standard error has it if the packets go to standard output."
                ),
            ),
        ),
        "as_json": (bool, typer.Option(False, "--json", help="Print the same as a JSON object a line.")),
        "engine": (
            str,
            typer.Option(
                "user",
                "--engine",
                metavar="|".join(ENGINES),
                help="Engine that carries the packets: user, the core of the translators and tunnels alone, which is "
                "the default; or the device that experiments have, in a throw-away network: ebpf, programs in the "
                "kernel with a slow path; tayga, for siit and siit-dc. Networks need the rights that experiments need.",
            ),
        ),
    }


def _command(mechanism: PacketMechanism) -> Callable[..., int]:
    """A function with a parameter for each option."""

    common_options = _common_options()

    def translate(**values: Any) -> int:
        common = {name: values[name] for name in common_options}
        options = {option.name: values[_variable(option)] for option in mechanism.options}
        return _translate(mechanism, options, **common)

    def parameter(name: str, kind: Any, option: Any) -> inspect.Parameter:
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)

    parameters = [parameter(_variable(option), *_typed(option)) for option in mechanism.options]
    common = [parameter(name, *typed) for name, typed in common_options.items()]
    translate.__doc__ = mechanism.doc
    translate.__signature__ = inspect.Signature([*parameters, *common])  # type: ignore[attr-defined]
    return translate


def _variable(option: PacketOption) -> str:
    return option.name.replace("-", "_")


def _typed(option: PacketOption) -> tuple[Any, Any]:
    """The option's type, and how it is declared."""
    if option.read is None:
        name = f"--no-{option.name}" if option.turns_off else f"--{option.name}"
        return bool, typer.Option(False, name, help=option.help)
    default: Any = ... if option.is_required else [] if option.is_repeated else None
    declared = typer.Option(default, f"--{option.name}", metavar=option.placeholder, help=option.help)
    if option.is_repeated:
        return list[str], declared
    return str if option.is_required else str | None, declared


def _translate(
    mechanism: PacketMechanism,
    options: dict[str, Any],
    *,
    in_: str,
    out: str | None,
    explain: bool,
    as_json: bool,
    engine: str,
) -> int:
    from ..model.errors import UsageError
    from ..translate.engines import carrying
    from ..translate.journey import PacketJourney
    from .packet_files import STANDARD, open_output, open_packets

    if out is None and not explain and not as_json:
        raise UsageError("write the packets to a file with --out FILE, or explain their fate with --explain")
    if out == STANDARD and sys.stdout.isatty():
        raise UsageError("--out -: standard output is a terminal, and packets are no text; name a file, or a pipe")
    given = _read(mechanism, options)
    stream = sys.stderr if out == STANDARD else sys.stdout
    with ExitStack() as opened:
        # Some networks need the senders before they are built. Errors of options come before errors of files.
        packets = cache(lambda: opened.enter_context(open_packets(in_)))
        carrier = opened.enter_context(
            carrying(mechanism, given, engine, sys.argv[1:], lambda: (packet.data for packet in packets().keep()))
        )
        journey = PacketJourney(carrier, packets(), opened.enter_context(open_output(out)))
        for carried in journey:
            line = carried.to_json() if as_json else carried.in_words() if explain else None
            if line is not None:
                _tell(line, stream, is_all=out is None)
        _tell(None, stream, is_all=out is None)
    note(journey.summary())
    return 0


def _tell(line: str | None, stream: TextIO, *, is_all: bool) -> None:
    """Prints a line, or what waits to be printed. Who reads it may have gone, as `head` does: then the packets still go
    where they are wanted, unless this is all that is wanted."""
    try:
        if line is None:
            stream.flush()
        else:
            print(printable_lines(line), file=stream)
    except BrokenPipeError:
        if is_all:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _read(mechanism: PacketMechanism, options: dict[str, Any]) -> dict[str, Any]:
    """The values that were given. Raises `UsageError`."""
    from ..model.errors import UsageError

    given: dict[str, Any] = {}
    for option in mechanism.options:
        value = options[option.name]
        if value is None or value is False or value == []:
            continue
        if option.read is None:
            given[option.name] = not option.turns_off
            continue
        try:
            read = [option.read(text) for text in (value if option.is_repeated else [value])]
        except ValueError as error:
            raise UsageError(f"--{option.name}: {error}") from error
        given[option.name] = read if option.is_repeated else read[0]
    return given
