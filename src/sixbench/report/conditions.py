"""The settings under which a run measured: those of the nodes and those of the workloads' sockets, as read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.results import sockets_of
from ..store import Environment, Run
from . import words
from .once import once_a_run

MAX_NODES_NAMED = 6
"""So many nodes are named where their settings differ; of more, the first and how many there are."""

CONGESTION = "net.ipv4.tcp_congestion_control"


def node_properties(run: Run) -> list[tuple[str, str]]:
    """The nodes' settings in name and value. Where nodes differ, the value says which has which; where the networks of
    a run differ, a node has several values. Of a run that did not read them back, the machine's are told as such."""
    workers = {name: worker.environment for name, worker in run.manifest.workers.items()}
    environments = run.manifest.guests or workers or {"": run.manifest.environment}
    nodes: list[str] = []
    settings: dict[str, dict[str, list[str]]] = {}
    for place, environment in environments.items():
        for node, values in environment.nodes.items():
            name = f"{node} on {place}" if place and len(environments) > 1 else node
            nodes.append(name)
            for setting, names in values.items():
                settings.setdefault(setting, {})[name] = names
    if not settings:
        return _of_machine(run, run.manifest.environment)
    return [(setting, _value(setting, by_node, nodes)) for setting, by_node in settings.items()]


@once_a_run
def socket_properties(run: Run) -> list[tuple[str, str]]:
    """Settings of the sockets of each workload, as the kernel reported them in the valid trials; nothing of workloads
    whose sockets are not reported."""
    results: dict[str, dict[str, set[Any]]] = {}
    for trial in run.trials:
        if trial.status == "ok":
            for entry in (*sockets_of(trial.client), *sockets_of(trial.server)):
                values = results.setdefault(trial.workload, {})
                for key, value in entry.items():
                    if key in _SOCKET_KEYS:
                        values.setdefault(key, set()).add(value)
    return [(f"Sockets of {workload}", _socket_words(values)) for workload, values in results.items()]


def _of_machine(run: Run, environment: Environment) -> list[tuple[str, str]]:
    """Settings of a run whose nodes were not asked."""
    if run.manifest.experiment.topologies:
        remark = "before the network was built; the values in the nodes were not recorded"
    elif run.manifest.experiment.servers:
        remark = "of this machine"
    else:
        remark = "of this machine; those of the other one are not known"
    return [(name, f"{_plain(value)} ({remark})") for name, value in environment.sysctls.items()]


def _value(setting: str, by_node: Mapping[str, list[str]], nodes: list[str]) -> str:
    groups: dict[str, list[str]] = {}
    for node, values in by_node.items():
        groups.setdefault(" or ".join(map(_plain, values)), []).append(node)
    if len(groups) == 1 and len(by_node) == len(nodes):
        [text] = groups
        text += " in every node" if " or " not in text else " in every node, by network"
    else:
        text = "; ".join(f"{value} in {_named(nodes)}" for value, nodes in groups.items())
    if setting == CONGESTION:
        text += "; the workloads do not use this default, they set their sockets' own"
    return text


def _named(nodes: list[str]) -> str:
    if len(nodes) <= MAX_NODES_NAMED:
        return words.listing(nodes)
    return f"{', '.join(nodes[:MAX_NODES_NAMED])} and {len(nodes) - MAX_NODES_NAMED} more"


_SIZES = {
    "mss_bytes": "MSS",
    "sndbuf_bytes": "send buffer",
    "rcvbuf_bytes": "receive buffer",
    "window_bytes": "window clamp",
}
_SOCKET_KEYS = {"congestion", "nodelay", *_SIZES}


def _socket_words(values: Mapping[str, set[Any]]) -> str:
    parts = []
    if "congestion" in values:
        parts.append(f"congestion control {words.listing(sorted(map(str, values['congestion'])))}")
    if "nodelay" in values:
        delays = {bool(item) for item in values["nodelay"]}
        parts.append(f"TCP_NODELAY {words.listing(['on' if delay else 'off' for delay in sorted(delays)])}")
    for key, what in _SIZES.items():
        sizes = sorted({int(item) for item in values.get(key, ())})
        if sizes:
            both = words.whole(sizes[0]) + (f" to {words.whole(sizes[-1])}" if len(sizes) > 1 else "")
            parts.append(f"{what} {both} bytes")
    return f"{', '.join(parts)}; read back from the sockets at the end"


def _plain(value: str) -> str:
    return " ".join(value.split())
