"""Proof that packets crossed a link in the VLAN that the path claims, or in none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judged_views import Packet, Read, judged, line, packet, towards_server, views_of
from reasons import texts

from sixbench.bench.proof.viewpoints import Viewpoint

pytestmark = pytest.mark.computes


def in_vlan(link: str, view: Viewpoint, vlan_id: int | None, **more: int) -> Packet:
    """A packet of the path in a frame with the tag of a VLAN."""
    there = towards_server(view, packet(link, **more))
    if vlan_id is not None:
        there["layers"].insert(1, {"kind": "vlan", "bytes": 4, "vlan_id": vlan_id, "priority": 0})
    return there


def vlan_view(read: Read, vlan_id: int | None) -> Viewpoint:
    [view] = views_of(line(read, "hh"))
    link = replace(view.link, over=None if vlan_id is None else "cable", vlan_id=vlan_id)
    return replace(view, crossing=replace(view.crossing, link=link))


def test_a_vlan_is_proved_by_the_tag_of_its_number(read: Read) -> None:
    view = vlan_view(read, 100)
    packets = [in_vlan("ipv4", view, 100, wire_bytes=1518, total_bytes=1500) for _ in range(3)]
    judgement = judged(view, packets)
    assert not judgement.invalid
    [segment] = judgement.evidence.segments
    assert (segment.claimed, segment.stacks) == ("ipv4 in vlan 100", {"ipv4 in vlan 100": 3})
    assert segment.max_ip_bytes == 1500


@pytest.mark.parametrize(
    ("claimed", "seen", "words"),
    [
        (100, 101, "1 of 4 packets seen on l0 at h1 were ipv4 in vlan 101, where the path claims ipv4 in vlan 100"),
        (100, None, "1 of 4 packets seen on l0 at h1 were ipv4, where the path claims ipv4 in vlan 100"),
        (None, 7, "1 of 4 packets seen on l0 at h1 were ipv4 in vlan 7, where the path claims ipv4"),
        # A tag with a priority alone is of no VLAN (IEEE 802.1Q table 9-2).
        (None, 0, None),
    ],
)
def test_another_vlan_is_another_path(read: Read, claimed: int | None, seen: int | None, words: str | None) -> None:
    view = vlan_view(read, claimed)
    packets = [in_vlan("ipv4", view, claimed) for _ in range(3)] + [in_vlan("ipv4", view, seen)]
    assert texts(judged(view, packets).invalid) == ([] if words is None else [words])


def test_what_keeps_a_vlan_going_says_nothing_of_the_path(read: Read) -> None:
    view = vlan_view(read, 100)
    upkeep = packet("vlan", "ipv4", protocol=2)
    upkeep["layers"][1] = {"kind": "vlan", "bytes": 4, "vlan_id": 100, "priority": 0}
    [segment] = judged(view, [in_vlan("ipv4", view, 100), upkeep]).evidence.segments
    assert segment.stacks == {"ipv4 in vlan 100": 1}
