"""Man pages made from the commands themselves: what `--help` says, with exit codes and files, as man(7) wants it.

The pages stand in `docs/man`, where a test holds them to the commands; the wheel installs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from .. import __version__
from ..model.exit_codes import Exit
from .command_groups import first_line, grouped

SUMMARY = "bench for IPv4, IPv6 and transition mechanisms"

FILES = (
    ("runs/NAME-DATE-TIME/", "a run directory, where --out names no other place"),
    ("DIR/manifest.json", "the experiment, the machine, and how the run ended"),
    ("DIR/trials/", "one directory a trial: its record, its series and its captured packets"),
    ("DIR/trials.parquet", "one row a trial, for pandas, polars and DuckDB"),
    ("DIR/findings.json", "the comparisons, as `sixbench report DIR --format json` prints them"),
    ("DIR/report.html", "the report"),
    ("~/.local/state/sixbench/", "calibrations of this machine ($XDG_STATE_HOME)"),
    ("~/.cache/sixbench/", "kernels that were fetched ($XDG_CACHE_HOME)"),
)

ENVIRONMENT = (
    ("SIXBENCH_AGENT", "the agent's program, where it is not the one that was installed with sixbench"),
    ("XDG_STATE_HOME, XDG_CACHE_HOME", "where sixbench keeps calibrations and kernels"),
)

Command = Any
"""A command of the library under typer, which exports no type for it."""


def man_pages(app: typer.Typer) -> dict[str, str]:
    """All pages by file name: `sixbench.1`, and one for each command and group of commands."""
    root = typer.main.get_command(app)
    commands = getattr(root, "commands", {})
    pages = {"sixbench.1": _overview(root, commands)}
    pages |= {f"sixbench-{name}.1": _page(name, command) for name, command in sorted(commands.items())}
    return pages


def _overview(root: Command, commands: dict[str, Command]) -> str:
    lines = [
        *_head("sixbench", SUMMARY),
        *_section("SYNOPSIS", r"\fBsixbench\fR \fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]"),
        *_section("DESCRIPTION", *_paragraphs(root.help or "")),
        *_section("COMMANDS"),
    ]
    for heading, group in grouped(commands).items():
        lines.append(f'.SS "{heading}"')
        for name, command in group.items():
            lines += [".TP", rf"\fBsixbench\-{_text(name)}\fR(1)", *_paragraphs(first_line(command))]
    lines += _options(root)
    lines += _section("EXIT STATUS", *_exit_codes())
    lines += _section("ENVIRONMENT", *_definitions(ENVIRONMENT))
    lines += _section("FILES", *_definitions(FILES))
    return "\n".join(lines) + "\n"


def _page(name: str, command: Command) -> str:
    lines = [*_head(f"sixbench-{name}", _first_sentence(command)[:1].lower() + _first_sentence(command)[1:])]
    parts = getattr(command, "commands", None)
    if parts is None:
        lines += _section("SYNOPSIS", _synopsis(f"sixbench {name}", command))
        lines += _section("DESCRIPTION", *_paragraphs(command.help or ""))
        lines += [*_arguments(command), *_options(command)]
    else:
        synopses = [_synopsis(f"sixbench {name} {part}", parts[part]) for part in parts]
        lines += _section("SYNOPSIS", *[line for text in synopses for line in (text, ".br")][:-1])
        lines += _section("DESCRIPTION", *_paragraphs(command.help or ""))
        for part, subcommand in parts.items():
            lines += [f'.SS "sixbench {name} {part}"', *_paragraphs(subcommand.help or "")]
            lines += [*_arguments(subcommand, is_part=True), *_options(subcommand, is_part=True)]
    lines += _section("EXIT STATUS", "0 if all was done. The other codes are listed in", r".BR sixbench (1).")
    lines += _section("SEE ALSO", r".BR sixbench (1)")
    return "\n".join(lines) + "\n"


def _head(name: str, summary: str) -> list[str]:
    return [
        r".\" Made from the commands by src/sixbench/cli/man_pages.py; do not edit.",
        f'.TH "{name.upper()}" "1" "" "sixbench {__version__}" "User Commands"',
        *_section("NAME", rf"{_text(name)} \- {_text(summary.rstrip('.'))}"),
    ]


def _section(title: str, *lines: str) -> list[str]:
    return [f'.SH "{title}"', *lines]


def _synopsis(words: str, command: Command) -> str:
    parts = [rf"\fB{_text(words)}\fR"]
    if any(_is_shown(parameter) for parameter in command.params if parameter.param_type_name == "option"):
        parts.append(r"[\fIOPTIONS\fR]")
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = rf"\fI{_text(_argument_name(parameter))}\fR"
            name += "..." if parameter.nargs == -1 else ""
            parts.append(name if parameter.required else f"[{name}]")
    return " ".join(parts)


def _arguments(command: Command, is_part: bool = False) -> list[str]:
    results = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    if not results:
        return []
    lines = [] if is_part else _section("ARGUMENTS")
    for parameter in results:
        lines += [
            ".TP",
            rf"\fI{_text(_argument_name(parameter))}\fR",
            *_paragraphs(getattr(parameter, "help", "") or ""),
        ]
    return lines


def _options(command: Command, is_part: bool = False) -> list[str]:
    results = [
        parameter for parameter in command.params if parameter.param_type_name == "option" and _is_shown(parameter)
    ]
    lines = [] if is_part else _section("OPTIONS")
    for parameter in results:
        value = "" if parameter.is_flag else rf" \fI{_text(_metavar(parameter))}\fR"
        names = ", ".join(rf"\fB{_text(name)}\fR{value}" for name in parameter.opts)
        names += "".join(rf", \fB{_text(name)}\fR" for name in parameter.secondary_opts)
        lines += [".TP", names, *_paragraphs(parameter.help or ""), *_default(parameter)]
    return [*lines, ".TP", r"\fB\-h\fR, \fB\-\-help\fR", "Show the help of this command and stop."]


def _is_shown(parameter: Any) -> bool:
    return not parameter.hidden and "--help" not in parameter.opts


def _argument_name(parameter: Any) -> str:
    return _metavar(parameter).upper()


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.strip("_").upper())


def _default(parameter: Any) -> list[str]:
    value = parameter.default
    if parameter.is_flag or value in (None, "", []):
        return []
    return [f"Default: {_text(', '.join(map(str, value)) if isinstance(value, list) else str(value))}."]


def _exit_codes() -> list[str]:
    lines = []
    for code in Exit:
        lines += [
            ".TP",
            rf"\fB{code.value}\fR",
            f"{_text(code.meaning[:1].upper() + code.meaning[1:])}.",
            *_paragraphs(code.details),
        ]
    return lines


def _definitions(pairs: tuple[tuple[str, str], ...]) -> list[str]:
    return [line for name, text in pairs for line in (".TP", rf"\fI{_text(name)}\fR", *_paragraphs(f"{text}."))]


def _first_sentence(command: Command) -> str:
    text = " ".join((command.help or "").split())
    return re.split(r"(?<=[.?!]) ", text, maxsplit=1)[0]


def _paragraphs(text: str) -> Iterator[str]:
    """Text as lines of a page, a sentence each; `code` in bold."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ".PP"
        for sentence in re.split(r"(?<=[.?!]) (?=[A-Z])", " ".join(paragraph.split())):
            if sentence:
                yield re.sub("`([^`]+)`", r"\\fB\1\\fR", _text(sentence))


def _text(text: str) -> str:
    """Text with what means something to roff made plain: backslashes, hyphens, and a dot or quote at the beginning."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("~", r"\(ti").replace("^", r"\(ha")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
