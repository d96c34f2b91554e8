//! The only `unsafe` of this crate: system calls that no crate wraps as we need them.

pub mod bpf;
pub mod frame_batch;
pub mod interrupt;
pub mod memory;
pub mod mmsg;
pub mod ring;
pub mod xsk;

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollTimeout};
use nix::sys::time::TimeSpec;

/// Waits for events no longer than so, to the nanosecond where the kernel can (`epoll_pwait2`, since Linux 5.11), else cut
/// to milliseconds. How many came.
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
        Err(Errno::ENOSYS) => epoll.wait(events, EpollTimeout::try_from(timeout).unwrap_or(EpollTimeout::ZERO)),
        other => other.map(|ready| ready as usize),
    }
}

/// Reads a socket option as the bytes the kernel gives; the length is what it filled.
pub fn socket_option(socket: &impl AsFd, level: i32, name: i32, value: &mut [u8]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(value.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: `value` is writable for `length` bytes, and the kernel writes no more than `length` says.
    let result = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    if result == 0 { Ok((length as usize).min(value.len())) } else { Err(io::Error::last_os_error()) }
}

/// Sets a socket option that is an `int`.
pub fn set_socket_option(socket: &impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    set_socket_option_bytes(socket, level, name, &value.to_ne_bytes())
}

/// Sets a socket option that is some other structure.
pub fn set_socket_option_bytes(socket: &impl AsFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(value.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: `value` is readable for `length` bytes, which is all that the kernel does with it.
    let result = unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value.as_ptr().cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
