"""Packets through a device in its network, one at a time: each is sent when the one before it is dealt with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import count

from ...agent import AgentHub
from ...agent.requests import (
    CaptureStart,
    CaptureStop,
    Counters,
    Exec,
    PacketSend,
    TranslatorCountersRequest,
    TunnelCountersRequest,
)
from ...bench.laboratory import Laboratory
from ...mechanisms import find_engine
from ...model.device import Translator
from ...model.errors import AgentError, LabError, UsageError
from ..process import PacketDecision
from .barrier import Barrier
from .counted import CountRises, DeviceCounts, SlowPathBacklog, of_program, of_translator, of_tunnels
from .network import MTU_BYTES, NODE, SIDES, PassingNetwork, Side, destination_of, interface_towards, mac_of

_LOOK_S = 0.001
"""Between two looks at counters. What has left a queue is at the next one: `settling.STILL_NS`."""
_QUIET_S = 0.1
"""Time without a count of a packet before it is taken for one that the kernel dropped in silence."""
_PATIENCE_S = 10.0
"""Longest time that user space may take for a packet that was left to it."""
_SNAPLEN_BYTES, _MAX_PACKETS, _CAPTURE_NS = 65_535, 4096, 600 * 10**9
_ETHERNET_BYTES = 14
_ICMP, _ICMPV6 = 1, 58
_ETHERTYPES = {4: "0800", 6: "86dd"}


class DevicePassage(AbstractContextManager["DevicePassage"]):
    """A device of an engine that takes packets, as `MechanismProcess` does. Use as a context manager: leaving it takes
    the network down."""

    def __init__(self, hub: AgentHub, network: PassingNetwork, engine: str) -> None:
        """Builds the network. Leaves nothing behind where it raises: `UsageError` where the engine cannot be the device
        as it is told, `LabError`, `AgentError` and `CapabilityError`."""
        self._network = network
        self._engine = engine
        self._devices = network.blueprint.devices
        unfit = next(filter(None, map(find_engine(engine).unfit, self._devices)), None)
        if unfit is not None:
            raise UsageError(f"--engine {engine}: {unfit}")
        self._numbers = count()
        self._held: dict[tuple[object, ...], int] = {}
        self._backlog = SlowPathBacklog()
        self._ended: DeviceCounts | None = None
        try:
            self._lab = Laboratory(hub, network.blueprint, engine)
        except LabError as error:
            cause = error.__cause__
            if isinstance(cause, AgentError) and cause.code == "bad-params":
                raise UsageError(f"--engine {engine}: {cause}") from error
            raise
        try:
            self._barrier = Barrier() if self._device_is_silent else None
            self._prepare()
        except BaseException:
            self._lab.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._lab.close()

    def carry(self, packets: Sequence[tuple[int, bytes]]) -> list[PacketDecision]:
        """The decisions about packets, one after the other. Their times do not matter here. Raises `AgentError`, and
        `UsageError` of a packet that is too long for the network's links."""
        return [self._carry(packet) for _, packet in packets]

    def finish(self) -> int:
        """Number of fragments that have waited for others of their packet in vain. Raises `AgentError`."""
        return self._begin().fragments_in_vain + sum(self._held.values())

    @property
    def _device_is_silent(self) -> bool:
        """True if it has no counters."""
        return self._engine not in ("ebpf", "user")

    def _prepare(self) -> None:
        """Has checksums finished before packets leave, so that what is captured is what a wire would carry, and waits
        until nothing of the network's beginning is under way."""
        node = self._lab.agents[NODE]
        for side in SIDES:
            node.answer(Exec(argv=["ethtool", "-K", interface_towards(side), "tx", "off"]))
        self._settle()

    def _settle(self) -> None:
        """Waits until nothing is under way. Raises `AgentError` where that takes too long."""
        end = time.monotonic() + _PATIENCE_S
        before = self._counted()
        while True:
            time.sleep(_LOOK_S)
            now = self._counted()
            if now.passed == before.passed and now.is_still:
                return
            if time.monotonic() > end:
                raise AgentError(
                    "agent-silent",
                    f"packets still pass through the network of {self._devices[0].device} after {_PATIENCE_S:g} s, so "
                    "their origin is not known; try again when this machine is less busy",
                )
            before = now

    def _carry(self, packet: bytes) -> PacketDecision:
        side = self._network.side_of(packet)
        if side is None:
            return PacketDecision(
                verdict="dropped",
                reason="malformed",
                section=None,
                words="It is no IP packet, or has no whole IP header.",
                packets=(),
            )
        if len(packet) > MTU_BYTES:
            raise UsageError(f"a packet has {len(packet)} bytes, and links of the network carry {MTU_BYTES}")
        capture = f"packet-{next(self._numbers)}"
        before = self._begin()
        for name in SIDES:
            self._capture(name, capture)
        self._send(side, packet)
        if self._barrier is not None:
            self._settle()
            self._pass_barrier(self._barrier)
        rises = self._wait(packet, side, before)
        out = [data for text in SIDES for data in self._captured(text, capture)]
        if self._barrier is not None:
            out = [data for data in out if not self._barrier.is_answer(data)]
        return self._decision(packet, rises, out)

    def _begin(self) -> DeviceCounts:
        """The counters before a packet. Raises `AgentError` where anything has passed since the one before it was taken
        for dealt with."""
        counted = self._counted()
        if self._ended is not None and counted.passed != self._ended.passed:
            raise AgentError(
                "agent-silent",
                f"{self._devices[0].device} still sent something after its packet counted as finished, so the output "
                "cannot be assigned to a packet; try again when this machine is less busy",
            )
        return counted

    def _send(self, side: Side, packet: bytes) -> None:
        to, by = (mac_of(side, of_device=of_device).replace(":", "") for of_device in (True, False))
        frame = to + by + _ETHERTYPES[packet[0] >> 4] + packet.hex()
        self._lab.agents[self._network.sides[side]].answer(PacketSend(interface="eth0", frame=frame))

    def _pass_barrier(self, barrier: Barrier) -> None:
        """Sends the program a packet of our own behind the other one, and waits for its answer. Raises `AgentError`
        where there is none."""
        self._capture("near", "barrier-0")
        self._send("near", barrier.request())
        end = time.monotonic() + _PATIENCE_S
        for number in count():
            time.sleep(_LOOK_S)
            # Started before the other capture ends, so that no packet is missed between them.
            self._capture("near", f"barrier-{number + 1}")
            if any(map(barrier.is_answer, self._captured("near", f"barrier-{number}"))):
                self._captured("near", f"barrier-{number + 1}")
                return
            if time.monotonic() > end:
                failures = "; ".join(self._lab.failures) or "it answers no echo request behind it"
                raise AgentError(
                    "agent-silent", f"{self._engine} has not finished a packet after {_PATIENCE_S:g} s: {failures}"
                )

    def _wait(self, packet: bytes, side: Side, before: DeviceCounts) -> CountRises:
        """Waits until the packet is dealt with and nothing of it is under way any more. Raises `AgentError` where the
        device does not get on with it."""
        started = time.monotonic()
        earlier = before
        while True:
            time.sleep(_LOOK_S)
            now = self._counted()
            rises = now.risen(before)
            is_quiet = now.passed == earlier.passed and now.outcomes == earlier.outcomes and now.is_still
            waited = time.monotonic() - started
            # Where several tunnels share an address, no tunnel counts a packet that may belong to another.
            is_anyones = waited <= _QUIET_S or len(self._devices) == 1
            arrived = side == "far" and is_anyones and self._is_delivered(packet, rises)
            is_open = self._is_open(now, rises, arrived=arrived)
            if is_quiet and not is_open and (self._is_seen(packet, rises) or waited > _QUIET_S):
                self._ended = now
                return rises
            if waited > _PATIENCE_S:
                raise self._not_done(rises)
            earlier = now

    def _is_seen(self, packet: bytes, rises: CountRises) -> bool:
        """True if there is word of the packet. Of an ICMP error that the node itself gets, user space may say more
        afterwards."""
        if self._barrier is not None or rises.outcomes:
            return True
        is_error = destination_of(packet) in self._network.local and _protocol(packet) in (_ICMP, _ICMPV6)
        return bool(rises.node) and not is_error

    def _is_open(self, now: DeviceCounts, rises: CountRises, *, arrived: bool) -> bool:
        """True if user space has got something that it has not dealt with."""
        if self._device_is_silent:
            return False
        if now.done is not None:
            return not self._backlog.is_idle(now)
        number = sum(rise for name, rise in rises.outcomes.items() if not name.startswith("handed "))
        return number < rises.handed + int(arrived)

    def _is_delivered(self, packet: bytes, rises: CountRises) -> bool:
        """True if the node gave the slow path of a tunnel a packet."""
        group = "Ip" if packet[0] >> 4 == 4 else "Ip6"
        is_tunneled = destination_of(packet) in self._network.local and _protocol(packet) == self._network.protocol
        return is_tunneled and f"{group}.InDelivers" in rises.node

    def _not_done(self, rises: CountRises) -> AgentError:
        return AgentError(
            "agent-silent",
            f"the device {self._devices[0].device} has not finished a packet after {_PATIENCE_S:g} s, so its output "
            f"cannot be assigned to packets ({rises.words})",
        )

    def _capture(self, side: Side, capture: str) -> None:
        self._lab.agents[self._network.sides[side]].answer(
            CaptureStart(
                capture=capture,
                interface="eth0",
                addresses=[],
                after_ns=0,
                max_packets=_MAX_PACKETS,
                max_ns=_CAPTURE_NS,
                snaplen_bytes=_SNAPLEN_BYTES,
            )
        )

    def _captured(self, side: Side, capture: str) -> list[bytes]:
        """Packets that came out on a side: those that were routed there, and so sent to the neighbour that is entered.
        The node's own messages on the link (IGMP, listener reports) go to groups."""
        seen = self._lab.agents[self._network.sides[side]].answer(CaptureStop(capture=capture))
        if seen.dropped:
            raise AgentError("no-capture", f"{seen.dropped} packets on {self._network.sides[side]} were not captured")
        neighbour = bytes.fromhex(mac_of(side, of_device=False).replace(":", ""))
        frames = [bytes.fromhex(packet.data) for packet in seen.packets if packet.outgoing is False]
        return [frame[_ETHERNET_BYTES:] for frame in frames if frame[:6] == neighbour]

    def _decision(self, packet: bytes, rises: CountRises, out: Sequence[bytes]) -> PacketDecision:
        self._keep_fragments(packet, rises)
        verdict, reason, words = rises.verdict, rises.reason, rises.words
        if self._device_is_silent and verdict != "answered":
            changed = any(data[0] >> 4 != packet[0] >> 4 for data in out)
            verdict = "translated" if changed else "answered" if out else "dropped"
            reason, words = self._engine, f"{self._engine} does not say why."
        if verdict == "translated" and not out:
            # The device counts a packet before its node receives it.
            held = rises.is_held
            verdict, reason = ("waits", "fragment-waits") if held else ("dropped", "node")
            words += " Its node then kept it for reassembly." if held else " Its node then sent nothing of it on."
        return PacketDecision(
            verdict=verdict or "dropped", reason=reason, section=None, words=words, packets=tuple(out)
        )

    def _keep_fragments(self, packet: bytes, rises: CountRises) -> None:
        """Counts the fragments that wait."""
        whose = (packet[12:20], packet[9], packet[4:6]) if packet[0] >> 4 == 4 else (packet[8:40], packet[44:48])
        if rises.is_held:
            self._held[whose] = self._held.get(whose, 0) + 1
        elif any(name.endswith(".ReasmOKs") for name in rises.node):
            self._held.pop(whose, None)

    def _counted(self) -> DeviceCounts:
        """The counters of the device, and then those of its node: see `DeviceCounts`."""
        node = self._lab.agents[NODE]
        names = [device.device for device in self._devices]
        if self._device_is_silent:
            return of_program(node.answer(Counters()), names)
        if not isinstance(self._devices[0], Translator):
            tunnels = node.answer(TunnelCountersRequest()).tunnels
            return of_tunnels(tunnels, node.answer(Counters()))
        [state] = node.answer(TranslatorCountersRequest()).translators.values()
        counted = of_translator(state, node.answer(Counters()), names)
        self._backlog.note(counted)
        return counted


def _protocol(packet: bytes) -> int:
    """The number of what follows an IP header, and a Fragment header."""
    if packet[0] >> 4 == 4:
        return packet[9]
    return packet[40] if packet[6] == 44 and len(packet) > 40 else packet[6]
