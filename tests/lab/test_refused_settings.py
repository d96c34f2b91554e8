"""Settings that the kernel refuses: told with file and line by plan, run and lab, before anything is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NETWORK = """\
nodes:
  h1: {{kind: host, sysctl: {{{h1}}}}}
  h2: {{kind: host, sysctl: {{net.ipv4.tcp_sack: 0, {h2}}}}}
links: [{{endpoints: [h1, h2]}}]
"""
EXPERIMENT = """\
topology:
  {network}
paths: {{ipv4: native4}}
workloads: [ping: {{count: 1}}]
blocks: 1
"""
FINE = "net.ipv4.tcp_ecn: 0"


def write(directory: Path, h1: str = FINE, h2: str = FINE) -> Path:
    file = directory / "experiment.yaml"
    network = NETWORK.format(h1=h1, h2=h2).strip().replace("\n", "\n  ")
    file.write_text(EXPERIMENT.format(network=network))
    return file


@pytest.mark.parametrize(
    ("h1", "h2", "line", "words"),
    [
        ("net.ipv4.nosuch: 1", FINE, 3, "in h1 the kernel has no setting net.ipv4.nosuch"),
        (FINE, "net.ipv4.tcp_ecn: 77", 4, 'in h2 the kernel refuses "77" for net.ipv4.tcp_ecn: Invalid argument'),
        (
            FINE,
            "net.ipv4.tcp_congestion_control: [cubic, banana]",
            4,
            'in h2 the kernel refuses "banana" for net.ipv4.tcp_congestion_control: No such file or directory',
        ),
    ],
)
def test_a_setting_that_the_kernel_refuses(
    sixbench: Any, tmp_path: Path, h1: str, h2: str, line: int, words: str
) -> None:
    file = write(tmp_path, h1, h2)
    for command in (["plan", file], ["run", file, "--out", tmp_path / "run"]):
        done = sixbench(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"{file}:{line}: topology.nodes.h")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [file]


def test_several_levels_of_settings_that_are_fine_are_run(sixbench: Any, tmp_path: Path) -> None:
    file = write(tmp_path, h1="net.ipv4.tcp_ecn: [0, 1]", h2="net.ipv4.tcp_ecn: [0, 1]")
    done = sixbench("run", file, "--out", tmp_path / "run", "--json", figures=False)
    assert done.returncode == 0, done.stderr


def test_a_network_by_hand_is_not_built_with_a_setting_that_is_refused(sixbench: Any, tmp_path: Path) -> None:
    file = tmp_path / "network.yaml"
    file.write_text(NETWORK.format(h1="net.ipv4.nosuch: 1", h2=FINE))
    done = sixbench("lab", "up", file, "--lab", "refused-settings")
    assert done.returncode == 2
    assert f"{file}:2: topology.nodes.h1.sysctl.net.ipv4.nosuch: in h1 the kernel has no setting" in done.stderr
    assert "refused-settings" not in sixbench("lab", "list").stdout
