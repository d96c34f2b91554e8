"""Answers of `sixbench doctor` about mechanisms and engines."""

from __future__ import annotations

import pytest

from sixbench.bench.mechanism_doctor import EngineAnswer, unknown_mechanisms
from sixbench.cli.doctor_command import matrix, reasons
from sixbench.engines.kernel import refusal
from sixbench.lab.doctor import Answer, examine
from sixbench.mechanisms import MECHANISMS

pytestmark = pytest.mark.computes


def answer(mechanism: str, engine: str, answer: Answer, reason: str = "seen") -> EngineAnswer:
    return EngineAnswer(mechanism=mechanism, engine=engine, answer=answer, reason=reason)


ANSWERS = [
    answer("6in4", "kernel", "no", "no sit here"),
    answer("6in4", "ebpf", "yes"),
    answer("6to4", "kernel", "no", "no sit here"),
    answer("6to4", "ebpf", "unknown", "it died"),
    answer("vxlan", "kernel", "yes"),
]


def test_mechanisms_by_engines() -> None:
    assert matrix(ANSWERS) == [
        "mechanism  kernel  ebpf",
        "6in4       no      yes",
        "6to4       no      unknown",
        "vxlan      yes     -",
    ]


def test_every_reason_is_said_once_with_what_it_is_the_reason_of() -> None:
    assert reasons(ANSWERS) == [
        "no       kernel: 6in4, 6to4: no sit here",
        "unknown  ebpf: 6to4: it died",
    ]


def test_where_nothing_could_be_tried_every_mechanism_is_unknown_by_each_of_its_engines() -> None:
    answers = unknown_mechanisms("no node")
    assert {(answer.mechanism, answer.engine) for answer in answers} == {
        (mechanism.name, engine)
        for mechanism in MECHANISMS.values()
        if mechanism.node_count != (0, 0)
        for engine in mechanism.engines
    }
    assert {(answer.answer, answer.reason) for answer in answers} == {("unknown", "no node")}
    assert [answer.answer for answer in examine(None, "no node") if answer.name == "network namespaces"] == ["no"]


@pytest.mark.parametrize(
    ("stderr", "line", "words"),
    [
        (
            "Error: Unknown device type.\nCommand failed -:1\n",
            "link add sb type sit local 192.0.2.1",
            "this kernel has no sit devices, or may not load their module (CONFIG_IPV6_SIT)",
        ),
        (
            "RTNETLINK answers: Operation not supported\nCommand failed -:1\n",
            "link add sb type ip6tnl mode ipip6",
            "this kernel has no ip6tnl devices, or may not load their module (CONFIG_IPV6_TUNNEL)",
        ),
        (
            "RTNETLINK answers: Operation not permitted\nCommand failed -:1\n",
            "link add sb type gre",
            "RTNETLINK answers: Operation not permitted",
        ),
        ("", "link add sb type gre", ""),
    ],
)
def test_what_ip_says_becomes_what_the_kernel_lacks(stderr: str, line: str, words: str) -> None:
    assert refusal(stderr, [line, "link set sb up"]) == words
