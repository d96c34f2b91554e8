"""Bytes that arrive while a trial goes on."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.agent.answers import ProgressAnswer
from sixbench.agent.requests import ProgressRequest
from sixbench.bench.arriving import SHORTEST_NS, Ends, Watching, ends_of
from sixbench.model.errors import AgentError
from sixbench.model.observer import Arrived, Observer, SenderSample

pytestmark = pytest.mark.computes


class Receiver:
    """Gives one answer after another, and none any more after the last."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def answer(self, request: ProgressRequest, *, timeout_s: float) -> ProgressAnswer:
        self.asked.append(f"{request.op} {request.session}")
        if not self._answers:
            raise AgentError("no-session", "it is over")
        return request.read(self._answers.pop(0))


def _at(now_ms: int, received_bytes: int) -> dict[str, Any]:
    """Bytes at a time, by a clock on which the first of them came at 5 s."""
    return {"now_ns": 5 * 10**9 + now_ms * 10**6, "first_ns": 5 * 10**9, "received_bytes": received_bytes}


class Keeping(Observer):
    """Keeps what it is told."""

    wants_values = True

    def __init__(self) -> None:
        self.arrivals: list[Arrived] = []
        self.samples: list[SenderSample] = []

    def arrived(self, seen: Arrived) -> None:
        self.arrivals.append(seen)

    def sampled(self, seen: SenderSample) -> None:
        self.samples.append(seen)


def _watched(ends: Ends, observer: Observer | None, until_ns: int | None = None) -> Watching:
    return Watching({"forward": ends}, "b001", "b001-ipv6", every_ns=SHORTEST_NS, until_ns=until_ns, observer=observer)


def _seen(*answers: dict[str, Any], until_ns: int | None = None) -> list[Arrived]:
    keeping, receiver = Keeping(), Receiver(*answers)
    watching = _watched(Ends(receiver=receiver), keeping, until_ns)
    with watching:
        watching.wait()
    assert set(receiver.asked) == {"progress b001"}
    return keeping.arrivals


def _sampled(*samples: dict[str, Any] | None, until_ns: int | None = None) -> list[SenderSample]:
    keeping = Keeping()
    answers = [{"now_ns": 1} | ({} if sample is None else {"sending": sample}) for sample in samples]
    watching = _watched(Ends(receiver=Receiver(), sender=Receiver(*answers)), keeping, until_ns)
    with watching:
        watching.wait()
    return keeping.samples


def test_each_interval_is_what_came_since_the_one_before_by_the_receivers_clock() -> None:
    seen = _seen({"now_ns": 1}, _at(20, 2_000), _at(100, 10_000), _at(210, 43_000))
    assert [(seen_item.from_ns // 10**6, seen_item.to_ns // 10**6, seen_item.received_bytes) for seen_item in seen] == [
        (0, 100, 10_000),
        (100, 210, 33_000),
    ]
    assert [seen_item.rate_bps for seen_item in seen] == [800e3, 2.4e6]
    assert {(seen_item.key, seen_item.direction, seen_item.datagrams) for seen_item in seen} == {
        ("b001-ipv6", "forward", None)
    }


def test_lost_datagrams_are_those_of_each_interval_and_late_ones_make_it_negative() -> None:
    def at(now_ms: int, unique: int, lost: int) -> dict[str, Any]:
        return _at(now_ms, 100 * unique) | {"datagrams": {"unique": unique, "lost_middle": lost}}

    seen = _seen(at(100, 10, 2), at(200, 20, 5), at(300, 32, 3))
    assert [(seen_item.datagrams, seen_item.lost_middle) for seen_item in seen] == [(10, 2), (10, 3), (12, -2)]


def test_jitter_is_that_after_an_intervals_last_datagram_and_unknown_where_none_came() -> None:
    def at(now_ms: int, unique: int, **jitter: float) -> dict[str, Any]:
        return _at(now_ms, 100 * unique) | {"datagrams": {"unique": unique, "lost_middle": 0} | jitter}

    seen = _seen(at(100, 1), at(200, 9, jitter_rfc3550_ns=250.5), at(300, 9, jitter_rfc3550_ns=250.5))
    assert [seen_item.jitter_rfc3550_ns for seen_item in seen] == [None, 250.5, None]


def test_each_sample_of_a_sender_is_told_once_and_what_the_kernel_does_not_tell_is_unknown() -> None:
    fields, two = {"t_ns": 0, "rtt_ns": 5, "cwnd_packets": 10.5, "retransmits": 0}, {"t_ns": 10**8, "rtt_ns": 6}
    seen = _sampled(None, fields, fields, two)
    assert [(each.t_ns, each.rtt_ns, each.cwnd_packets, each.retransmits) for each in seen] == [
        (0, 5, 10.5, 0),
        (10**8, 6, None, None),
    ]
    assert len(_sampled(fields, two, until_ns=10**8)) == 1


@pytest.mark.parametrize(
    ("workload", "direction", "ends"),
    [
        ("tcp-stream", "forward", {"forward": ("server", "client")}),
        ("tcp-stream", "reverse", {"reverse": ("client", "server")}),
        ("udp-stream", "both", {"forward": ("server", None), "reverse": ("client", None)}),
        ("tcp-rr", "forward", {}),
    ],
)
def test_the_ends_of_a_flow_are_asked_that_tell_something(
    workload: str, direction: str, ends: dict[str, tuple[str, str | None]]
) -> None:
    client, server = Receiver(), Receiver()
    names = {id(client): "client", id(server): "server", id(None): None}
    actual_ends = ends_of(workload, {"direction": direction}, client=client, server=server)
    assert {
        name: (names[id(actual_end.receiver)], names[id(actual_end.sender)]) for name, actual_end in actual_ends.items()
    } == ends


def test_a_flow_that_stands_still_is_told_with_a_rate_of_zero() -> None:
    assert [item.rate_bps for item in _seen(_at(100, 1_000), _at(200, 1_000))] == [80e3, 0]


def test_what_ends_with_the_window_is_left_to_the_results() -> None:
    assert len(_seen(_at(100, 1_000), _at(200, 2_000), _at(300, 3_000), until_ns=200 * 10**6)) == 1


def test_a_receiver_that_cannot_be_asked_is_asked_no_more() -> None:
    assert _seen() == []


def test_a_mistake_of_ours_in_the_thread_that_asks_is_raised_at_the_end() -> None:
    class Broken(Keeping):
        def arrived(self, seen: Arrived) -> None:
            raise ZeroDivisionError

    watching = _watched(Ends(receiver=Receiver(_at(100, 1_000))), Broken())
    with pytest.raises(ZeroDivisionError), watching:
        watching.wait()


def test_nobody_is_asked_where_nobody_watches() -> None:
    receiver = Receiver()
    with _watched(Ends(receiver=receiver, sender=receiver), None):
        pass
    assert receiver.asked == []
