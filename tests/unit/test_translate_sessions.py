"""`sixbench translate nat64`, `464xlat`, `siit-dc` and `lw4o6` with the real agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import pytest
from ip_packets import ICMP, UDP, checksum, datagram, ipv4, ipv6, pcap
from packets_through import packets_through

pytestmark = pytest.mark.computes

Command = Callable[..., Any]
Through = Callable[..., list[tuple[str, str, list[bytes]]]]

PREFIX = "64:ff9b:1::"
CLIENT, SERVER, POOL = "2001:db8:1::1", "198.51.100.2", "192.0.2.1"
NAT64 = ("nat64", "--prefix", f"{PREFIX}/96", "--pool", f"{POOL}/32", "--no-hop")
S = 10**9


@pytest.fixture
def through(tmp_path: Path, sixbench: Command) -> Through:
    """Fate, rule and packets out of each packet that goes in, at the second that it has with it."""

    def run(packets: Sequence[tuple[int, bytes]], *words: str) -> list[tuple[str, str, list[bytes]]]:
        times = [time_s * S for time_s, _ in packets]
        return packets_through(sixbench, tmp_path, words, [packet for _, packet in packets], times)

    return run


def embedded(address: str) -> IPv6Address:
    return IPv6Address(int(IPv6Address(PREFIX)) + int(IPv4Address(address)))


def sent(ports: tuple[int, int], to: str = SERVER, source: str = CLIENT) -> bytes:
    """A datagram over IPv6 to an IPv4 address."""
    return ipv6(datagram(IPv6Address(source), embedded(to), ports), source=source, destination=str(embedded(to)))


def over4(source: str, destination: str, ports: tuple[int, int]) -> bytes:
    payload = datagram(IPv4Address(source), IPv4Address(destination), ports)
    return ipv4(payload, source=source, destination=destination, identification=1)


def test_answers_come_back_for_as_long_as_the_session_lasts(through: Through) -> None:
    answer = over4(SERVER, POOL, (53, 4000))
    packets = [(10, sent((4000, 53))), (309, answer), (608, answer), (908, answer)]
    passed = through(packets, *NAT64)
    assert [item[:2] for item in passed] == [
        ("translated", "to-ipv4"),
        ("translated", "to-ipv6"),
        ("translated", "to-ipv6"),
        ("answered", "no-binding"),
    ]
    assert passed[0][2] == [over4(POOL, SERVER, (4000, 53))]
    back = ipv6(
        datagram(embedded(SERVER), IPv6Address(CLIENT), (53, 4000)), source=str(embedded(SERVER)), destination=CLIENT
    )
    assert passed[1][2] == [back]
    [only_passed] = passed[3][2]
    assert (only_passed[9], only_passed[12:20], only_passed[20:22]) == (
        ICMP,
        IPv4Address("192.0.0.8").packed + answer[12:16],
        b"\3\1",
    )
    assert through([packets[0], (71, answer)], *NAT64, "--udp-timeout", "60")[1][1] == "no-binding"


def test_clients_share_the_pool(through: Through) -> None:
    clients = [f"2001:db8:1::{number}" for number in range(1, 5)]
    packets = [(1, sent((4000, 53), source=client)) for client in clients]
    ports = {int.from_bytes(out[20:22]) for _, _, [out] in through(packets, *NAT64)}
    assert ports == {4000, 4002, 4004, 4006}, "as even as the clients' (RFC 4787 section 4.2.2)"
    drawn = [[out for _, _, [out] in through(packets, *NAT64, "--seed", seed)] for seed in ("1", "1", "2")]
    assert drawn[0] == drawn[1] != drawn[2]
    few = through(packets, "nat64", "--prefix", f"{PREFIX}/96", "--pool", f"{POOL}/32:2000-2002")
    assert [item[1] for item in few] == ["to-ipv4", "to-ipv4", "to-ipv4", "no-port-left"]


def test_who_may_send_to_a_client_is_a_choice(through: Through) -> None:
    packets = [(1, sent((4000, 53))), (1, over4("198.51.100.9", POOL, (1, 4000)))]
    assert through(packets, *NAT64)[1][1] == "to-ipv6"
    assert through(packets, *NAT64, "--filtering", "address-dependent")[1][1] == "filtered"
    static = ("--static", f"udp,{POOL}:8053,[{CLIENT}]:53")
    [(_, clause, [out])] = through([(1, over4(SERVER, POOL, (9, 8053)))], *NAT64, *static)
    assert (clause, out[24:40], out[42:44]) == ("to-ipv6", IPv6Address(CLIENT).packed, b"\0\x35")


def test_later_fragments_wait_for_the_first(through: Through) -> None:
    whole = over4(SERVER, POOL, (53, 4000))
    first = ipv4(whole[20:36], source=SERVER, destination=POOL, identification=7, flags_and_offset=0x2000)
    later = ipv4(b"\7" * 8, source=SERVER, destination=POOL, identification=7, flags_and_offset=2)
    packets = [(1, sent((4000, 53))), (2, later), (2, first), (9, later), (20, first)]
    passed = through(packets, *NAT64)[1:]
    assert [item[:2] for item in passed[:2]] == [("waits", "fragment-waits"), ("translated", "fragment-to-ipv6")]
    assert [out[40:44] for out in passed[1][2]] == [bytes([UDP, 0, 0, 1]), bytes([UDP, 0, 0, 16])]
    assert passed[2][0] == "waits"
    assert len(passed[3][2]) == 1, "the other one came too early"


def test_a_nat64_gives_a_datagram_its_checksum_also_when_it_comes_in_fragments(through: Through) -> None:
    """RFC 6146 section 3.4; a CLAT has no state for it (RFC 7915 section 4.5)."""
    whole = over4(SERVER, POOL, (53, 4000))
    bare = whole[:26] + b"\0\0" + whole[28:]
    first = ipv4(bare[20:28], source=SERVER, destination=POOL, identification=7, flags_and_offset=0x2000)
    later = ipv4(bare[28:], source=SERVER, destination=POOL, identification=7, flags_and_offset=1)
    passed = through([(1, sent((4000, 53))), (2, later), (2, first), (3, bare)], *NAT64)[1:]
    assert [item[:2] for item in passed] == [
        ("waits", "fragment-waits"),
        ("translated", "checksum-computed"),
        ("translated", "checksum-computed"),
    ]
    right = ipv6(
        datagram(embedded(SERVER), IPv6Address(CLIENT), (53, 4000)), source=str(embedded(SERVER)), destination=CLIENT
    )
    assert [item[2] for item in passed[1:]] == [[right], [right]]
    assert through([(1, sent((4000, 53))), (3, bare)], *NAT64, "--zero-checksum", "drop")[1][1] == "zero-checksum"
    clat = ("464xlat", "--role", "clat", "--prefix", f"{PREFIX}/96", "--clat-prefix", "2001:db8:c1a7::/96")
    unsummed = over4("192.0.0.2", SERVER, (4000, 53))
    assert through([(1, unsummed[:26] + b"\0\0" + unsummed[28:])], *clat)[0][1] == "zero-checksum"


def test_a_plat_takes_the_errors_of_a_clat(through: Through) -> None:
    clat = ("464xlat", "--role", "clat", "--prefix", f"{PREFIX}/96", "--clat-prefix", "2001:db8:c1a7::/96")
    plat = ("464xlat", "--role", "plat", "--prefix", f"{PREFIX}/96", "--pool", f"{POOL}/32", "--no-hop")
    [(_, _, [between])] = through([(1, over4("192.0.0.2", SERVER, (4000, 53)))], *clat)
    [_, (_, _, [answer])] = through([(1, between), (1, over4(SERVER, POOL, (53, 4000)))], *plat)
    worn_out = answer[:7] + b"\1" + answer[8:]
    [(verdict, clause, [error])] = through([(1, worn_out)], *clat)
    assert (verdict, clause) == ("answered", "hop-limit")
    assert error[8:24] == IPv6Address("2001:db8:c1a7::192.0.0.8").packed
    [_, (_, clause, [packet_out])] = through([(1, between), (2, error)], *plat)
    assert (clause, packet_out[16:22]) == ("error-to-ipv4", IPv4Address(SERVER).packed + b"\x0b\0")
    ipv6_address = IPv6Address("2001:db8::c1a7")
    assert through([(1, worn_out)], *clat, "--own6", str(ipv6_address))[0][2][0][8:24] == ipv6_address.packed


def test_a_clat_and_a_plat_are_two_ends(through: Through) -> None:
    clat = ("464xlat", "--role", "clat", "--prefix", f"{PREFIX}/96", "--clat-prefix", "2001:db8:c1a7::/96", "--no-hop")
    plat = ("464xlat", "--role", "plat", "--prefix", f"{PREFIX}/96", "--pool", f"{POOL}/32", "--no-hop")
    packet = over4("192.0.0.2", SERVER, (4000, 53))
    [(_, _, [between])] = through([(1, packet)], *clat)
    assert between[8:40] == IPv6Address("2001:db8:c1a7::c000:2").packed + embedded(SERVER).packed
    [_, (_, _, [outside])] = through([(1, between)] * 2, *plat)
    assert outside[12:20] == IPv4Address(POOL).packed + IPv4Address(SERVER).packed
    [_, (_, _, [answer])] = through([(1, between), (1, over4(SERVER, POOL, (53, 4000)))], *plat)
    [(_, _, [back])] = through([(1, answer)], *clat)
    assert back == over4(SERVER, "192.0.0.2", (53, 4000))


def test_relays_of_a_data_centre(through: Through) -> None:
    table = ("--eam", "192.0.2.1/32=2001:db8:1::1/128", "--eam", "192.0.2.2/32=2001:db8:1::2/128")
    options = ("--prefix", f"{PREFIX}/96", *table, "--no-hop")
    [(_, clause, _)] = through([(1, over4(SERVER, POOL, (1, 80)))], "siit-dc", "--role", "br", *options)
    assert clause == "to-ipv6"
    between = sent((1, 80), to="192.0.2.2")
    assert through([(1, between)], "siit-dc", "--role", "br", *options)[0][1] == "hairpin"
    assert through([(1, between)], "siit-dc", "--role", "er", *options)[0][1] == "to-ipv4"


def one_hop_on(packet: bytes) -> bytes:
    """An IPv4 packet with one taken from its TTL."""
    head = packet[:8] + bytes([packet[8] - 1, packet[9], 0, 0]) + packet[12:20]
    return head[:10] + checksum(head).to_bytes(2, "big") + packet[12:]


LWAFTR, B4 = "2001:db8:aftr::1".replace("aftr", "af"), "2001:db8:b4::1"
TABLE = ("--br", LWAFTR, "--binding", f"{POOL},6,5,{B4}", "--binding", f"{POOL},6,7,2001:db8:b4::2")
ERROR_SOURCES = ("--own4", "192.0.2.254", "--own6", LWAFTR)


def test_an_lwaftr_knows_whose_a_port_is(through: Through) -> None:
    answer = over4(SERVER, POOL, (53, 5 * 1024 + 9))
    [(verdict, _, [carried])] = through([(1, answer)], "lw4o6", "--role", "aftr", *TABLE)
    assert (verdict, carried[8:40]) == ("translated", IPv6Address(LWAFTR).packed + IPv6Address(B4).packed)
    b4 = ("lw4o6", "--role", "b4", "--br", LWAFTR, "--binding", f"{POOL},6,5,{B4}")
    assert through([(1, carried)], *b4) == [("translated", "decapsulated", [one_hop_on(answer)])]
    [(_, _, [sent])] = through([(1, over4(POOL, SERVER, (5 * 1024 + 9, 53)))], *b4)
    assert through([(1, sent)], "lw4o6", "--role", "aftr", *TABLE)[0][1] == "decapsulated"
    assert through([(1, over4(POOL, SERVER, (9, 53)))], *b4)[0][1] == "inner-source-mismatch"


def test_an_lwaftr_tells_who_is_bound_to_nothing_and_sends_back_what_is_for_another(through: Through) -> None:
    nobodys = over4(SERVER, POOL, (53, 9))
    [(verdict, _, [packet_out])] = through([(1, nobodys)], "lw4o6", "--role", "aftr", *TABLE, *ERROR_SOURCES)
    assert (verdict, packet_out[20:22]) == ("answered", b"\3\1")
    untold = ("lw4o6", "--role", "aftr", *TABLE, *ERROR_SOURCES, "--tell", "v6")
    assert through([(1, nobodys)], *untold)[0][0] == "dropped"
    inner = over4(POOL, POOL, (5 * 1024, 7 * 1024))
    packet = ipv6(inner, source=B4, destination=LWAFTR, protocol=4)
    [(_, rule, [back])] = through([(1, packet)], "lw4o6", "--role", "aftr", *TABLE)
    assert (rule, back[24:40], back[40:]) == ("encapsulated", IPv6Address("2001:db8:b4::2").packed, one_hop_on(inner))
    [(_, _, [back])] = through([(1, packet)], "lw4o6", "--role", "aftr", *TABLE, "--no-hop")
    assert back[40:] == inner
    assert through([(1, packet)], "lw4o6", "--role", "aftr", *TABLE, "--no-hairpin")[0][1] == "decapsulated"
    strange = ipv6(inner, source="2001:db8:b4::9", destination=LWAFTR, protocol=4)
    [(verdict, _, [packet_out])] = through([(1, strange)], "lw4o6", "--role", "aftr", *TABLE, *ERROR_SOURCES)
    assert (verdict, packet_out[40:42]) == ("answered", b"\1\5")


def test_an_lwaftr_has_an_address_for_each_lwb4(through: Through) -> None:
    second, b4 = "2001:db8:af::2", "2001:db8:b4::3"
    options = ("lw4o6", "--role", "aftr", *TABLE, "--binding", f"{POOL},6,9,{b4},0,{second}", *ERROR_SOURCES)
    [(_, _, [carried])] = through([(1, over4(SERVER, POOL, (53, 9 * 1024)))], *options)
    assert carried[8:40] == IPv6Address(second).packed + IPv6Address(b4).packed
    inner = over4(POOL, SERVER, (9 * 1024, 53))
    for address, rule in ((second, "decapsulated"), (LWAFTR, "source-not-peer")):
        assert through([(1, ipv6(inner, source=b4, destination=address, protocol=4))], *options)[0][1] == rule
    edge = ("lw4o6", "--role", "b4", "--br", LWAFTR, "--binding", f"{POOL},6,9,{b4},0,{second}")
    assert through([(1, carried)], *edge)[0][1] == "decapsulated"


def test_an_lwaftr_is_a_router_whose_icmp_is_a_choice(through: Through) -> None:
    aftr = ("lw4o6", "--role", "aftr", *TABLE, *ERROR_SOURCES)
    message = b"\x08\0" + b"\0\0" + b"\x14\x01\0\1"
    message = message[:2] + checksum(message).to_bytes(2, "big") + message[4:]
    ping = ipv4(message, source=SERVER, destination=POOL, protocol=ICMP)
    assert [through([(1, ping)], *aftr, "--icmp", which)[0][1] for which in ("both", "v6")] == [
        "encapsulated",
        "icmp-refused",
    ]
    long = over4(POOL, SERVER, (5 * 1024, 53))[:20] + bytes([5 * 4, 0, 0, 53]) + bytes(1000)
    carried = ipv6(ipv4(long[20:], source=POOL, destination=SERVER), source=B4, destination=LWAFTR, protocol=4)
    [(_, _, pieces)] = through([(1, carried)], *aftr, "--mtu4", "576")
    assert [len(piece) for piece in pieces] == [572, 472]
    whole = over4(SERVER, POOL, (53, 5 * 1024 + 9))
    first = ipv4(whole[20:36], source=SERVER, destination=POOL, identification=7, flags_and_offset=0x2000)
    last = ipv4(whole[36:], source=SERVER, destination=POOL, identification=7, flags_and_offset=2)
    assert [len(item[2]) for item in through([(1, first), (1, last)], *aftr)] == [1, 1]
    [(verdict, rule, []), (_, _, [joined])] = through([(1, first), (1, last)], *aftr, "--reassemble")
    assert (verdict, rule, joined[60:]) == ("waits", "fragment-held", whole[20:])


def test_fragments_that_wait_in_vain_are_told_at_the_end(sixbench: Command, tmp_path: Path) -> None:
    inner = over4(POOL, SERVER, (5 * 1024, 53))
    half = ipv6(bytes([4, 0, 0, 1, 0, 0, 0, 7]) + inner[:24], source=B4, destination=LWAFTR, protocol=44)
    (tmp_path / "in.pcap").write_bytes(pcap([half]))
    done = sixbench("translate", "lw4o6", "--role", "aftr", *TABLE, "--in", tmp_path / "in.pcap", "--explain")
    assert "1 waits (1 fragment-held)" in done.stderr
    assert "fragments that waited in vain for others of their packet: 1" in done.stderr
    assert "RFC 8200 section 4.5" in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("nat64", "--prefix", "64:ff9b:1::/96"), "a NAT64 needs --pool"),
        ((*NAT64, "--pool", "192.0.2.9/32:9-1"), "has no ports"),
        ((*NAT64, "--pool", "192.0.2.9/32:x"), "is not IPV4/N[:FIRST-LAST]"),
        ((*NAT64, "--static", "udp,192.0.2.9:1,[2001:db8::1]:1"), "not of an address and port of the pool"),
        ((*NAT64, "--static", "udp,192.0.2.9:1,2001:db8::1:1"), "is not tcp|udp|icmp,IPV4:PORT,[IPV6]:PORT"),
        ((*NAT64, "--udp-timeout", "0"), "not a number from 1"),
        (("464xlat", "--role", "clat", "--prefix", "64:ff9b:1::/96"), "and --clat-prefix or --eam"),
        (("464xlat", "--role", "plat", "--prefix", "64:ff9b:1::/96", "--inside", "10.0.0.0/8"), "is not for a PLAT"),
        (("lw4o6", "--role", "b4", *TABLE), "an lwB4 has one --binding, and not 2"),
        (("lw4o6", "--role", "b4", *TABLE[:4], "--tell", "v4"), "--tell is not for an lwB4"),
        (("lw4o6", "--role", "aftr", *TABLE, "--icmp", "v5"), "is not one of both, v4, v6, none"),
        (("lw4o6", "--role", "aftr", "--br", LWAFTR, "--binding", f"224.0.0.1,0,0,{B4}"), "is for no hosts"),
        (
            ("lw4o6", "--role", "aftr", *TABLE, "--binding", f"{POOL},6,5,2001:db8:b4::8,0,2001:db8:af::2"),
            "two rules have the Rule IPv4 prefix",
        ),
        (("lw4o6", "--role", "aftr", *TABLE, "--binding", f"{POOL},6,9,2001:db8:b4::8,0,{B4}"), "customer edges have"),
        (("lw4o6", "--role", "aftr", "--br", LWAFTR, "--binding", f"{POOL},6,64,{B4}"), "has more than 6 bits"),
        (("lw4o6", "--role", "aftr", *TABLE, "--binding", f"{POOL},6,5,{B4}"), "two rules have the Rule IPv4 prefix"),
        (("lw4o6", "--role", "aftr", "--br", B4, "--binding", f"{POOL},6,5,{B4}"), "which customer edges have"),
    ],
)
def test_what_cannot_be_is_refused(sixbench: Command, tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap([]))
    done = sixbench("translate", *words, "--in", tmp_path / "in.pcap", "--explain")
    assert done.exit == 2
    assert expected in " ".join(done.stderr.split())
