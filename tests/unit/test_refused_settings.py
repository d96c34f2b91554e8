"""Settings of nodes that this machine's kernel does not have or refuses: where that is told, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from sixbench.bench import refused_settings
from sixbench.bench.refused_settings import check_setting_names
from sixbench.model.errors import ExperimentError
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.overrides import apply_set
from sixbench.plan.setting_problems import problems_of_settings
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

NODES = """\
topology:
  nodes:
    h1: {kind: host, sysctl: {net.ipv4.tcp_sack: 1}}
    r1:
      kind: router
      sysctl:
        net.ipv4.ip_forward: 2
    h2: host
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
"""

CHAIN = """\
topology:
  chain: 3
  sysctl:
    net.ipv4.ip_forward: 2
"""

REFUSAL = 'refuses "2" for net.ipv4.ip_forward: Invalid argument'
SETTING = "net.ipv4.ip_forward"


def test_a_refused_value_is_told_where_it_is_written() -> None:
    error = problems_of_settings(parse_yaml(NODES, "a.yaml"), {("r1", SETTING): REFUSAL})
    assert (str(error), error.exit_code) == (
        f"a.yaml:7: topology.nodes.r1.sysctl.{SETTING}: in r1 the kernel {REFUSAL}",
        2,
    )


@pytest.mark.parametrize("text", [CHAIN, CHAIN.replace("topology:\n", "").replace("\n  ", "\n")[2:]])
def test_a_setting_of_many_nodes_is_told_once(text: str) -> None:
    refusals = {(node, SETTING): REFUSAL for node in ("h1", "r1", "h2")}
    error = problems_of_settings(parse_yaml(text, "a.yaml"), refusals)
    line = text.splitlines().index(next(line for line in text.splitlines() if SETTING in line)) + 1
    assert str(error) == f"a.yaml:{line}: topology.sysctl.{SETTING}: in h1, r1, h2 the kernel {REFUSAL}"


def test_a_setting_of_the_command_line_is_told_as_such() -> None:
    change = f"topology.nodes.r1.sysctl={{{SETTING}: 2}}"
    source = apply_set(parse_yaml(NODES, "a.yaml"), [change])
    error = problems_of_settings(source, {("r1", SETTING): REFUSAL})
    assert str(error).startswith(f"--set {change}: topology.nodes.r1.sysctl.{SETTING}: in r1 the kernel ")


@pytest.fixture
def settings_of_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "net" / "ipv4"
    directory.mkdir(parents=True)
    (directory / "ip_forward").write_text("0\n")
    (directory / "tcp_sack").write_text("1\n")
    monkeypatch.setattr(refused_settings, "SYSCTLS", tmp_path)
    return directory


def check_names(text: str) -> None:
    source = parse_yaml(text, "a.yaml")
    check_setting_names([read_topology_only(source)], lambda: source)


def test_who_may_make_no_node_is_told_which_names_are_wrong(settings_of_a_kernel: Path) -> None:
    check_names(NODES)
    with pytest.raises(ExperimentError) as caught:
        check_names(NODES.replace("tcp_sack", "tcp_sak"))
    assert str(caught.value) == (
        "a.yaml:3: topology.nodes.h1.sysctl.net.ipv4.tcp_sak: in h1 the kernel has no setting net.ipv4.tcp_sak; "
        'did you mean "net.ipv4.tcp_sack"?'
    )


@pytest.mark.parametrize("name", ["net.netfilter.nf_conntrack_max", "net/netfilter/nf_conntrack_max"])
def test_nothing_is_said_of_what_a_module_may_bring(settings_of_a_kernel: Path, name: str) -> None:
    check_names(NODES.replace("net.ipv4.tcp_sack", name))


def test_nothing_is_said_where_there_are_no_settings_to_look_at(
    settings_of_a_kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_settings, "SYSCTLS", settings_of_a_kernel / "elsewhere")
    check_names(NODES.replace("tcp_sack", "tcp_sak"))


def test_settings_of_interfaces_have_another_hint(settings_of_a_kernel: Path) -> None:
    with pytest.raises(ExperimentError, match="name all or default in place of an interface"):
        check_names(NODES.replace("net.ipv4.tcp_sack", "net.ipv4.conf.eth0.rp_filter"))
