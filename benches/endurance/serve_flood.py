"""Time in which `sixbench serve` answers good clients while others flood it, over a path with a round trip of 50 ms.

The highest rates come from `stateless_flood.c`, without that delay: a link in user space would be slower than they are.

`measure` builds a network of namespaces: a good client, an attacker and a server behind one router. The server's link
has the delay (our own emulator). `python benches/endurance/serve_flood.py` measures all of `floods` in full.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sixbench.agent import Agent, AgentHub, find_agent
from sixbench.bench.emulation import begin
from sixbench.bench.laboratory import Laboratory
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

WITHIN_S = 1.0
SHARE = 0.99
"""The goal: so many of the good clients start within so long."""
SHARE_BESIDE_A_NETWORK = 0.95
"""The goal beside a network that floods as fast as the machine can: good clients that are served at all. One network in
64 shares its queue."""
ONE_WAY_MS = 25
CLIENT_TIMEOUT_S = 20
NETWORKS = {4: "10.66.0.0/15", 6: "2001:db8:66::/48"}
"""Where floods come from: 512 networks of /24, and one /48."""
LINK = "2001:db8:66:66::/64"
SILENT_NETWORKS = {4: "10.68.0.0/15", 6: "2001:db8:67::/48"}
"""Where half-open and stateless connections come from: nobody has these addresses, so nothing there answers with a
reset."""
SILENT_LINK = "2001:db8:67:67::/64"
SILENT_CUSTOMER = "10.68.7.0/24"
GOOD_NETWORKS = {4: "10.70.{}.1", 6: "2001:db8:7{:03x}::1"}
"""An address of each customer network of good clients: a server tells networks apart by /24 and /48."""


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Attack by `flood.py` or `stateless_flood.c`.

    Attributes:
        kind: `silent`, `slow`, `half-open` or `cookies` of `flood.py`, or `stateless` (`stateless_flood.c`).
        family: of the addresses it comes from, IPv4 or IPv6.
        network: which these addresses are of, if not all of `NETWORKS`.
        addresses: how many there are.
        rate: new connections a second; of `stateless`, 0 is as many as the machine gives.
        held: of `slow`, connections at a time.
    """

    kind: str
    family: int
    addresses: int
    rate: int
    held: int = 0
    network: str | None = None


@dataclass(frozen=True, kw_only=True)
class Served:
    """Results of the good clients during one flood.

    Attributes:
        flood: its name in words.
        times_s: from the start of the client's process to the answer to its first request, of those that got it.
        errors: what the others said.
        attackers: what each attack did: connections opened, connected and failed, cookies got.
    """

    flood: str
    times_s: tuple[float, ...]
    errors: tuple[str, ...]
    attackers: tuple[dict[str, int], ...]

    @property
    def tried(self) -> int:
        """Good clients."""
        return len(self.times_s) + len(self.errors)

    @property
    def in_time(self) -> int:
        """Those that were answered within `WITHIN_S`."""
        return sum(time_s <= WITHIN_S for time_s in self.times_s)

    @property
    def is_reached(self) -> bool:
        """True if enough good clients were served in time."""
        return self.in_time >= SHARE * self.tried

    def is_reached_beside(self, attack: Attack) -> bool:
        """True if enough good clients were served beside a fast flood, late ones too.

        All of them where the flood has a rate. The time is that of a machine that does the flooding, too.
        """
        return len(self.times_s) >= (SHARE_BESIDE_A_NETWORK if attack.rate == 0 else 1.0) * self.tried

    def __str__(self) -> str:
        words = f"{self.flood}: {self.in_time} of {self.tried} good clients started within {WITHIN_S:g} s"
        if self.times_s:
            words += f", median {statistics.median(self.times_s):.3f} s, slowest {max(self.times_s):.3f} s"
        for error in sorted(set(self.errors)):
            words += f"\n  {self.errors.count(error)} times: {error}"
        return words + f"\n  attackers: {json.dumps(self.attackers)}"

    def to_json(self) -> dict[str, object]:
        """Results as they go into a file."""
        return {
            "tried": self.tried,
            "in_time": self.in_time,
            "within_s": WITHIN_S,
            "median_s": statistics.median(self.times_s) if self.times_s else None,
            "slowest_s": max(self.times_s, default=None),
            "errors": {error: self.errors.count(error) for error in sorted(set(self.errors))},
            "attackers": list(self.attackers),
        }


