"""The groups of commands that `sixbench --help` shows, each command with one full line."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

EXPERIMENTS = "Experiments"
RESULTS = "Results"
SERVERS = "Servers of others"
TWO_MACHINES = "Two machines"
MANY_MACHINES = "Many machines"
BY_HAND = "Networks and packets, by hand"
MACHINE = "This machine"

_ORDER = (EXPERIMENTS, RESULTS, SERVERS, TWO_MACHINES, MANY_MACHINES, BY_HAND, MACHINE)

OTHERS = "Commands"
"""The heading of commands that are in no group."""


class GroupedCommands(TyperGroup):
    """Lists the commands by group (`rich_help_panel` of each command) in plain text, and never cuts a line off."""

    def invoke(self, ctx: Any) -> Any:
        """Runs a command. Raises `typer.Abort` where it is interrupted: Typer itself would only return 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise typer.Abort from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for each group. Commands keep the order in which they were registered."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        sections = {
            heading: [(name, first_line(command)) for name, command in group.items()]
            for heading, group in grouped(commands).items()
        }
        widest = max((len(name) for rows in sections.values() for name, _ in rows), default=0)
        for heading, rows in sections.items():
            with formatter.section(heading):
                # Names of one width, so that the groups' texts begin in one column.
                formatter.write_dl([(name.ljust(widest), text) for name, text in rows])


def with_subcommands(help: str, cls: type[TyperGroup] = GroupedCommands) -> typer.Typer:
    """A command that has commands below it."""
    return typer.Typer(help=help, cls=cls, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def grouped(commands: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The commands by the heading of their group, without those that are hidden; groups in their order."""
    sections: dict[str, dict[str, Any]] = {name: {} for name in _ORDER}
    for name, command in commands.items():
        if command is not None and not command.hidden:
            group = command.rich_help_panel
            sections.setdefault(group if isinstance(group, str) else OTHERS, {})[name] = command
    return {heading: group for heading, group in sections.items() if group}


def first_line(command: Any) -> str:
    """The purpose of a command: the first paragraph of its help."""
    text = command.short_help or (command.help or "").partition("\n\n")[0]
    return " ".join(text.split())
