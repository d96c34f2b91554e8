"""`sixbench new`: an experiment file to start from."""

from __future__ import annotations

from pathlib import Path

import typer

from . import completions
from .common import note, print_json
from .tables import print_table

SUFFIX = ".yaml"


def new(
    name: str | None = typer.Argument(
        None, help="Name of the experiment; the file is NAME.yaml. Default: the name of the template."
    ),
    template: str | None = typer.Option(
        None, "--template", "-t", metavar="NAME", help="Template to start from.", autocompletion=completions.templates
    ),
    list_: bool = typer.Option(False, "--list", help="List the templates instead."),
    json: bool = typer.Option(False, "--json", help="Print what was written, or with --list the templates, as JSON."),
) -> None:
    """Write a commented experiment to start from."""
    from ..plan.templates import DEFAULT_TEMPLATE, templates

    if list_:
        known = templates()
        if json:
            names = [{"name": text, "purpose": purpose} for text, purpose in known.items()]
            print_json({"schema": "sixbench.templates/1", "default": DEFAULT_TEMPLATE, "templates": names})
        else:
            print_table(["template", "purpose"], [[text, purpose] for text, purpose in known.items()])
        return
    chosen = template or DEFAULT_TEMPLATE
    path = _path(name or chosen)
    _write(path, chosen)
    if json:
        print_json({"schema": "sixbench.new/1", "file": str(path), "experiment": path.stem, "template": chosen})
    else:
        note(f"written: {path}; look at it, then try: sixbench plan {path}; sixbench run {path} --quick")


def _path(name: str) -> Path:
    """The file that a name means. Raises `UsageError` where it can name no experiment."""
    from ..model.errors import UsageError
    from ..model.identifiers import NAME, NAME_RULE
    from ..model.quoting import printable

    path = Path(name) if name.endswith((".yaml", ".yml")) else Path(f"{name}{SUFFIX}")
    if not NAME.fullmatch(path.stem):
        raise UsageError(f"{printable(path.stem)} cannot name an experiment: {NAME_RULE}")
    return path


def _write(path: Path, template: str) -> None:
    from ..model.errors import UsageError
    from ..plan.templates import from_template
    from ..store import create_file

    try:
        create_file(path, from_template(template, path.stem))
    except FileExistsError as error:
        raise UsageError(f"{path} exists, and sixbench new overwrites nothing; give another name") from error