def floods(*, rate: int, crowd: int) -> dict[str, tuple[int, tuple[Attack, ...]]]:
    """All floods by name: the family of the good client, and the attacks.

    Args:
        rate: new connections a second of a flood.
        crowd: half-open and slow clients at a time.
    """
    return {
        "no flood": (4, ()),
        "300 addresses, silent": (4, (Attack(kind="silent", family=4, addresses=300, rate=rate),)),
        "one /64, silent": (6, (Attack(kind="silent", family=6, addresses=1 << 32, rate=rate, network=LINK),)),
        "65536 /64 of one /48, silent": (6, (Attack(kind="silent", family=6, addresses=1 << 32, rate=rate),)),
        "300 addresses, with cookies": (4, (Attack(kind="cookies", family=4, addresses=300, rate=rate),)),
        "one /64, with cookies": (6, (Attack(kind="cookies", family=6, addresses=1 << 32, rate=rate, network=LINK),)),
        f"{crowd} half-open and {crowd} slow": (
            4,
            (
                Attack(kind="half-open", family=4, addresses=300, rate=crowd),
                Attack(kind="slow", family=4, addresses=300, rate=crowd, held=crowd),
            ),
        ),
        f"{crowd} half-open, {crowd} slow and one /64": (
            6,
            (
                Attack(kind="half-open", family=6, addresses=1 << 32, rate=crowd, network=SILENT_LINK),
                Attack(kind="slow", family=6, addresses=1 << 32, rate=crowd, held=crowd, network=LINK),
                Attack(kind="silent", family=6, addresses=1 << 32, rate=rate, network=LINK),
            ),
        ),
    }


def fast_floods(*, rate: int) -> dict[str, tuple[int, tuple[Attack, ...]]]:
    """Floods of connections that say nothing, by `stateless_flood.c`: from hundreds of networks, and from one each.

    Args:
        rate: new connections a second from hundreds of networks, and from one /64. From one /24 and one /48 there are
            as many as the machine gives.
    """
    crowd = Attack(kind="stateless", family=4, addresses=300, rate=rate)
    link = Attack(kind="stateless", family=6, addresses=1 << 31, rate=rate, network=SILENT_LINK)
    customer4 = Attack(kind="stateless", family=4, addresses=256, rate=0, network=SILENT_CUSTOMER)
    customer6 = Attack(kind="stateless", family=6, addresses=1 << 31, rate=0)
    return {
        f"300 addresses, {rate} a second": (4, (crowd,)),
        f"one /64, {rate} a second": (6, (link,)),
        "one /24, all that the machine gives": (4, (customer4,)),
        "one /48, all that the machine gives": (6, (customer6,)),
    }


