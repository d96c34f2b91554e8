"""Jool as an engine: what it is told, what it refuses, and how its modules are built for a kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sixbench.bench.mechanism_doctor import BETWEEN, _line
from sixbench.guest import jool as building
from sixbench.mechanisms import MECHANISMS, MechanismError, install, tayga
from sixbench.mechanisms.jool import HOPS, make, unfit
from sixbench.model.device import Device
from sixbench.model.errors import CapabilityError
from sixbench.model.network import Network
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path as NetworkPath

pytestmark = pytest.mark.computes


def network(mechanism: str, engine: str | None = "jool", **options: Scalar) -> Network:
    kind = MECHANISMS[mechanism]
    named = {name.replace("_", "-"): value for name, value in options.items()}
    path = NetworkPath(
        name="p", mechanism=mechanism, family=kind.family(named), nodes=kind.sample, engine=engine, options=named
    )
    return install(path, _line(), BETWEEN)


def script(installed: Network) -> list[str]:
    (device,) = installed.devices
    assert unfit(device) is None
    (request,) = make(device).requests
    assert request.op == "exec"
    return str(request.fields["argv"][2]).splitlines()


@pytest.mark.parametrize("mechanism", ["siit", "siit-dc", "nat64"])
def test_it_is_an_engine_that_is_tried_after_ours(mechanism: str) -> None:
    assert MECHANISMS[mechanism].engines[-1] == "jool"


@pytest.mark.parametrize("prefix", ["2001:db8::/32", "2001:db8:100::/40", "2001:db8:64::/96"])
def test_an_instance_of_siit_has_the_prefix_and_the_table(prefix: str) -> None:
    installed = network("siit", prefix=prefix, zero_checksum="compute", lowest_ipv6_mtu=1400)
    actual_script = script(installed)
    assert f"jool_siit instance add siit-1 --netfilter --pool6 {prefix}" in actual_script
    assert "jool_siit -i siit-1 global update amend-udp-checksum-zero true" in actual_script
    assert "jool_siit -i siit-1 global update lowest-ipv6-mtu 1400" in actual_script
    (device,) = installed.translators
    assert f"jool_siit -i siit-1 global update rfc6791v4-prefix {device.mapping['own4']}/32" in actual_script
    assert [line for line in actual_script if "eamt add" in line] == [
        f"jool_siit -i siit-1 eamt add {ipv4} {ipv6}" for ipv4, ipv6 in device.mapping["explicit"]
    ]
    assert device.hops == HOPS == 1


def test_nat64_has_a_pool_of_the_nodes_address_and_no_nat44() -> None:
    installed = network("nat64", ports=100)
    (device,) = installed.translators
    pool = installed.legs[-1].source
    actual_script = script(installed)
    for protocol in ("tcp", "udp", "icmp"):
        assert f"jool -i nat64-1 pool4 add --{protocol} {pool}/32 1024-1123" in actual_script
    assert not any(stage.nft for stages in installed.stages for stage in stages.values())
    assert {prefix.version for prefix in device.prefixes} == {6}


def test_nat64_that_drops_what_jool_computes_is_refused_at_its_option() -> None:
    with pytest.raises(MechanismError, match="always computes") as error:
        network("nat64", zero_checksum="drop")
    assert error.value.option == "zero-checksum"


@pytest.mark.parametrize(("given", "word"), [({}, "true"), ({"errors_from_destination": True}, "false")])
def test_errors_of_nat64_come_from_routers_unless_something_else_is_given(given: dict[str, bool], word: str) -> None:
    assert f"jool -i nat64-1 global update source-icmpv6-errors-better {word}" in script(network("nat64", **given))


@pytest.mark.parametrize("refusing", [unfit, tayga.unfit])
def test_other_translators_say_that_their_siit_has_no_errors_from_destination(
    refusing: Callable[[Device], str | None],
) -> None:
    (device,) = network("siit", errors_from_destination=True).devices
    assert "errors-from-destination" in str(refusing(device))
    (plain,) = network("siit").devices
    assert refusing(plain) is None


def test_the_stateless_half_of_our_nat64_is_not_jools() -> None:
    (device,) = network("nat64", engine=None).devices
    assert "names engine: jool" in str(unfit(device))


def test_a_kernel_without_the_module_is_told_with_the_command_that_mends_it() -> None:
    (device,) = network("siit").devices
    (request,) = make(device).requests
    text = str(request.fields["argv"][2])
    assert "this kernel has no module jool_siit; use one that is built with it, by: sixbench kernels add" in text
    assert request.check({"exit": 1, "stdout": "", "stderr": "this kernel\nhas none\n"}) == "this kernel has none"
    assert request.check({"exit": 0, "stdout": "", "stderr": ""}) is None


def test_headers_sources_and_programs_are_fetched_from_one_suite() -> None:
    of_headers = ["linux-headers-6.1.0-50-common", "linux-kbuild-6.1", "linux-compiler-gcc-12-x86"]
    packages = building.packages_of("linux-headers-6.1.0-50-cloud-amd64", of_headers, ["libc6", "libnl-3-200"])
    assert packages == [
        "linux-headers-6.1.0-50-cloud-amd64",
        "linux-headers-6.1.0-50-common",
        "linux-kbuild-6.1",
        "jool-dkms",
        "jool-tools",
        "libnl-3-200",
    ]


def test_headers_find_each_other_where_they_are_and_this_machines_compiler(tmp_path: Path) -> None:
    headers = tmp_path / "usr/src/linux-headers-1-cloud"
    headers.mkdir(parents=True)
    (headers / "Makefile").write_text("include /usr/src/linux-headers-1-common/Makefile\n")
    (headers / ".kernelvariables").write_text("CC = $(CROSS_COMPILE)gcc-12\n")
    building.relocate(tmp_path, headers)
    assert (headers / "Makefile").read_text() == f"include {tmp_path}/usr/src/linux-headers-1-common/Makefile\n"
    assert (headers / ".kernelvariables").read_text() == "CC = $(CROSS_COMPILE)gcc\n"


def test_modules_are_built_in_the_order_of_their_symbols(tmp_path: Path) -> None:
    built = [argv[-2:] for argv in building.commands(tmp_path / "headers", tmp_path / "mod")]
    assert built == [[f"M={tmp_path}/mod/{part}", "modules"] for part in ("common", "nat64", "siit")]


def tree_of(tmp_path: Path, modules: tuple[str, ...]) -> tuple[Path, Path, Path]:
    tree, source, kept = tmp_path / "tree", tmp_path / "tree/mod", tmp_path / "lib/modules/1-cloud"
    for folder in (tree / "usr/bin", tree / "lib", source, kept):
        folder.mkdir(parents=True)
    for name in modules:
        (source / f"{name}.ko").touch()
    for name in ("jool", "jool_siit"):
        (tree / "usr/bin" / name).touch()
    (tree / "lib/libnl-3.so.200.26.0").touch()
    return tree, source, kept


def test_modules_and_programs_are_kept_beside_the_kernels(tmp_path: Path) -> None:
    tree, source, kept = tree_of(tmp_path, building.MODULES)
    building.keep(tree, source, kept, "building")
    assert sorted(path.stem for path in (kept / "extra").iterdir()) == ["jool", "jool_common", "jool_siit"]
    assert (kept.parent / "jool/lib/libnl-3.so.200").exists()
    assert "exec /usr/lib/modules/jool/programs/jool_siit" in (kept.parent / "jool/bin/jool_siit").read_text()


def test_a_module_that_was_not_made_is_named(tmp_path: Path) -> None:
    tree, source, kept = tree_of(tmp_path, building.MODULES[:2])
    with pytest.raises(CapabilityError, match="building Jool for 1: the compiler produced no jool_siit"):
        building.keep(tree, source, kept, "building Jool for 1")


def test_a_compiler_that_is_missing_is_told_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sixbench.guest.programs.PATH", "/nowhere")
    with pytest.raises(CapabilityError, match="there is no gcc here; install it with: apt-get install gcc"):
        building.check_tools()
