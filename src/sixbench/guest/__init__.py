"""An emulated machine (QEMU) with a chosen Linux kernel, in which sixbench itself runs, by a clock of instructions.

`kernels` knows the kernels and keeps them, `debian` fetches them through apt; `image` puts this very sixbench, with its
Python and the programs that it calls, into a file system; `initramfs` is what the kernel starts first; `memory` lays
kernel modules, that file system and a place for results into the guest's memory, so that nothing comes from outside
while it runs; `confinement` takes QEMU's rights away; `machine` starts QEMU, watches it and takes the results out;
`boot` does all of it. `device` is another machine: the device under test in a node, on this machine's clock, without
sixbench in it. Imports `model` only: `bench` knows what a command in a guest means.
"""

from .boot import GuestResult, GuestTask, boot
from .device import DeviceGuest, device_fields, device_guest
from .initramfs import JOB
from .kernels import GuestKernel, add_kernel, find_kernel, kept_kernels, not_kept, remove_kernel
from .kvm import why_no_kvm
from .machine import find_qemu