def measure(name: str, family: int, attacks: Sequence[Attack], *, clients: int, one_way_ms: int = ONE_WAY_MS) -> Served:
    """One flood, and good clients one after the other meanwhile, each of its own customer network.

    Needs the right to make namespaces.

    Args:
        name: of the flood, for the result.
        family: that the good clients come by.
        attacks: what goes on meanwhile.
        clients: how many good clients.
        one_way_ms: delay of the server's link in each direction.
    """
    with AgentHub(find_agent()) as hub, tempfile.TemporaryDirectory(prefix="sixbench-flood-") as folder:
        key = Path(folder) / "key"
        key.touch(0o600)
        key.write_text(secrets.token_hex(32))
        laboratory = _network(hub, one_way_ms, family, clients)
        server = _address(laboratory, "server", family)
        with contextlib.ExitStack() as stack:
            port = stack.enter_context(_serving(laboratory, key))
            attackers = [stack.enter_context(_flooding(laboratory, attack, port)) for attack in attacks]
            words = _inside(laboratory, "good", find_agent(), "connect", server, port, "--key", key)
            sources = [GOOD_NETWORKS[family].format(number) for number in range(clients)]
            outcomes = [_start([*words, "--bind", source]) for source in sources]
            counts = tuple(_end(process) for process in attackers)
        laboratory.close()
    return Served(
        flood=name,
        times_s=tuple(outcome for outcome in outcomes if isinstance(outcome, float)),
        errors=tuple(outcome for outcome in outcomes if isinstance(outcome, str)),
        attackers=counts,
    )


def _network(hub: AgentHub, one_way_ms: int, family: int, clients: int) -> Laboratory:
    delay = f", delay: {one_way_ms}ms, emulator: user" if one_way_ms else ""
    text = (
        "nodes: {good: host, bad: host, r1: router, server: host}\n"
        "links: [{endpoints: [good, r1]}, {endpoints: [bad, r1]}, "
        f"{{endpoints: [r1, server], name: far{delay}}}]\n"
    )
    laboratory = Laboratory(hub, Blueprint(topology=read_topology_only(parse_yaml(text, "flood.yaml"))))
    if laboratory.emulator is not None:
        begin(laboratory, "flood")
    for number in range(clients):
        _lead_to(laboratory, "good", GOOD_NETWORKS[family].format(number), family)
        _run(laboratory.agents["good"], f"ip address add {GOOD_NETWORKS[family].format(number)} dev lo")
    for family in (4, 6):
        _run(laboratory.agents["bad"], f"ip -{family} route add local {NETWORKS[family]} dev lo")
        _run(laboratory.agents["bad"], f"sysctl -qw net.ipv{family}.ip_nonlocal_bind=1")
        for network in (NETWORKS[family], SILENT_NETWORKS[family]):
            _lead_to(laboratory, "bad", network, family)
    return laboratory


def _lead_to(laboratory: Laboratory, node: str, network: str, family: int) -> None:
    """Routes of the router and the server to a network behind a node."""
    _run(laboratory.agents["r1"], f"ip -{family} route add {network} via {_address(laboratory, node, family)}")
    gateway = _address(laboratory, "r1", family, beside="server")
    _run(laboratory.agents["server"], f"ip -{family} route add {network} via {gateway}")


def _run(agent: Agent, command: str) -> str:
    done = agent.call("exec", argv=command.split())
    if done["exit"] != 0:
        raise RuntimeError(f"{agent.name}: {command}: {done['stderr']}")
    return str(done["stdout"])


def _address(laboratory: Laboratory, node: str, family: int, beside: str | None = None) -> str:
    [link] = [
        link
        for link in laboratory.topology.links_of(node)
        if beside is None or link in laboratory.topology.links_of(beside)
    ]
    end = link.end_of(node)
    interface = end.ipv4 if family == 4 else end.ipv6
    assert interface is not None
    return str(interface.ip)


def _inside(laboratory: Laboratory, node: str, *words: object) -> list[str]:
    return ["nsenter", "-t", str(laboratory.agents[node].pid), "-n", *map(str, words)]


@contextlib.contextmanager
def _serving(laboratory: Laboratory, key: Path) -> Iterator[int]:
    words = _inside(laboratory, "server", find_agent(), "serve", "--listen", "0.0.0.0,::", "--port", 0, "--key", key)
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            yield int(json.loads(process.stdout.readline())["listening"][0]["port"])
        finally:
            process.terminate()


