//! The only `unsafe` of this crate: system calls that no crate wraps as we need them.

pub mod interrupt;
pub mod ring;
pub mod xsk;

use std::os::fd::AsRawFd;
use std::ptr;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollTimeout};
use nix::sys::time::TimeSpec;
pub use sixbench_packet::{
    option_bytes as socket_option, set_option as set_socket_option, set_option_bytes as set_socket_option_bytes,
};

/// Waits for events no longer than `timeout`, to the nanosecond where the kernel can (`epoll_pwait2`, since Linux
/// 5.11), else cut to milliseconds. Returns the number of events: none where a signal came.
pub fn epoll_wait(epoll: &Epoll, events: &mut [EpollEvent], timeout: Duration) -> nix::Result<usize> {
    let time = TimeSpec::from_duration(timeout);
    let most = libc::c_int::try_from(events.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: `EpollEvent` is a transparent `epoll_event`, of which the kernel writes at most `most`; the time is read
    // only, and there is no signal mask.
    let result = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.0.as_raw_fd(),
            events.as_mut_ptr().cast::<libc::epoll_event>(),
            most,
            ptr::from_ref(time.as_ref()),
            ptr::null::<libc::sigset_t>(),
            0_usize,
        )
    };
    match Errno::result(result) {
        Err(Errno::EINTR) => Ok(0),
        Err(Errno::ENOSYS) => epoll.wait(events, EpollTimeout::try_from(timeout).unwrap_or(EpollTimeout::ZERO)),
        other => other.map(|ready| ready as usize),
    }
}
