//! The only `unsafe` of this crate: system calls that no crate wraps as we need them.

pub mod interrupt;
pub mod mmsg;

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};

/// User and system time of this process.
pub fn own_cpu_ns() -> (u64, u64) {
    match getrusage(UsageWho::RUSAGE_SELF) {
        Ok(usage) => {
            (usage.user_time().num_nanoseconds().max(0) as u64, usage.system_time().num_nanoseconds().max(0) as u64)
        }
        Err(_) => (0, 0),
    }
}

/// Length of a tick of `/proc/stat`.
pub fn tick_ns() -> u64 {
    match sysconf(SysconfVar::CLK_TCK) {
        Ok(Some(hz)) if hz > 0 => 1_000_000_000 / hz as u64,
        _ => 10_000_000,
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
