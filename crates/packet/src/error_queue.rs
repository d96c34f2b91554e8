//! The queue of errors of a socket: ICMP errors about what it sent, and times at which it was sent (ip(7),
//! Documentation/networking/timestamping.rst).

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

use nix::sys::socket::MsgFlags;

use crate::control::ControlMessage;
use crate::{MessageReader, set_option};

/// `struct sock_extended_err`, and the sender of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendedError {
    /// The error's number.
    pub errno: u32,
    /// An `SO_EE_ORIGIN_` constant.
    pub origin: u8,
    /// The ICMP type.
    pub kind: u8,
    /// The ICMP code.
    pub code: u8,
    /// More about it, by its origin: an MTU, the stage of a time.
    pub info: u32,
    /// The number of the datagram, by its origin.
    pub data: u32,
    /// The sender of an ICMP error.
    pub offender: Option<IpAddr>,
}

/// Times at which a packet was sent (`SCM_TIMESTAMPING`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentTimes {
    /// The kernel's, on the realtime clock.
    pub realtime_ns: Option<u64>,
    /// The interface's, by its own clock.
    pub hardware_ns: Option<u64>,
}

/// An entry of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Number of bytes that are quoted of the packet, of its payload where the socket has one.
    pub bytes: usize,
    /// The destination that the packet was sent to.
    pub destination: Option<IpAddr>,
    /// The error.
    pub error: Option<ExtendedError>,
    /// The times.
    pub times: Option<SentTimes>,
    /// Time at which an ICMP error was received, on the realtime clock, where the socket notes that
    /// (`SO_TIMESTAMPNS`).
    pub received_realtime_ns: Option<u64>,
}

/// Has the kernel queue the errors about what a socket sends. From here on, every error also makes the next call on the
/// socket fail once, unless the queue is read before.
pub fn enable(socket: &impl AsFd, is_ipv6: bool) -> io::Result<()> {
    let (level, name) = option(is_ipv6);
    set_option(socket, level, name, 1)
}

/// Has the kernel treat errors as it does on other sockets again, and empties the queue.
pub fn disable(socket: &impl AsFd, is_ipv6: bool) -> io::Result<()> {
    let (level, name) = option(is_ipv6);
    set_option(socket, level, name, 0)
}

fn option(is_ipv6: bool) -> (libc::c_int, libc::c_int) {
    if is_ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) } else { (libc::IPPROTO_IP, libc::IP_RECVERR) }
}

/// Takes the next entry, and what it quotes of the packet into `buffer`. It never waits: `EAGAIN` where the queue is
/// empty.
pub fn next(socket: impl AsFd, buffer: &mut [u8]) -> nix::Result<Entry> {
    let mut reader = MessageReader::default();
    let read = reader.read(socket, buffer, MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT)?;
    let destination = reader.name().address().map(|address| address.ip());
    let mut entry = Entry { bytes: read.bytes, destination, error: None, times: None, received_realtime_ns: None };
    for message in reader.control() {
        match (message.level, message.kind) {
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                entry.error = extended_error(&message).or(entry.error);
            }
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => entry.received_realtime_ns = message.time_ns(0),
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => {
                // No time is a time of 0. The second one is not used any more.
                let [realtime_ns, hardware_ns] = [0, 2].map(|index| message.time_ns(index).filter(|&ns| ns > 0));
                entry.times = Some(SentTimes { realtime_ns, hardware_ns });
            }
            _ => {}
        }
    }
    Ok(entry)
}

fn extended_error(message: &ControlMessage<'_>) -> Option<ExtendedError> {
    let [origin, kind, code, _] = message.u32(1)?.to_ne_bytes();
    Some(ExtendedError {
        errno: message.u32(0)?,
        origin,
        kind,
        code,
        info: message.u32(2)?,
        data: message.u32(3)?,
        offender: message.name(2).address().map(|address| address.ip()),
    })
}