@contextlib.contextmanager
def _flooding(laboratory: Laboratory, attack: Attack, port: int) -> Iterator[subprocess.Popen[str]]:
    """An attacker that is at its strength."""
    server = _address(laboratory, "server", attack.family)
    silent = attack.kind in ("half-open", "stateless")
    network = attack.network or (SILENT_NETWORKS if silent else NETWORKS)[attack.family]
    if attack.kind == "stateless":
        words = _inside(laboratory, "bad", _stateless_flood(), *_interface_and_router(laboratory, attack.family))
        words += [network, str(attack.addresses), server, str(port), str(attack.rate)]
    else:
        script = Path(__file__).with_name("flood.py")
        words = _inside(laboratory, "bad", sys.executable, "-I", script, attack.kind)
        words += [server, str(port), "--network", network]
        words += ["--addresses", str(attack.addresses), "--rate", str(attack.rate), "--held", str(attack.held)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            readline = process.stdout.readline()
            if readline != "flooding\n":
                raise RuntimeError(f"{attack} did not begin: {readline}")
            yield process
        finally:
            process.kill()


@functools.cache
def _stateless_flood() -> Path:
    """The compiled program, in a folder that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="sixbench-stateless-"))
    atexit.register(shutil.rmtree, folder)
    source = Path(__file__).with_name("stateless_flood.c")
    program = folder / source.stem
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program


def _interface_and_router(laboratory: Laboratory, family: int) -> tuple[str, str]:
    """The attacker's interface, and the router's MAC address there."""
    router = _address(laboratory, "r1", family, beside="bad")
    interfaces = json.loads(_run(laboratory.agents["r1"], "ip -j address"))
    [mac] = [
        interface["address"]
        for interface in interfaces
        if any(address["local"] == router for address in interface["addr_info"])
    ]
    [route] = json.loads(_run(laboratory.agents["bad"], f"ip -j route get {router}"))
    return route["dev"], mac


def _end(process: subprocess.Popen[str]) -> dict[str, int]:
    """Ends an attacker: what it did."""
    out, _ = process.communicate(timeout=CLIENT_TIMEOUT_S)
    counts: dict[str, int] = json.loads(out.splitlines()[-1])
    return counts


def _start(words: list[str]) -> float | str:
    """A good client: seconds until its first request is answered, or what it said instead."""
    hello = json.dumps({"id": 1, "op": "hello", "protocol": 1, "version": "flood"})
    began = time.monotonic()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:  # type: ignore[call-overload]
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(hello + "\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        took_s = time.monotonic() - began
        _, error = process.communicate(timeout=CLIENT_TIMEOUT_S)
    if not answer:
        return str(error.strip())
    document = json.loads(answer)
    return took_s if "ok" in document else str(document["error"]["message"])


def main() -> int:
    """All floods in full."""
    import argparse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--rate", type=int, default=1300)
    parser.add_argument("--fast-rate", type=int, default=7600)
    parser.add_argument("--crowd", type=int, default=1000)
    parser.add_argument("--json", action="store_true", help="the counts as JSON, and these words to standard error")
    given = parser.parse_args()
    all_served: dict[str, Served] = {}
    slow, fast = floods(rate=given.rate, crowd=given.crowd), fast_floods(rate=given.fast_rate)
    reached, stopped = True, False
    try:
        for name, (family, attacks) in (slow | fast).items():
            one_way_ms = 0 if name in fast else ONE_WAY_MS
            served = all_served[name] = measure(name, family, attacks, clients=given.clients, one_way_ms=one_way_ms)
            reached &= served.is_reached_beside(attacks[0]) if name in fast else served.is_reached
            print(served, file=sys.stderr if given.json else sys.stdout, flush=True)
            if given.json:
                results = {"floods": {name: served.to_json() for name, served in all_served.items()}}
                print(json.dumps(results), flush=True)
    except KeyboardInterrupt:  # the floods that have ended count
        stopped = True
    if not reached:
        return 1
    return 130 if stopped else 0


if __name__ == "__main__":
    raise SystemExit(main())
