"""Reasons in tests: their sentences, and reasons of a kind."""

from __future__ import annotations

from collections.abc import Iterable

from sixbench.model.reason import Reason, ReasonKind


def texts(reasons: Iterable[Reason]) -> list[str]:
    """The sentences."""
    return [reason.text for reason in reasons]


def kinds(reasons: Iterable[Reason]) -> list[ReasonKind]:
    """Kinds, which tell the reasons apart."""
    return [reason.kind for reason in reasons]


def of_agents(text: str) -> list[Reason]:
    """The one reason of a trial that an agent let fail."""
    return [Reason(kind=ReasonKind.AGENT_FAILED, text=text)]
