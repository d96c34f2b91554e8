"""Demands of `make wheels` on the agent's wheel."""

from __future__ import annotations

import runpy
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.computes

check_agent_wheel = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[2] / "tools" / "check-agent-wheel")))

VERSIONS = """\
Version symbols section '.gnu.version' contains 163 entries:
  000:   0 (*local*)       2 (GLIBC_2.99)
Version needs section '.gnu.version_r' contains 2 entries:
  0x0000: Version: 1  File: libgcc_s.so.1  Cnt: 1
  0x0030:   Name: GCC_4.2.0  Flags: none  Version: 28
  0x0020: Version: 1  File: libc.so.6  Cnt: 2
  0x0070:   Name: GLIBC_2.2.5  Flags: none  Version: 3
  0x0080:   Name: GLIBC_2.34  Flags: none  Version: 10
"""


def test_the_newest_symbols_that_are_needed_count() -> None:
    assert check_agent_wheel.needed_glibc(VERSIONS) == (2, 34)


@pytest.mark.parametrize(
    ("needed", "name", "problems"),
    [
        ((2, 34), "sixbench_agent-0.1.0-py3-none-manylinux_2_34_x86_64.whl", []),
        ((2, 34), "sixbench_agent-0.1.0-py3-none-manylinux_2_36_x86_64.whl", []),
        (
            (2, 39),
            "sixbench_agent-0.1.0-py3-none-manylinux_2_39_x86_64.whl",
            [
                "needs glibc 2.39, and Debian 12 has 2.36",
                "its name says glibc 2.39, so that pip refuses it on Debian 12",
            ],
        ),
        (
            (2, 34),
            "sixbench_agent-0.1.0-py3-none-manylinux_2_17_x86_64.whl",
            ["its name says glibc 2.17, and it needs 2.34"],
        ),
        (
            (2, 34),
            "sixbench_agent-0.1.0-py3-none-linux_x86_64.whl",
            ["its name does not say which glibc it needs (manylinux_2_N)"],
        ),
    ],
)
def test_the_name_says_what_is_needed_and_debian_12_has_it(
    needed: tuple[int, int], name: str, problems: list[str]
) -> None:
    assert check_agent_wheel.problems_of_versions(needed, check_agent_wheel.tag_glibc(name)) == problems


def elf(machine: int) -> bytes:
    return b"\x7fELF" + bytes(12) + struct.pack("<HH", 1, machine) + bytes(100)


def test_it_is_stripped_and_has_its_programs_for_the_kernel() -> None:
    whole = elf(62) + 3 * elf(247)
    assert check_agent_wheel.problems_of_content("  [ 1] .text  PROGBITS", whole) == []
    assert check_agent_wheel.problems_of_content("  [32] .symtab           SYMTAB ", elf(62) + elf(247)) == [
        "is not stripped",
        "has 1 programs for the kernel inside, not 3",
    ]
