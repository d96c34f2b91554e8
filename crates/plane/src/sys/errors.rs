//! The kernel's queue of errors that packets met on their way.

use std::io;
use std::mem;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use sixbench_packet::set_option;

use super::{check, none_when_empty};

/// The origin of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ErrorOrigin {
    Icmp,
    Icmpv6,
    Other,
}

/// An error of a packet that was sent.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedError {
    /// Number of bytes of the packet's payload that are quoted.
    pub length: usize,
    /// The destination that the packet was sent to.
    pub destination: Option<IpAddr>,
    /// The origin of the error.
    pub origin: ErrorOrigin,
    /// The ICMP type.
    pub kind: u8,
    /// The ICMP code.
    pub code: u8,
}

/// Lets the socket keep the errors that its packets met.
pub fn set_receive_errors(socket: &impl AsFd, is_ipv6: bool) -> io::Result<()> {
    match is_ipv6 {
        true => set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
        false => set_option(socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1),
    }
}

/// The next error, with the packet's payload in `buffer`; `None` when there is none.
pub fn receive_error(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<Option<ReceivedError>> {
    // SAFETY: all zeros is a valid value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    let mut control = Control([0; 128]);
    // SAFETY: all zeros is a valid value.
    let mut name: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = mem::size_of_val(&name) as _;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: every pointer in `message` is to a local or to `buffer`, with its length, and all live through the call.
    let result = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE) };
    let Some(length) = none_when_empty(check(result))? else { return Ok(None) };
    let mut received =
        ReceivedError { length, destination: address_of(&name), origin: ErrorOrigin::Other, kind: 0, code: 0 };
    // SAFETY: the kernel has filled in `message`, and `control`, which it points to, is still there. A message of these
    // types begins with that structure.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let kind = ((*header).cmsg_level, (*header).cmsg_type);
            if kind == (libc::IPPROTO_IP, libc::IP_RECVERR) || kind == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) {
                let error = libc::CMSG_DATA(header).cast::<libc::sock_extended_err>().read_unaligned();
                received.origin = match error.ee_origin {
                    libc::SO_EE_ORIGIN_ICMP => ErrorOrigin::Icmp,
                    libc::SO_EE_ORIGIN_ICMP6 => ErrorOrigin::Icmpv6,
                    _ => ErrorOrigin::Other,
                };
                (received.kind, received.code) = (error.ee_type, error.ee_code);
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok(Some(received))
}

/// The address in what a system call wrote, if it is one of IP.
fn address_of(name: &libc::sockaddr_storage) -> Option<IpAddr> {
    let name = &raw const *name;
    // SAFETY: the storage has room and alignment for the structure of each family, and zeros where nothing was written.
    unsafe {
        match libc::c_int::from((*name).ss_family) {
            libc::AF_INET => Some(IpAddr::from((*name.cast::<libc::sockaddr_in>()).sin_addr.s_addr.to_ne_bytes())),
            libc::AF_INET6 => Some(IpAddr::from((*name.cast::<libc::sockaddr_in6>()).sin6_addr.s6_addr)),
            _ => None,
        }
    }
}

/// Room for a few control messages, aligned as the kernel writes them.
#[repr(C, align(8))]
struct Control([u8; 128]);
