"""Every option of iperf3 works in `sixbench measure` or is answered with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sixbench.cli.iperf3_arguments import without_others
from sixbench.model.errors import UsageError
from sixbench.plan.iperf3_options import OTHER_BY_NAME, OTHER_OPTIONS

pytestmark = pytest.mark.computes

DOCUMENT = Path(__file__).parents[2] / "docs" / "two-machines.md"

IPERF3 = [
    "-p",
    "--port",
    "-f",
    "--format",
    "-i",
    "--interval",
    "-I",
    "--pidfile",
    "-F",
    "--file",
    "-A",
    "--affinity",
    "-B",
    "--bind",
    "-V",
    "--verbose",
    "-J",
    "--json",
    "--json-stream",
    "--json-stream-full-output",
    "--logfile",
    "--forceflush",
    "--timestamps",
    "--rcv-timeout",
    "--snd-timeout",
    "--cntl-ka",
    "-m",
    "--mptcp",
    "-d",
    "--debug",
    "-v",
    "--version",
    "-h",
    "--help",
    "-s",
    "--server",
    "-D",
    "--daemon",
    "-1",
    "--one-off",
    "--server-bitrate-limit",
    "--server-max-duration",
    "--idle-timeout",
    "--rsa-private-key-path",
    "--authorized-users-path",
    "--time-skew-threshold",
    "--use-pkcs1-padding",
    "-c",
    "--client",
    "--sctp",
    "-X",
    "--xbind",
    "--nstreams",
    "-u",
    "--udp",
    "--connect-timeout",
    "-b",
    "--bitrate",
    "--pacing-timer",
    "--fq-rate",
    "-t",
    "--time",
    "-n",
    "--bytes",
    "-k",
    "--blockcount",
    "-l",
    "--length",
    "--cport",
    "-P",
    "--parallel",
    "-R",
    "--reverse",
    "--bidir",
    "-w",
    "--window",
    "-C",
    "--congestion",
    "-M",
    "--set-mss",
    "-N",
    "--no-delay",
    "-4",
    "-6",
    "-S",
    "--tos",
    "--dscp",
    "-L",
    "--flowlabel",
    "-Z",
    "--zerocopy",
    "--skip-rx-copy",
    "-O",
    "--omit",
    "-T",
    "--title",
    "--extra-data",
    "--get-server-output",
    "--udp-counters-64bit",
    "--repeating-payload",
    "--dont-fragment",
    "--gsro",
    "--username",
    "--rsa-public-key-path",
]
"""The options in the manual page of iperf 3.18."""

VALUED = {"-t", "--time", "-B", "-c", "--set"}


def test_every_option_of_iperf3_is_ours_or_answered(sixbench: Callable[..., Any]) -> None:
    ours = set(re.findall(r"(?<![\w-])--?[\w-]+", sixbench("measure", "--help").stdout))
    assert [name for name in IPERF3 if name not in ours and name not in OTHER_BY_NAME] == []
    assert [name for name in OTHER_BY_NAME if name not in IPERF3] == []


def test_the_document_has_every_one_of_them() -> None:
    text = DOCUMENT.read_text()
    assert [name for option in OTHER_OPTIONS for name in option.names if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["h", "-f", "m", "-t", "5"], ["h", "-t", "5"]),
        (["-fm", "-t5", "h"], ["-t5", "h"]),
        (["-c", "h", "-uVR"], ["-c", "h", "-uR"]),
        (["-V", "h"], ["h"]),
        (["-uVc", "h"], ["-uc", "h"]),
        (["--format=m", "h", "--format", "k"], ["h"]),
        (["--cntl-ka=5/5/5", "h", "--cntl-ka", "-t", "-V"], ["h", "-t", "-V"]),
        (["--set", "-V", "-B", "-f"], ["--set", "-V", "-B", "-f"]),
        (["h", "--", "-V"], ["h", "--", "-V"]),
        (["-", "--nonsense", "-Q"], ["-", "--nonsense", "-Q"]),
    ],
)
def test_options_that_change_nothing_are_left_out(
    words: list[str], kept: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert without_others(words, VALUED) == kept
    output = capsys.readouterr()
    assert output.out == ""
    assert ("is left out" in output.err) == (kept != words)


@pytest.mark.parametrize("option", [option for option in OTHER_OPTIONS if not option.is_harmless], ids=str)
def test_an_option_that_would_change_something_is_answered(sixbench: Callable[..., Any], option: Any) -> None:
    for name in option.names:
        done = sixbench("measure", "127.0.0.1", name, *(["x"] if option.takes_value else []))
        assert (done.exit, done.stdout, done.stderr) == (2, "", f"sixbench: {name}: {option.instead}\n")


def test_in_a_group_of_options_too() -> None:
    with pytest.raises(UsageError, match="-S: packets leave with the class 0"):
        without_others(["-uS4"], VALUED)


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "name a host: sixbench measure HOST"), (["a", "-c", "b"], "name the host once")],
)
def test_the_host_is_named_once(sixbench: Callable[..., Any], words: list[str], message: str) -> None:
    done = sixbench("measure", *words)
    assert done.exit == 2
    assert message in done.stderr


def test_c_names_the_host(sixbench: Callable[..., Any]) -> None:
    by_argument = sixbench("measure", "host.invalid", "-t", "soon")
    assert "-t: " in by_argument.stderr
    assert sixbench("measure", "-c", "host.invalid", "-t", "soon") == by_argument
