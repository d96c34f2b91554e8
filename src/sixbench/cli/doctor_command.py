"""`sixbench doctor`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from .common import print_json

if TYPE_CHECKING:
    from ..lab.doctor import Capability


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor")(doctor)


def doctor(json: bool = typer.Option(False, "--json", help="Print as JSON.")) -> int:
    """Tell what this machine can do, and why not. Exit code 3 if something that every run needs is missing."""
    from dataclasses import asdict

    capabilities = _examine()
    if json:
        print_json({"schema": "sixbench.doctor/1", "capabilities": [asdict(capability) for capability in capabilities]})
    else:
        width = max(len(capability.name) for capability in capabilities)
        for capability in capabilities:
            typer.echo(
                f"{capability.answer:<7}  {capability.name:<{width}}  {capability.needed_for}: {capability.reason}"
            )
    missing = [capability.name for capability in capabilities if capability.required and capability.answer == "no"]
    if missing:
        print(f"sixbench: this machine lacks what every run needs: {', '.join(missing)}", file=sys.stderr)
    return 3 if missing else 0


def _examine() -> list[Capability]:
    from ..agent import AgentHub, find_agent
    from ..lab.build import Completed
    from ..lab.doctor import Capability, examine
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import AgentError, CapabilityError
    from ..run.laboratory import AgentNode

    try:
        binary = find_agent()
    except CapabilityError as error:
        return [
            Capability(
                name="agent", answer="no", reason=str(error), needed_for="everything but reports", required=True
            ),
            *examine(None, str(error)),
        ]
    agent = Capability(
        name="agent", answer="yes", reason=str(binary), needed_for="everything but reports", required=True
    )
    try:
        enter_namespace_if_needed(sys.argv[1:])
        with AgentHub(binary) as hub:
            node = AgentNode(hub.start(["doctor"])["doctor"])

            def run(argv: list[str]) -> Completed:
                return node.execute(argv).result(timeout=30)

            return [agent, *examine(run, None)]
    except (AgentError, CapabilityError) as error:
        return [agent, *examine(None, str(error))]
