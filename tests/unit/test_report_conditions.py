"""The settings that held: in which nodes, on which sockets, and what of a run without them is the machine's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import synthetic

from sixbench.bench.node_settings import merged
from sixbench.report.conditions import node_properties, socket_properties
from sixbench.report.run_description import environment_properties
from sixbench.store import Run

pytestmark = pytest.mark.computes

CONGESTION, METRICS = "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_no_metrics_save"


def with_nodes(nodes: dict[str, dict[str, list[str]]]) -> Run:
    run = synthetic.small().in_memory()
    environment = replace(run.manifest.environment, nodes=nodes)
    return replace(run, manifest=replace(run.manifest, environment=environment))


def test_what_every_node_had_is_told_once() -> None:
    run = with_nodes({"h1": {METRICS: ["1"]}, "r1": {METRICS: ["1"]}})
    assert node_properties(run) == [(METRICS, "1 in every node")]


def test_where_nodes_differ_each_is_named() -> None:
    run = with_nodes({"h1": {METRICS: ["1"]}, "r1": {METRICS: ["0"]}, "h2": {METRICS: ["1"]}})
    assert node_properties(run) == [(METRICS, "1 in h1 and h2; 0 in r1")]


def test_a_setting_of_one_node_alone_is_told_of_that_node() -> None:
    run = with_nodes({"h1": {}, "r1": {"net.ipv4.ip_default_ttl": ["33"]}})
    assert node_properties(run) == [("net.ipv4.ip_default_ttl", "33 in r1")]


def test_where_networks_of_a_run_differ_a_node_has_both_values() -> None:
    nodes = merged({"h1": {METRICS: ["1"]}}, {"h1": {METRICS: ["0"]}}, {"h1": {METRICS: ["1"]}})
    assert node_properties(with_nodes(nodes)) == [(METRICS, "1 or 0 in every node, by network")]


def test_of_many_nodes_the_first_are_named() -> None:
    nodes = {f"r{number}": {METRICS: ["0" if number else "1"]} for number in range(12)}
    assert node_properties(with_nodes(nodes)) == [(METRICS, "1 in r0; 0 in r1, r2, r3, r4, r5, r6 and 5 more")]


def test_the_nodes_default_of_congestion_control_is_not_told_as_what_sockets_had() -> None:
    [(_, value)] = node_properties(with_nodes({"h1": {CONGESTION: ["bbr"]}}))
    assert value.startswith("bbr in every node; the workloads do not use this default")


def test_the_machines_settings_are_left_out_where_the_nodes_are_known() -> None:
    run = with_nodes({"h1": {METRICS: ["1"]}})
    assert "net.ipv4.tcp_rmem" in run.manifest.environment.sysctls
    assert "net.ipv4.tcp_rmem" not in dict(environment_properties(run))


def test_a_run_that_did_not_ask_its_nodes_says_that_the_settings_are_the_machines() -> None:
    run = synthetic.small().in_memory()
    value = dict(environment_properties(run))[CONGESTION]
    assert value == "bbr (before the network was built; the values in the nodes were not recorded)"


def test_every_kernel_has_its_own_nodes() -> None:
    run = with_nodes({})
    guests = {
        kernel: replace(run.manifest.environment, nodes={"h1": {METRICS: [value]}})
        for kernel, value in (("debian-5.10", "0"), ("debian-6.1", "1"))
    }
    run = replace(run, manifest=replace(run.manifest, guests=guests))
    assert node_properties(run) == [(METRICS, "0 in h1 on debian-5.10; 1 in h1 on debian-6.1")]


def socket(**changes: Any) -> dict[str, Any]:
    granted = {
        "congestion": "cubic",
        "mss_bytes": 1448,
        "sndbuf_bytes": 46080,
        "rcvbuf_bytes": 131072,
        "nodelay": False,
    }
    return granted | changes


def test_sockets_are_told_as_they_were_read_back_in_valid_trials() -> None:
    run = synthetic.small(blocks=1).in_memory()
    [stream, other, *rest] = [trial for trial in run.trials if trial.workload == "tcp-stream"]
    first = replace(stream, client={"forward_sender": {"socket": socket(sndbuf_bytes=4194304)}})
    second = replace(first, client={"parts": {"load": {"socket": socket(mss_bytes=1428)}}}, server={"socket": socket()})
    spoiled = replace(other, status="invalid", client={"socket": socket(congestion="bbr")})
    [(name, value)] = socket_properties(replace(run, trials=[first, second, spoiled]))
    assert name == "Sockets of tcp-stream"
    assert value.replace("\N{NO-BREAK SPACE}", "") == (
        "congestion control cubic, TCP_NODELAY off, MSS 1428 to 1448 bytes, send buffer 46080 to 4194304 bytes, "
        "receive buffer 131072 bytes; read back from the sockets at the end"
    )
    assert socket_properties(replace(run, trials=rest)) == []
