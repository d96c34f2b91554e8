"""The command line, and errors to exit codes."""

from __future__ import annotations

import io
import os
import sys

import typer

from .. import __version__
from ..model.errors import ExperimentError, SixbenchError
from . import (
    calibrate_command,
    compare_command,
    doctor_command,
    kernels_command,
    lab_command,
    measure_command,
    papers_command,
    plan_command,
    profiles_command,
    report_command,
    run_command,
    serve_command,
    theory_command,
)

app = typer.Typer(
    name="sixbench",
    help="The bench for IPv4, IPv6 and everything between: "
    "one experiment file in, a network, proved measurements and a report out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"sixbench {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    pass


run_command.register(app)
plan_command.register(app)
profiles_command.register(app)
report_command.register(app)
compare_command.register(app)
papers_command.register(app)
theory_command.register(app)
serve_command.register(app)
measure_command.register(app)
calibrate_command.register(app)
lab_command.register(app)
kernels_command.register(app)
doctor_command.register(app)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line. Returns the exit code: 0 done; 1 a check failed; 2 usage or a bad experiment; 3 this
    machine cannot; 4 done in part; 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without µ still shows a report
    try:
        result = app(args=arguments, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print("sixbench: interrupted", file=sys.stderr)
        return 130
    except typer.TyperException as error:
        words = _words_of(error)
        print(words if words.startswith("Usage:") else f"sixbench: {words}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ExperimentError as error:
        print(error, file=sys.stderr)  # each line starts with file:line:, as editors expect
        return error.exit_code
    except SixbenchError as error:
        print(f"sixbench: {error}", file=sys.stderr)
        return error.exit_code


def _words_of(error: typer.TyperException) -> str:
    """What is wrong with a command line, and where help is."""
    command = getattr(getattr(error, "ctx", None), "command_path", "sixbench")
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return message if message.startswith("Usage:") else f"{message.rstrip('.')}. See: {command} --help"
