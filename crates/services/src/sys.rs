//! The only `unsafe` of this crate: socket options whose values are structures.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option whose value has that layout in memory.
pub fn set_option(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of `value`, which lives through the call; the kernel copies it and refuses one that is too short.
    let result = unsafe {
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
