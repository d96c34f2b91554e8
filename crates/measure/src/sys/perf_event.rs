//! `perf_event_open(2)`, which no crate of ours wraps.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use nix::errno::Errno;

/// An event that the kernel can count (`type` and `config` of `struct perf_event_attr`).
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// `PERF_TYPE_*`.
    pub kind: u32,
    /// `PERF_COUNT_*`, or another event of that kind.
    pub config: u64,
}

/// `struct perf_event_attr` as far as its first version goes (`PERF_ATTR_SIZE_VER0`, Linux 2.6.31), which every kernel
/// takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    /// Bits, all of them 0: the event counts from the start on, in user space and in the kernel.
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const ATTRIBUTES_BYTES: usize = 64;
const _: () = assert!(size_of::<Attributes>() == ATTRIBUTES_BYTES);

const FORMAT_TOTAL_TIME_ENABLED: u64 = 1 << 0;
const FORMAT_TOTAL_TIME_RUNNING: u64 = 1 << 1;
const FORMAT_GROUP: u64 = 1 << 3;
const ANY_PROCESS: libc::pid_t = -1;
const NO_GROUP: libc::c_int = -1;
/// Since Linux 3.14.
const FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

/// Begins to count an event on a CPU, whichever process runs there; in the group of that leader if there is one, else
/// as the leader of a new group, which is read as a whole with its times (`PERF_FORMAT_GROUP`).
pub fn open(event: Event, cpu: u32, leader: Option<BorrowedFd<'_>>) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: event.kind,
        size: ATTRIBUTES_BYTES as u32,
        config: event.config,
        read_format: FORMAT_TOTAL_TIME_ENABLED | FORMAT_TOTAL_TIME_RUNNING | FORMAT_GROUP,
        ..Attributes::default()
    };
    let cpu = libc::c_int::try_from(cpu).map_err(|_| Errno::EINVAL)?;
    // SAFETY: the kernel reads `size` bytes of the attributes and takes numbers besides.
    let result = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            ptr::from_ref(&attributes),
            ANY_PROCESS,
            cpu,
            leader.map_or(NO_GROUP, |leader| leader.as_raw_fd()),
            FLAG_FD_CLOEXEC,
        )
    };
    let file = Errno::result(result)?;
    let file = libc::c_int::try_from(file).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just given us this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}
