"""`sixbench profiles`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import typer

from . import completions
from .common import print_json, say_lines
from .options import JSON

if TYPE_CHECKING:
    from ..plan.profile_file import Profile


def profiles(
    name: str | None = typer.Argument(
        None,
        help="The profile to show, with the sources of its numbers; default: a list of all.",
        autocompletion=completions.profiles,
    ),
    json: bool = JSON,
) -> None:
    """List the access networks that a link can be, such as dsl or lte.

    For each it shows rates, delays and queues. With a name it shows where these numbers come from.
    """
    from ..model.errors import UsageError
    from ..plan.profile_file import shipped_profiles
    from ..plan.reader import suggest

    known = shipped_profiles()
    if name is not None and name not in known:
        raise UsageError(f'there is no profile "{name}"; {suggest(name, known)}')
    shown = known if name is None else {name: known[name]}
    if json:
        print_json({"schema": "sixbench.profiles/1", "profiles": [_as_json(profile) for profile in shown.values()]})
        return
    for profile in shown.values():
        say_lines("\n".join(_lines(profile)))
        if name is not None:
            for key, text in profile.sources.items():
                say_lines(textwrap.fill(f"{key}: {text}", 100, initial_indent="  ", subsequent_indent="    "))
    if name is None:
        say_lines("\nTo see where the numbers come from: sixbench profiles NAME")


def _lines(profile: Profile) -> list[str]:
    from ..plan.link_settings import direction
    from ..plan.profile_file import SIDES
    from ..report.link_descriptions import direction_words

    mtu = f", MTU {profile.mtu_bytes}" if profile.mtu_bytes else ""
    settings = {side: direction_words(direction(given)) for side, given in zip(SIDES, profile.directions, strict=True)}
    return [f"{profile.name}: {profile.title}{mtu}", f"  down: {settings['down']}", f"  up:   {settings['up']}"]


def _as_json(profile: Profile) -> dict[str, Any]:
    from dataclasses import asdict

    from ..plan.link_settings import direction
    from ..plan.profile_file import SIDES

    sides = {side: asdict(direction(given)) for side, given in zip(SIDES, profile.directions, strict=True)}
    about = {"name": profile.name, "title": profile.title, "mtu_bytes": profile.mtu_bytes}
    return about | sides | {"sources": profile.sources}
