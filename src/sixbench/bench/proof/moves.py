"""The comparison of moves that both ends of a trial saw with those that its events ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...model.evidence.moves import ConnectionMove
from ...model.network import Network
from ...model.reason import Reason, ReasonKind
from ...model.workload import Result

Moves = Sequence[Mapping[str, Any]]


def judge_moves(
    client: Result, server: Result, networks: Sequence[Network]
) -> tuple[tuple[ConnectionMove, ...], list[Reason]]:
    """The moves that both ends saw, and reasons against a trial that claims others.

    Args:
        client, server: the results of both ends.
        networks: the path's own, and what remained of it after each loss of the client.
    """
    due = [(str(before.legs[0].source), str(after.legs[0].source)) for before, after in pairwise(networks)]
    of_client, of_server = _moves(client, "forward_sender"), _moves(server, "forward_receiver")
    reasons = [
        Reason(kind=ReasonKind.NOT_MOVED, text=words)
        for words in (_difference("client", of_client, due), _difference("server", of_server, due))
        if words is not None
    ]
    moves = tuple(
        ConnectionMove(
            from_address=str(item["from"]),
            to_address=str(item["to"]),
            moved_ns=int(item["t_ns"]),
            outage_ns=int(other["outage_ns"]),
            links=tuple(crossing.link.name for crossing in network.crossings),
        )
        for item, other, network in zip(of_client, of_server, networks[1:], strict=False)
        if not reasons
    )
    return moves, reasons


def _moves(result: Result, flow: str) -> Moves:
    """The moves in a result: of its only flow, or of the one that goes to the server."""
    end: Mapping[str, Any] = result.get(flow) or result
    return end.get("moves") or []


def _difference(side: str, moves: Moves, due: Sequence[tuple[str, str]]) -> str | None:
    """The difference of the moves that a side saw from those that are due, in words; None: there is none."""
    pairs = [(str(item["from"]), str(item["to"])) for item in moves]
    if pairs == due:
        return None
    return f"the {side} saw {_words(pairs)}, where the events make it {_words(due)}"


def _words(pairs: Sequence[tuple[str, str]]) -> str:
    moved = ", then ".join(f"from {before} to {after}" for before, after in pairs)
    return f"a move {moved}" if moved else "no move"
