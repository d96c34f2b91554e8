//! The only `unsafe` of this crate.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Opens a socket for whole frames, which has no interface and sees nothing yet. It never blocks.
pub fn open() -> io::Result<OwnedFd> {
    let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes numbers; what it returns is a descriptor that nobody else owns.
    unsafe {
        match libc::socket(libc::AF_PACKET, flags, 0) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Switches an option of packet sockets on.
pub fn enable(socket: &impl AsFd, option: libc::c_int) -> io::Result<()> {
    let value: libc::c_int = 1;
    let length = mem::size_of_val(&value) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the pointer and the length are those of `value`, which lives through the call.
    check(unsafe { libc::setsockopt(fd, libc::SOL_PACKET, option, (&raw const value).cast(), length) })
}

/// Binds a socket to an interface: it sends by it, and sees packets of that protocol that pass it.
pub fn bind(socket: &impl AsFd, ifindex: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeros is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = ifindex as i32;
    let length = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `address`, which lives through the call.
    check(unsafe { libc::bind(socket.as_fd().as_raw_fd(), (&raw const address).cast(), length) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
