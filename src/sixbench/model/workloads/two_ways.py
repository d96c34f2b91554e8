"""Flows of numbered packets, one way or both: which results are whose, and what the two make together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..parameter import Params
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, nothing_of_its_own
from .common import DIRECTION


def flows_of(params: Params, client: Result, server: Result) -> dict[str, tuple[Result, Result]]:
    """The results of the sender and of the receiver of each flow, by its direction."""
    direction = DIRECTION.of(params)
    if direction == "forward":
        return {"forward": (client, server)}
    flows = {"reverse": (server["reverse_sender"], client["reverse_receiver"])}
    if direction == "both":
        flows = {"forward": (client["forward_sender"], server["forward_receiver"])} | flows
    return flows


def together(flows: Mapping[str, TrialMeasurements], columns: Iterable[tuple[str, str]]) -> TrialMeasurements:
    """The measurements of all flows. Where there are two, the metrics are those of the flow from client to server.

    Args:
        columns: the metrics of a flow that the flow from the server has too, and what they are called then.
    """
    if len(flows) == 1:
        return next(iter(flows.values()))
    measured, reverse = flows["forward"], flows["reverse"]
    for column, other in columns:
        if column in reverse.metrics:
            measured.metrics[other] = reverse.metrics[column]
    return replace(
        measured,
        series={f"{name}_{source}": series for name, flow in flows.items() for source, series in flow.series.items()},
        invalid=[
            replace(reason, text=f"{reason.text} ({name})") for name, flow in flows.items() for reason in flow.invalid
        ],
        notes=[f"{note} ({name})" for name, flow in flows.items() for note in flow.notes],
    )


def traffic_of(receivers: Mapping[str, Result]) -> Traffic:
    """Datagrams that arrived, by the results of the receivers of flows."""
    unique = {name: int(entry["unique"]) for name, entry in receivers.items()}
    payload_bytes = {name: int(entry["unique_bytes"]) for name, entry in receivers.items()}
    messages = sum(
        int(receiver["received"]) + int(receiver.get("warmup_received", 0)) for receiver in receivers.values()
    )
    return replace(arrived(unique, payload_bytes), messages=messages)


def arrived(unique: Mapping[str, int], payload_bytes: Mapping[str, int]) -> Traffic:
    """The traffic of so many packets that arrived in each direction."""
    return Traffic(
        forward_payload_bytes=payload_bytes.get("forward", 0),
        reverse_payload_bytes=payload_bytes.get("reverse", 0),
        forward_datagrams=unique.get("forward"),
        messages=sum(unique.values()),
    )


def ends_of(side: Side, params: Params, sender: Expected, receiver: Expected) -> tuple[Expected, ...]:
    """The ends of the flows on a side. Of a flow in one direction, forward, the result itself is that of its end."""
    forward, reverse = (sender, receiver) if side == "client" else (receiver, sender)
    direction = DIRECTION.of(params)
    if direction == "forward":
        return (forward,)
    places = ("forward_sender", "reverse_receiver") if side == "client" else ("forward_receiver", "reverse_sender")
    ends = (replace(forward, place=places[0]), replace(reverse, place=places[1]))
    return nothing_of_its_own(side, params) + (ends if direction == "both" else ends[1:])
