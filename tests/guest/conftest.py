"""Emulated machines with other kernels: skipped where QEMU is not installed, failed if `SIXBENCH_EXPECT_GUEST=1`."""

from __future__ import annotations

import os

import pytest

from sixbench.guest import add_kernel, find_kernel, find_qemu
from sixbench.model.errors import CapabilityError

KERNEL = "debian-6.1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where the machine cannot boot a guest, says why."""
    if os.environ.get("SIXBENCH_EXPECT_GUEST") == "1":
        return
    try:
        find_qemu()
    except CapabilityError as error:
        for item in items:
            if "/tests/guest/" in str(item.path):
                item.add_marker(pytest.mark.skip(reason=str(error)))


@pytest.fixture(scope="session", autouse=True)
def kernel() -> None:
    """Fetches the kernel of the tests where it is not kept yet: no run does."""
    try:
        find_kernel(KERNEL)
    except CapabilityError:
        add_kernel(KERNEL)
